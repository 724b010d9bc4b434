"""JSON: the standard library's json, orjson, and msgspec with dicts and with types."""

import json

import msgspec
import orjson

from lab import dicts, structs
from lab.row import Row


def _stdlib(message):
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


ROWS = [
    Row("json", "json", lambda case: dicts.codec(case, _stdlib, json.loads),
        note="standard library, compact separators"),
    Row("json", "orjson", lambda case: dicts.codec(case, orjson.dumps, orjson.loads), distribution="orjson"),
    Row(
        "json", "msgspec",
        lambda case: dicts.codec(case, msgspec.json.Encoder().encode, msgspec.json.Decoder().decode),
        distribution="msgspec",
    ),
    Row(
        "json", "msgspec",
        lambda case: structs.codec(case, msgspec.json.Encoder().encode, msgspec.json.Decoder),
        variant="typed", distribution="msgspec",
        note="Structs, checked while decoding; one field is read by a Struct of that field alone",
    ),
]
