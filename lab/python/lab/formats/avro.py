"""Avro: fastavro, one datum without a header, as records in a log are written whose schema is known."""

import json
from io import BytesIO

import fastavro

from lab import dicts
from lab.case import Case
from lab.places import SCHEMAS
from lab.row import Codec, Row
from lab.source import DictStyle, compiled


class _NoneStyle(DictStyle):
    """fastavro gives an absent field as None."""

    def present(self, owner, field):
        return f"{owner}[{field.name!r}] is not None"


def _codec(case: Case, projected: bool) -> Codec:
    text = json.loads((SCHEMAS / f"{case.name}.avsc").read_text())
    schema = fastavro.parse_schema(text)

    def encode(message):
        stream = BytesIO()
        fastavro.schemaless_writer(stream, schema, message)
        return stream.getvalue()

    def decode(data):
        return fastavro.schemaless_reader(BytesIO(data), schema, None)

    codec = dicts.codec(case, encode, decode, _NoneStyle())
    codec.plain = lambda message: _without_none(message)
    if projected:
        # A reader's schema of only the one field: the reader skips the others.
        one = fastavro.parse_schema(_narrowed(text, case.one_field))
        path = "".join(f"[{name!r}]" for name in case.one_field)
        source = f"def field(data):\n    return read(BytesIO(data), schema, one){path}\n"
        codec.field = compiled(source, "field", read=fastavro.schemaless_reader, BytesIO=BytesIO, schema=schema,
            one=one)
        codec.sources.append(source)
    return codec


def _narrowed(schema: dict, path: tuple[str, ...]) -> dict:
    """The record's schema with the path's field alone."""
    field = next(field for field in schema["fields"] if field["name"] == path[0])
    if len(path) > 1:
        field = field | {"type": _narrowed(field["type"], path[1:])}
    return schema | {"fields": [field]}


def _without_none(message):
    if isinstance(message, dict):
        return {name: _without_none(value) for name, value in message.items() if value is not None}
    return [_without_none(item) for item in message] if isinstance(message, list) else message


ROWS = [
    Row(
        "avro", "fastavro", lambda case: _codec(case, projected=True), distribution="fastavro",
        note="compiled by Cython; one field is read with a reader's schema of that field alone",
    ),
]
