"""Avro and measurements: the golden bytes of vectors/avro, columns with ids, schemas that changed."""

import json
import math
import struct
from decimal import Decimal
from typing import Any

import numpy
import polars
import pyarrow
import pytest
from conftest import VECTORS

import rawline
from rawline import avro, measurement

AT = {"type": "long", "logicalType": "timestamp-millis"}
SCHEMA = avro.Schema((VECTORS / "avro/measurement.avsc").read_text())
GOLDEN = {
    framing: bytes.fromhex((VECTORS / f"avro/{name}.hex").read_text())
    for framing, name in [
        ("bare", "measurement"),
        ("single-object", "measurement-single-object"),
        ("registry:7", "measurement-registry-7"),
    ]
}


@pytest.mark.parametrize("framing", GOLDEN)
def test_golden_bytes_are_read_and_written(framing: str) -> None:
    read = avro.Decoder(SCHEMA, framing=framing).decode_one(GOLDEN[framing])
    assert list(read["tags"]) == ["tag1", "tag4", "tag5", "tag2", "tag3"] and read["metric"] == "metric.name"
    written = avro.Encoder(SCHEMA, framing=framing).encode(read)
    assert written == GOLDEN[framing]
    table = measurement.Reader(
        {7: SCHEMA} if framing == "registry:7" else [SCHEMA],
        framing=framing.split(":")[0],  # type: ignore[arg-type]
    )
    columns = pyarrow.table(table.decode([GOLDEN[framing]]))
    assert columns["metric"].to_pylist() == ["metric.name"] and columns["value"].to_pylist() == [float(read["value"])]
    assert pyarrow.table(table.series())["tags"].to_pylist()[0] == sorted(read["tags"].items())


def messages(count: int) -> list[bytes]:
    return [
        measurement.encode("cpu" if number % 2 else "load", {"host": f"h{number % 7}"}, number, number / 2)
        for number in range(count)
    ]


def test_measurements_become_columns_of_series() -> None:
    reader = measurement.Reader()
    frame = polars.DataFrame(reader.decode(messages(1000)))
    assert frame.columns == ["series", "metric", "time", "value"] and frame.height == 1000
    assert frame["value"].to_list() == [number / 2 for number in range(1000)]
    assert frame["time"].dt.epoch("ms").to_list() == list(range(1000))
    assert frame["metric"].cast(polars.String).to_list()[:2] == ["load", "cpu"]
    assert reader.series_count == 14
    again = pyarrow.table(reader.decode(messages(10)))
    assert again["series"].to_pylist() == frame["series"].to_list()[:10]
    series = pyarrow.table(reader.series())
    assert series["series"].to_pylist() == list(range(14)) and series["tags"][3].as_py() == [("host", "h3")]
    assert pyarrow.table(reader.series(since=14)).num_rows == 0


def test_bad_messages_are_named_or_left_out() -> None:
    bad = [*messages(3), b"nonsense", messages(1)[0][:-1]]
    for decoder in (measurement.Reader(), avro.Decoder(measurement.SCHEMA)):
        with pytest.raises(rawline.AvroError, match=r"message 3.*skip"):
            decoder.decode(bad)
        table = decoder.decode(bad, errors="skip")
        assert (len(table), table.faulty, len(table.faults)) == (3, 2, 2)


def test_strings_become_ids() -> None:
    decoder = avro.Decoder(measurement.SCHEMA, strings="dictionary")
    first = pyarrow.table(decoder.decode(messages(100)))
    assert pyarrow.types.is_dictionary(first["metric"].type) and first["metric"].type.index_type == pyarrow.uint32()
    second = pyarrow.table(decoder.decode(messages(2)[1:]))
    keys = [table["metric"].chunk(0).indices[row].as_py() for table, row in ((first, 1), (second, 0))]
    assert keys[0] == keys[1] and second["metric"].to_pylist() == ["cpu"]
    for strings, kind in [("utf8", pyarrow.string()), ("view", pyarrow.string_view())]:
        table = pyarrow.table(avro.Decoder(measurement.SCHEMA, strings=strings).decode(messages(5)))  # type: ignore[arg-type]
        assert table["metric"].type == kind and table["metric"].to_pylist()[0] == "load"
    small = avro.Decoder(measurement.SCHEMA, strings="dictionary", strings_max=2)
    assert small.decode(messages(10), errors="skip").dropped > 0


def test_batches_and_arrow_arrays_of_messages_are_read_in_place() -> None:
    batch = rawline.parse_batch(rawline.build_batch(messages(100)))
    for given in (batch, rawline.Batches([batch[:40], batch[40:]]), pyarrow.array(batch), iter(messages(100))):
        assert len(measurement.Reader().decode(given)) == 100
        assert (
            len(avro.Decoder(measurement.SCHEMA).decode(given if not hasattr(given, "__next__") else messages(100)))
            == 100
        )


def test_rows_of_a_table_become_messages() -> None:
    table = polars.DataFrame(
        {"name": ["a", "b"], "count": [1, None]}, schema={"name": polars.String, "count": polars.Int64}
    )
    schema = {
        "type": "record",
        "name": "Row",
        "fields": [
            {"name": "name", "type": "string"},
            {"name": "count", "type": ["null", "long"], "default": None},
        ],
    }
    written = avro.Encoder(schema).encode_table(table)
    assert polars.DataFrame(avro.Decoder(schema).decode(written)).equals(table)
    assert avro.Encoder(schema).encode({"name": "a", "count": 1}) == written[0]
    with pytest.raises(rawline.AvroError, match="name"):
        avro.Encoder(schema).encode_table(pyarrow.table({"count": [1]}))
    with pytest.raises(rawline.AvroError, match="count"):
        avro.Encoder(schema).encode({"name": "a", "count": "x"})


