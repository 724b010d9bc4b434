"""The tutorials with Python, `docs/start/`: their code runs as a reader would paste it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brokers import REPOSITORY, Broker

import rawline

PAGES = REPOSITORY / "docs/start"


def run(page: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Runs the blocks of a page in order, and compares what they print with what it shows."""
    text = (PAGES / page).read_text()
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", text, re.DOTALL)
    assert len(blocks) >= 3
    for code, printed in blocks:
        exec(compile(code, page, "exec"), names)
        out = capsys.readouterr().out
        assert not printed or out == printed, out
    return names


def test_for_data_scientists(
    start_broker: Callable[..., Broker],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAWLINE_BROKER", start_broker().url)
    monkeypatch.chdir(tmp_path)
    names = run("data-scientist.md", capsys)
    assert names["daily"].shape == (42, 3)
    assert "°C" in Path("weather.svg").read_text() or Path("weather.svg").stat().st_size > 10_000


def test_from_kafka(
    start_broker: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = (start_broker("--kafka", "127.0.0.1:0") for _ in range(2))
    monkeypatch.setenv("KAFKA", new.kafka)
    monkeypatch.setenv("OLD_KAFKA", old.kafka)
    client = rawline.Client(old.url)
    client.create_topic("events", partitions=2)
    with client.producer("events") as producer:
        for n in range(2500):
            at = 1_767_225_600_000 + n
            producer.send(f"event {n}", key=f"{n % 3}", headers={"n": str(n)}, timestamp=at, partition=n % 2)
    names = run("from-kafka.md", capsys)
    assert len(names["seen"]) == 1000
    tables = [
        rawline.Client(broker.url).consumer("events", end=rawline.Client(broker.url).topic("events")).take(10_000)
        for broker in (old, new)
    ]
    columns = ["partition", "offset", "timestamp", "key", "record", "headers"]
    before, after = (table.to_polars().select(columns).sort("partition", "offset") for table in tables)
    assert len(before) == 2500 and before.equals(after)
