"""The first messages have the bytes of the published comparison."""

import json

import pytest

from lab.case import case
from lab.places import CASES
from lab.row import row

PINGPONG_AVRO = (
    "02043c52616e646f6d206d657373616765202d2031363030303030"
    "30303030303001060c4a6f686e2d300c4a6f686e2d310c4a6f686e2d32000a022c9a05b8"
    "4586e406000adcd8ec48f51df23f8ecef9298ee30040c1ff56b263830a40a52a12b81a7e104050de09eeee7e144000"
)
PINGPONG_PROTOBUF = (
    "080110021a1e52616e646f6d206d657373616765202d2031363030303030"
    "30303030303020012a064a6f686e2d302a064a6f686e2d312a064a6f686e2d32"
    "32090116cd02dc2283b2033a28dcd8ec48f51df23f8ecef9298ee30040c1ff56b263830a40a52a12b81a7e104050de09eeee7e1440"
)


def first_bytes(row_id: str, name: str) -> bytes:
    here = case(name)
    codec = row(row_id).bind(here)
    return bytes(codec.encode(codec.native(here.messages("base")[0])))


@pytest.mark.parametrize(
    "row_id, expected",
    [
        ("avro/fastavro", PINGPONG_AVRO),
        ("protobuf/protobuf", PINGPONG_PROTOBUF),
        ("protobuf/protobuf+message kept", PINGPONG_PROTOBUF),
    ],
)
def test_first_pingpong(row_id, expected):
    assert first_bytes(row_id, "pingpong").hex() == expected


SIZES = [
    (path.stem, format, length)
    for path in sorted(CASES.glob("*.json"))
    for format, length in json.loads(path.read_text(encoding="utf-8")).get("first_bytes", {}).items()
]


@pytest.mark.parametrize("name, format, length", SIZES)
def test_first_messages_are_as_long_as_published(name, format, length):
    row_id = {"json": "json/orjson", "avro": "avro/fastavro", "protobuf": "protobuf/protobuf"}[format]
    assert len(first_bytes(row_id, name)) == length
