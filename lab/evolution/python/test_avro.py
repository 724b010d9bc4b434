"""Avro with fastavro: the reader has the writer's schema as well as its own, and resolves one to the other."""

import io

import evolution
import fastavro
import pytest

ID, NAME = {"name": "id", "type": "long"}, {"name": "name", "type": "string"}


def field(name, type, **more):
    return {"name": name, "type": type, **more}


def kind(*symbols):
    return field("kind", {"type": "enum", "name": "Kind", "symbols": list(symbols)})


def note(**more):
    return field("note", ["null", "string"], default=None)


SCHEMAS = {
    "field added, with a default": ([], [field("grade", "int", default=evolution.GRADE_DEFAULT)]),
    "field added, without a default": ([], [field("grade", "int")]),
    "field removed": ([field("count", "int")], []),
    "field renamed": ([field("count", "int")], [field("quantity", "int")]),
    "i32 widened to i64": ([field("count", "int")], [field("count", "long")]),
    "i32 widened to i64, value beyond i32": ([field("count", "int")], [field("count", "long")]),
    "i64 changed to f64": ([field("count", "long")], [field("count", "double")]),
    "fields reordered": ([field("width", "int"), field("height", "int")],
        [field("height", "int"), field("width", "int")]),
    "optional made required": ([note()], [field("note", "string")]),
    "enum symbol added": ([kind("LAMP", "DESK")], [kind("LAMP", "DESK", "CHAIR")]),
}


def schema(change, side, **more):
    fields = SCHEMAS[change][side == "new"]
    return fastavro.parse_schema({"type": "record", "name": "Message", "fields": [ID, *fields, NAME], **more})


class Avro:
    name = "avro"
    library = "fastavro, rawline-avro"
    notes = {
        "field added, without a default, old bytes, new schema": "a field that only the reader has needs a default",
        "field removed, new bytes, old schema": "unless the old schema has a default for it",
        "field renamed": "unless the reader's schema has the other name as an alias",
        "enum symbol added, new bytes, old schema": "unless the old schema's enum has a default",
    }

    def write(self, change, side, fields):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema(change, side), fields)
        return out.getvalue()

    def read(self, change, writer, reader, data):
        return fastavro.schemaless_reader(io.BytesIO(data), schema(change, writer), schema(change, reader))


def test_avro():
    evolution.run(Avro())


def test_an_alias_carries_a_renamed_field_over():
    data = Avro().write("field renamed", "old", evolution.message(count=1234))
    fields = [ID, field("quantity", "int", aliases=["count"]), NAME]
    reader = fastavro.parse_schema({"type": "record", "name": "Message", "fields": fields})
    read = fastavro.schemaless_reader(io.BytesIO(data), schema("field renamed", "old"), reader)
    assert read == evolution.message(quantity=1234)


def test_an_enums_default_stands_for_symbols_that_the_reader_does_not_know():
    data = Avro().write("enum symbol added", "new", evolution.message(kind="CHAIR"))
    known = kind("LAMP", "DESK")
    known["type"]["default"] = "LAMP"
    reader = fastavro.parse_schema({"type": "record", "name": "Message", "fields": [ID, known, NAME]})
    read = fastavro.schemaless_reader(io.BytesIO(data), schema("enum symbol added", "new"), reader)
    assert read == evolution.message(kind="LAMP")


def test_without_the_writers_schema_the_bytes_say_nothing():
    change = "fields reordered"
    data = Avro().write(change, "old", evolution.message(width=30, height=40))
    read = fastavro.schemaless_reader(io.BytesIO(data), schema(change, "new"), None)
    assert (read["width"], read["height"]) == (40, 30)
    with pytest.raises(Exception):
        fastavro.schemaless_reader(io.BytesIO(data), schema("field removed", "new"), None)