def test_what_does_not_fit_is_named_beside_bytes() -> None:
    fields = [{"name": "data", "type": "bytes"}, {"name": "name", "type": "string"}]
    encoder = avro.Encoder({"type": "record", "name": "R", "fields": fields})
    assert encoder.encode({"data": b"x", "name": "n"})
    with pytest.raises(rawline.AvroError, match="field name: expected string, found the integer 5"):
        encoder.encode({"data": b"x", "name": 5})


def test_a_writers_schema_is_read_as_the_readers() -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "gone", "type": "string"}]}
    new = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "a", "type": "double"}, {"name": "added", "type": "string", "default": "d"}],
    }
    message = avro.Encoder(old).encode({"a": 3, "gone": "x"})
    decoder = avro.Decoder(old, reader=new)
    assert decoder.decode_one(message) == {"a": 3.0, "added": "d"}
    assert pyarrow.table(decoder.decode([message])).to_pylist() == [{"a": 3.0, "added": "d"}]
    with pytest.raises(rawline.AvroError, match="another"):
        avro.Decoder(new).decode([message])
    with pytest.raises(rawline.AvroError):
        avro.Decoder(old, reader={**new, "fields": [{"name": "new", "type": "int"}]})
    with pytest.raises(rawline.AvroError, match="not an Avro schema"):
        avro.Schema("{")
    with pytest.raises(rawline.ConfigError, match="framing"):
        avro.Decoder(old, framing="xml")


def test_schemas_are_equal_if_messages_are_read_alike() -> None:
    spaced = avro.Schema(json.dumps(json.loads(SCHEMA.json), indent=4))
    assert spaced == SCHEMA and hash(spaced) == hash(SCHEMA) and spaced.fingerprint == SCHEMA.fingerprint
    assert SCHEMA.fingerprint == int.from_bytes(GOLDEN["single-object"][2:10], "little")

    # Parts of a schema that fingerprints omit affect how a message is read.
    def decimal(scale: int) -> avro.Schema:
        return avro.Schema(f'{{"type":"bytes","logicalType":"decimal","precision":9,"scale":{scale}}}')

    assert decimal(2).fingerprint == decimal(6).fingerprint and decimal(2) != decimal(6) and decimal(2) == decimal(2)


@pytest.mark.parametrize("kind", ["float", "double", ["null", "float"]])
def test_every_float_is_encoded(kind: Any) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}, {"name": "at", "type": AT}]}
    for value in (math.nan, math.inf, -math.inf, 0.5, -0.0, 1):
        for at in (0, "1970-01-01T00:00:00Z"):
            read = avro.Decoder(schema).decode_one(avro.Encoder(schema).encode({"x": value, "at": at}))["x"]
            assert struct.pack("<f", float(read)) == struct.pack("<f", value), value
    if kind == "float":
        with pytest.raises(rawline.AvroError, match="float"):
            avro.Encoder(schema).encode({"x": 1e300, "at": 0})


def test_numbers_of_numpy_are_encoded_like_pythons() -> None:
    fields = [
        {"name": "i", "type": "int"},
        {"name": "x", "type": "double"},
        {"name": "f", "type": "float"},
        {"name": "b", "type": "boolean"},
        {"name": "list", "type": {"type": "array", "items": "long"}},
        {"name": "at", "type": AT},
    ]
    schema = {"type": "record", "name": "R", "fields": fields}
    plain = {"i": 5, "x": 0.5, "f": 0.25, "b": True, "list": [1, 2], "at": 7}
    for kind in (numpy.int8, numpy.uint16, numpy.int32, numpy.int64, numpy.uint64):
        given = {
            "i": kind(5),
            "x": numpy.float64(0.5),
            "f": numpy.float32(0.25),
            "b": numpy.bool_(True),
            "list": numpy.array([1, 2]),
            "at": kind(7),
        }
        assert avro.Encoder(schema).encode(given) == avro.Encoder(schema).encode(plain)
        # Also where JSON's rules decide.
        text = {"at": "1970-01-01T00:00:00.007Z"}
        assert avro.Encoder(schema).encode({**given, **text}) == avro.Encoder(schema).encode(plain)
    with pytest.raises(rawline.AvroError, match="field i"):
        avro.Encoder(schema).encode({**plain, "i": numpy.float64(0.5)})


def test_a_decimal_keeps_its_digits() -> None:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}
    encoder, decoder = avro.Encoder(schema), avro.Decoder(schema)
    for given in (Decimal("1234567890123456.78"), "1234567890123456.78", Decimal("123456789012345678e-2")):
        assert decoder.decode_one(encoder.encode(given)) == "1234567890123456.78"


def test_recursive_schemas_have_no_columns_and_are_decoded_one_by_one() -> None:
    tree = {
        "type": "record",
        "name": "Tree",
        "fields": [{"name": "value", "type": "long"}, {"name": "children", "type": {"type": "array", "items": "Tree"}}],
    }
    leaf = {"value": 2, "children": []}
    written = avro.Encoder(tree).encode({"value": 1, "children": [leaf, leaf]})
    decoder = avro.Decoder(tree)
    assert decoder.decode_one(written) == {"value": 1, "children": [leaf, leaf]}
    with pytest.raises(rawline.AvroError, match=r"Tree contains itself.*leave the field out.*decode_one"):
        decoder.decode([written])
    flat = {"type": "record", "name": "Tree", "fields": [{"name": "value", "type": "long"}]}
    assert pyarrow.table(avro.Decoder(tree, reader=flat).decode([written])).to_pylist() == [{"value": 1}]
