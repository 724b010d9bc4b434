"""Pickle of a dataclass: the bytes name the class and its attributes, which nothing compares with the present class."""

import dataclasses
import enum
import pickle
import sys
import types
import typing

import evolution

# A module that the pickles name; its class Message is the one of the schema in use.
MODULE = types.ModuleType("pickled_messages")
sys.modules[MODULE.__name__] = MODULE

SCHEMAS = {
    "field added, with a default": ({}, {"grade": (int, evolution.GRADE_DEFAULT)}),
    "field added, without a default": ({}, {"grade": (int,)}),
    "field removed": ({"count": (int,)}, {}),
    "field renamed": ({"count": (int,)}, {"quantity": (int,)}),
    "i32 widened to i64": ({"count": (int,)}, {"count": (int,)}),
    "i32 widened to i64, value beyond i32": ({"count": (int,)}, {"count": (int,)}),
    "i64 changed to f64": ({"count": (int,)}, {"count": (float,)}),
    "fields reordered": ({"width": (int,), "height": (int,)}, {"height": (int,), "width": (int,)}),
    "optional made required": ({"note": (typing.Optional[str], None)}, {"note": (str,)}),
    "enum symbol added": ({"kind": (object,)}, {"kind": (object,)}),
}


def use(change, side):
    """Makes the schema's classes the ones that the module has."""
    fields = [("id", int), ("name", str)]
    for name, (type_, *default) in SCHEMAS[change][side == "new"].items():
        fields.append((name, type_, dataclasses.field(default=default[0])) if default else (name, type_))
    fields.sort(key=len)
    MODULE.Message = dataclasses.make_dataclass("Message", fields, namespace={"__module__": MODULE.__name__})
    MODULE.Kind = enum.Enum("Kind", ["LAMP", "DESK"] + ["CHAIR"] * (side == "new"), module=MODULE.__name__)


class Pickle:
    name = "pickle"
    library = "pickle"
    notes = {
        "field added, with a default, old bytes, new schema": "the class's attribute is used",
        "field added, without a default, old bytes, new schema": "raised when the attribute is read, not the bytes",
        "field removed, old bytes, new schema": "the attribute is still there",
        "field removed, new bytes, old schema": "raised when the attribute is read, not the bytes",
        "field renamed": "raised when the attribute is read, not the bytes",
        "i32 widened to i64": "Python's integers have no width",
        "i32 widened to i64, value beyond i32": "Python's integers have no width",
        "i64 changed to f64": "types are not checked: the old type is read",
        "optional made required, old bytes, new schema": "None is read, unchecked",
    }

    def write(self, change, side, fields):
        use(change, side)
        if "kind" in fields:
            fields = {**fields, "kind": MODULE.Kind[fields["kind"]]}
        return pickle.dumps(MODULE.Message(**fields), protocol=5)

    def read(self, change, writer, reader, data):
        use(change, reader)
        message = pickle.loads(data)
        fields = {field.name: getattr(message, field.name) for field in dataclasses.fields(MODULE.Message)}
        if "kind" in fields:
            fields["kind"] = fields["kind"].name
        return fields


def test_pickle():
    evolution.run(Pickle())
