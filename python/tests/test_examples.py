"""The examples do what they say, each in a separate process against a real broker."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import Broker

import rawline

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_notebook(broker: Broker, tmp_path: Path) -> None:
    assert "5760 readings of 5760 records" in broker.run_example(EXAMPLES / "notebook.py", tmp_path)
    picture = (tmp_path / "temperatures.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 10_000
    # A notebook's cells are run again.
    assert "11520 readings" in broker.run_example(EXAMPLES / "notebook.py", tmp_path)


def test_follow(broker: Broker, tmp_path: Path) -> None:
    printed = broker.run_example(EXAMPLES / "follow.py", tmp_path)
    assert printed.count("stored at offset") == 5 and "came: tick 4" in printed


def test_values(broker: Broker, tmp_path: Path) -> None:
    printed = broker.run_example(EXAMPLES / "values.py", tmp_path)
    assert "example.org asked by 10.0.0.1 at 2023-11-14T22:13:20.000000001Z on port 53/udp" in printed
    shown = rawline.value.to_json(rawline.Client(broker.url).read("dns", 0)[1])
    assert '"host":"2001:db8::1"' in shown


def test_measurements(broker: Broker, tmp_path: Path) -> None:
    assert "2.59" in broker.run_example(EXAMPLES / "measurements.py", tmp_path)


def test_groups(broker: Broker, tmp_path: Path) -> None:
    example = (EXAMPLES / "groups.py").read_text()
    assert f"```python\n{example}```" in (EXAMPLES.parents[1] / "docs/clients.md").read_text()
    client = rawline.Client(broker.url)
    client.create_topic("visits", partitions=4)
    for number in range(100):
        client.append("visits", [b"visit"], partition=number % 4)
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(broker.run_example, EXAMPLES / "groups.py", tmp_path, "visits", "g") for _ in "ab"]
        printed = "".join(member.result() for member in running)
    assert sum(int(count) for count in re.findall(r"(\d+) records of", printed)) == 100
    assert printed.count("nothing new") == 2
    assert client.group("g").lag == 0


def test_subscribe(broker: Broker, tmp_path: Path) -> None:
    example = (EXAMPLES / "subscribe.py").read_text()
    assert f"```python\n{example}```" in (EXAMPLES.parents[1] / "docs/clients.md").read_text()
    printed = broker.run_example(EXAMPLES / "subscribe.py", tmp_path).splitlines()
    cellar = ["sensors.cellar/0  12.0 degrees", "sensors.cellar/1  12.1 degrees"]
    assert sorted(printed) == ["sensors.attic/0  21.5 degrees", *cellar]


@pytest.mark.parametrize("work", ["write", "read"])
def test_bench(broker: Broker, tmp_path: Path, work: str) -> None:
    small = ["-w", "3", "--batches", "20", "-b", "16", "--record-size", "100", "--requests", "30"]
    printed = broker.run_example(EXAMPLES.parent / "bench.py", tmp_path, work, *small, "--records-per-request", "40")
    assert '"mb_per_s"' in printed
