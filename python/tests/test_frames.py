"""Records in data frames: with keys, headers and times, in pyarrow, polars, pandas and notebooks."""

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import Broker

import rawline

UTC = timezone.utc
AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
HEADERS = [("source", b"web"), ("empty", b""), ("none", None), ("source", b"again")]


@pytest.fixture
def mixed(client: rawline.Client, topic: str) -> rawline.Batches:
    """Records with and without keys, headers and times, in three partitions."""
    client.set_partitions(topic, 3)
    client.append(topic, [b"plain", b"\xff"])
    client.append(topic, ["keyed", ""], partition=1, key="k", headers=HEADERS, timestamp=AT, codec="zstd")
    with client.producer(topic) as producer:
        producer.send(None, partition=2, key=b"\x00key", timestamp=0)
        producer.send("no key", partition=2, headers={"a": "1"}, timestamp=AT)
    batches = list(client.consumer(topic, end=client.topic(topic)))
    return rawline.Batches(sorted(batches, key=lambda batch: batch.partition))


def test_all_that_records_have_is_a_column(mixed: rawline.Batches) -> None:
    table = mixed.to_arrow()
    table.validate(full=True)
    header = pyarrow.struct([pyarrow.field("key", pyarrow.string(), False), pyarrow.field("value", pyarrow.binary())])
    assert table.schema.types == [
        pyarrow.uint32(),
        pyarrow.uint64(),
        pyarrow.timestamp("us", "UTC"),
        pyarrow.binary(),
        pyarrow.binary(),
        pyarrow.list_(pyarrow.field("item", header, False)),
    ]
    rows = table.drop_columns(["timestamp", "headers"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, 0, None, b"plain"),
        (0, 1, None, b"\xff"),
        (1, 0, b"k", b"keyed"),
        (1, 1, b"k", b""),
        (2, 0, b"\x00key", None),
        (2, 1, None, b"no key"),
    ]
    times = table["timestamp"].to_pylist()
    assert times[2:] == [AT, AT, datetime(1970, 1, 1, tzinfo=UTC), AT]
    created_us = mixed.batches[0].created_us
    assert [time.timestamp() * 1e6 for time in times[:2]] == [pytest.approx(created_us)] * 2
    headers = [[tuple(header.values()) for header in row] for row in table["headers"].to_pylist()]
    assert headers == [[], [], HEADERS, HEADERS, [], [("a", b"1")]]
    # Messages have the same.
    assert [message.headers for message in mixed.messages()] == headers
    assert [message.key for message in mixed.messages()] == table["key"].to_pylist()
    # A part has its own rows, also one that begins within a batch.
    part = mixed[3:5].to_arrow().to_pylist()
    assert part == table.to_pylist()[3:5]


def test_records_of_kafkas_batches_are_not_copied(mixed: rawline.Batches) -> None:
    keyed = next(batch for batch in mixed.batches if batch.partition == 1)
    (chunk,) = keyed.to_arrow()["record"].chunks
    assert chunk.buffers()[2].address == numpy.frombuffer(keyed.data, "u1").ctypes.data


def test_a_missing_time_is_null(mixed: rawline.Batches) -> None:
    wire = bytearray(next(batch for batch in mixed.batches if batch.partition == 1).wire)
    # Kafka's clients write -1 for no time: base and maximum, before the checksum of the rest is computed anew.
    wire[27:43] = b"\xff" * 16
    wire[17:21] = crc32c(wire[21:]).to_bytes(4, "big")
    (batch,) = rawline.batch.parse_batches(bytes(wire))
    assert batch.to_arrow()["timestamp"].to_pylist() == [None, None]
    assert "<td></td>" in batch._repr_html_()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1))
    return crc ^ 0xFFFFFFFF


def test_only_the_requested_columns_are_made(mixed: rawline.Batches) -> None:
    wanted = pyarrow.schema([("record", pyarrow.large_binary()), ("key", pyarrow.binary_view())])
    table = pyarrow.table(mixed, schema=wanted)
    assert table.schema == wanted and table["key"].to_pylist() == [None, None, b"k", b"k", b"\x00key", None]
    assert table["record"].to_pylist()[4:] == [None, b"no key"]


