"""Batches as Arrow: pyarrow, polars and DuckDB look at the bytes received, not at copies."""

import duckdb
import polars
import pyarrow
import pytest
from conftest import address

import rawline
from rawline import Batches, build_batch, measurement, parse_batch

RECORDS = [b"record number %06d" % index for index in range(1000)]


@pytest.fixture(params=["none", "zstd"])
def batch(request: pytest.FixtureRequest) -> rawline.Batch:
    return parse_batch(build_batch(RECORDS, request.param, created_us=1_700_000_000_123_456))


def test_pyarrow_sees_the_same_memory(batch: rawline.Batch) -> None:
    array = pyarrow.array(batch)
    array.validate(full=True)
    assert array.type == pyarrow.binary() and array.to_pylist() == RECORDS
    assert array.buffers()[2].address == address(batch.data)
    part = pyarrow.array(batch[100:200])
    part.validate(full=True)
    assert part.to_pylist() == RECORDS[100:200]
    # The first element's place in the same memory.
    first = int.from_bytes(part.buffers()[1].to_pybytes()[:4], "little")
    assert part.buffers()[2].address + first == address(batch[100])


def test_arrays_outlive_their_batch() -> None:
    array = pyarrow.array(parse_batch(build_batch(RECORDS)))
    assert array.to_pylist() == RECORDS
    array = pyarrow.array(parse_batch(build_batch(RECORDS))[5:5])
    assert len(array) == 0


def test_polars_sees_the_same_memory(batch: rawline.Batch) -> None:
    series = polars.Series(batch)
    assert series.to_list() == RECORDS
    # As views into a block of data, which is the batch's own.
    array = series.to_arrow(compat_level=polars.CompatLevel.newest())
    array = array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
    blocks = [buffer.address for buffer in array.buffers()[2:] if buffer is not None]
    assert address(batch.data) in blocks


def test_batches_are_a_table(batch: rawline.Batch) -> None:
    batches = Batches([batch[:400], batch[400:]])
    table = pyarrow.table(batches)
    table.validate(full=True)
    assert table.column_names == ["partition", "offset", "timestamp", "key", "record", "headers"]
    assert set(table["partition"].to_pylist()) == {0} and table["key"].null_count == 1000
    assert table["headers"].to_pylist() == [[]] * 1000
    assert table["offset"].to_pylist() == list(range(1000)) and table["record"].to_pylist() == RECORDS
    assert table["timestamp"][0].as_py().isoformat() == "2023-11-14T22:13:20.123456+00:00"
    assert [chunk.buffers()[2].address for chunk in table["record"].chunks] == [address(batch.data)] * 2
    frame = polars.DataFrame(batches)
    assert frame["record"].to_list() == RECORDS and frame["offset"].to_list() == list(range(1000))
    reader = pyarrow.RecordBatchReader.from_stream(batches)
    assert sum(part.num_rows for part in reader) == 1000


def test_duckdb_reads_batches(batch: rawline.Batch) -> None:
    batches = Batches([batch[:400], batch[400:]])  # noqa: F841 - DuckDB finds it by its name
    counted = duckdb.sql('SELECT count(*), sum("offset"), min(record::VARCHAR), max(record) FROM batches').fetchall()
    assert counted == [(1000, sum(range(1000)), RECORDS[0].decode(), RECORDS[-1])]


def test_records_come_as_the_type_asked_for(batch: rawline.Batch) -> None:
    texts = [record.decode() for record in RECORDS]
    for kind, expected in [
        (pyarrow.large_binary(), RECORDS),
        (pyarrow.string(), texts),
        (pyarrow.large_string(), texts),
        (pyarrow.binary_view(), RECORDS),
        (pyarrow.string_view(), texts),
    ]:
        array = pyarrow.array(batch, type=kind)
        array.validate(full=True)
        assert array.type == kind and array.to_pylist() == expected
        assert address(batch.data) in [buffer.address for buffer in array.buffers() if buffer is not None]
    with pytest.raises(rawline.ConfigError, match="not Int64; request a binary or string type"):
        pyarrow.array(batch, type=pyarrow.int64())
    with pytest.raises(rawline.ConfigError, match="not all records are text"):
        pyarrow.array(parse_batch(build_batch([b"\xff"])), type=pyarrow.string())
    wanted = pyarrow.schema(
        [("offset", pyarrow.int64()), ("timestamp", pyarrow.timestamp("ns", "UTC")), ("record", pyarrow.string())]
    )
    table = pyarrow.table(Batches([batch]), schema=wanted)
    assert table.schema == wanted and table["record"].to_pylist() == texts
    with pytest.raises(rawline.ConfigError, match='no column is named "value"; the columns are partition, offset,'):
        pyarrow.table(Batches([batch]), schema=pyarrow.schema([("value", pyarrow.binary())]))


def test_duckdb_joins_measurements_with_their_series() -> None:
    reader = measurement.Reader()
    values = reader.decode(
        measurement.encode("cpu" if number % 2 else "load", {"host": f"h{number % 3}"}, number, number)
        for number in range(600)
    )
    series = reader.series()  # noqa: F841 - DuckDB finds it by its name
    found = duckdb.sql(
        "SELECT series.tags['host'] AS host, count(*), sum(value) FROM values JOIN series USING (series) "
        "WHERE series.metric = 'cpu' GROUP BY host ORDER BY host"
    ).fetchall()
    assert found == [
        (f"h{host}", 100, sum(number for number in range(600) if number % 2 and number % 3 == host))
        for host in range(3)
    ]
    assert len(values) == 600


def test_bytes_that_change_after_their_check_crash_nothing() -> None:
    data = bytearray(build_batch([b"a" * 10, b"b" * 10]))
    batch = parse_batch(data)
    data[64:72] = b"\xff" * 8
    assert sum(len(record) for record in batch) <= 20
    pyarrow.array(batch).validate(full=True)


def test_no_batches_are_an_empty_table() -> None:
    assert pyarrow.table(Batches()).num_rows == 0
    assert Batches().first_offset is None and polars.DataFrame(Batches()).height == 0