def test_frames_of_polars_and_pandas(mixed: rawline.Batches) -> None:
    frame = mixed.to_polars()
    assert isinstance(frame, polars.DataFrame) and frame.equals(polars.DataFrame(mixed))
    assert frame.schema["timestamp"] == polars.Datetime("us", "UTC")
    named = polars.element().struct.field("key") == "source"
    sources = frame.select(polars.col("headers").list.eval(polars.element().filter(named)).list.len())
    assert sources["headers"].to_list() == [0, 0, 2, 2, 0, 0]
    panda = mixed.to_pandas()
    assert isinstance(panda, pandas.DataFrame) and list(panda.columns) == frame.columns and len(panda) == len(mixed)
    assert panda["timestamp"].dt.tz is not None and panda["timestamp"][2] == pandas.Timestamp(AT)
    assert panda["key"].isna().tolist() == [True, True, False, False, False, True]
    assert panda["record"][0] == b"plain" and panda["headers"][5][0] == {"key": "a", "value": b"1"}
    found = duckdb.sql("SELECT partition, count(*), count(key), max(len(headers)) FROM mixed GROUP BY 1 ORDER BY 1")
    assert found.fetchall() == [(0, 2, 0, 0), (1, 2, 2, 4), (2, 2, 1, 1)]
    (keyed,) = [batch for batch in mixed.batches if batch.partition == 1]
    assert keyed.to_polars().equals(frame[2:4]) and keyed.to_pandas().equals(panda[2:4].reset_index(drop=True))
    for empty in (rawline.Batches(), keyed[1:1]):
        assert empty.to_polars().columns == frame.columns and len(empty.to_pandas()) == 0
        assert [column.type for column in empty.to_arrow()] == mixed.to_arrow().schema.types


def test_pandas_is_told_what_to_call(mixed: rawline.Batches) -> None:
    calls: list[Callable[[Any], Any]] = [pandas.DataFrame, numpy.asarray]
    for call in calls:
        for records in (mixed, mixed.batches[0]):
            with pytest.raises(TypeError, match=r"use to_pandas\(\), to_polars\(\) or to_arrow\(\)"):
                call(records)


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_a_missing_library_is_named(library: str) -> None:
    method = {"pyarrow": "to_arrow"}.get(library, f"to_{library}")
    script = f"import sys, rawline; sys.modules[{library!r}] = None; rawline.Batches().{method}()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert f"{method} needs {library}: pip install {library}" in done.stderr


def test_notebooks_show_bounded_tables(client: rawline.Client, topic: str, mixed: rawline.Batches) -> None:
    shown = mixed._repr_html_()
    assert "6 records in" in shown and shown.count("<tr>") == 7
    assert "<td>0xff</td>" in shown and "<td>2026-01-02 03:04:05.678</td>" in shown
    assert "source: web, empty: , none: , source: again" in shown
    records = ["<b>&amp;</b>", "ü" * 1000, "x" * 1_000_000, *(f"record {number}" for number in range(10_000))]
    client.append(topic, records, key="<i>")
    (batch,) = client.read(topic, 2).batches
    shown = batch._repr_html_()
    assert "&lt;b&gt;&amp;amp;" in shown and "<td>&lt;i&gt;</td>" in shown and "<b>" not in shown
    assert "10003 records, offsets 2 to 10005" in shown and "… 9993 more …" in shown and "record 9999" in shown
    assert "<td>" + "ü" * 120 + "…</td>" in shown and len(shown) < 10_000
    # Characters that are divided where the text is cut.
    for size in range(478, 484):
        text = rawline.parse_batch(rawline.build_batch(["a" * (size % 4) + "€" * size]))._repr_html_()
        assert "€" * 100 in text and "0x" not in text
    assert rawline.parse_batch(rawline.build_batch([b"\x00\x01"]))._repr_html_().count("0x0001") == 1


def test_the_page_for_data_frames_runs(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs/data-frames.md").read_text()
    monkeypatch.setenv("RAWLINE_BROKER", broker.url)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, printed in re.findall(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", page, re.DOTALL):
        exec(compile(code, "data-frames.md", "exec"), names)
        out = capsys.readouterr().out
        assert not printed or out == printed, out
    assert len(names["frame"]) == 4
