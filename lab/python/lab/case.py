"""The cases: descriptions of messages, read from lab/cases/*.json, and the messages, read from lab/out/cases."""

import json
import struct
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from lab.places import CASES, MESSAGES, Missing

SIZES = ["base", "100", "1k", "10k", "100k", "1m"]


@dataclass(frozen=True)
class Type:
    """bool, i32, i64, f64, string; a list of `item`; a map of strings to strings; or a `record`."""

    kind: str
    item: "Type | None" = None
    record: "Record | None" = None


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    optional: bool = False


@dataclass(frozen=True)
class Record:
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Case:
    name: str
    record: Record
    one_field: tuple[str, ...]
    """The path to the one field that `field` reads."""

    def one(self, message: dict[str, Any]) -> Any:
        """The one field of a message as JSON gives it."""
        for name in self.one_field:
            message = message[name]
        return message

    @property
    def one_type(self) -> Type:
        """The one field's type."""
        type = Type("record", record=self.record)
        for name in self.one_field:
            type = next(field.type for field in type.record.fields if field.name == name)
        return type

    def messages(self, size: str) -> list[dict[str, Any]]:
        """The case's messages of a size, as a program that names the fields in its code would have them."""
        path = MESSAGES / f"{self.name}.{size}.jsonl"
        if not path.exists():
            raise Missing(f"{path} does not exist: run `python3 lab/cases/generate.py`")
        with path.open(encoding="utf-8") as file:
            return [_named(json.loads(line), self.record) for line in file]


@cache
def case(name: str) -> Case:
    """The case of that name."""
    path = CASES / f"{name}.json"
    if not path.exists():
        raise Missing(f"{path} does not exist; the cases are {', '.join(case_names())}")
    data = json.loads(path.read_text(encoding="utf-8"))
    return Case(
        name=data["case"],
        record=_record(data),
        one_field=tuple(data["one_field"].split(".")),
    )


def case_names() -> list[str]:
    """The names of all cases, the published ones first."""
    order = ["pingpong", "doubles", "strings", "zeek", "measurement", "order"]
    names = [path.stem for path in CASES.glob("*.json")]
    return sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))


def difference(type: Type, expected: Any, found: Any, path: str = "") -> str | None:
    """Where two values of a type differ, in words; None if they are equal. Floats are equal if their bits are.

    An integer in place of a float is read as that float: JSON, MessagePack and CBOR let a writer shorten one.
    """
    if type.kind == "record":
        if not isinstance(found, dict):
            return f"{path or 'message'}: {found!r} isn't a record"
        for field in type.record.fields:
            here = f"{path}.{field.name}" if path else field.name
            if field.name not in expected or field.name not in found:
                if field.name in expected or field.name in found:
                    left, right = (of.get(field.name, "absent") for of in (expected, found))
                    return f"{here}: expected {left!r}, found {right!r}"
                continue
            if different := difference(field.type, expected[field.name], found[field.name], here):
                return different
        if extra := found.keys() - {field.name for field in type.record.fields}:
            return f"{path or 'message'}: unknown fields {sorted(extra)}"
        return None
    if type.kind == "list":
        if not isinstance(found, (list, tuple)) or len(found) != len(expected):
            return f"{path}: expected {len(expected)} elements, found {found!r:.60}"
        for index, (left, right) in enumerate(zip(expected, found)):
            if different := difference(type.item, left, right, f"{path}[{index}]"):
                return different
        return None
    if type.kind == "f64" and found.__class__ in (float, int):
        if struct.pack("<d", expected) == struct.pack("<d", found):
            return None
    elif expected.__class__ is found.__class__ and expected == found:
        return None
    return f"{path}: expected {expected!r:.60}, found {found!r:.60}"


def _named(message: dict[str, Any], record: Record) -> dict[str, Any]:
    """The message with the description's own strings as names: json makes new ones for every message, code does not."""
    named = {}
    for field in record.fields:
        if field.name in message:
            value, type = message[field.name], field.type
            if type.kind == "record":
                value = _named(value, type.record)
            elif type.kind == "list" and type.item.kind == "record":
                value = [_named(item, type.item.record) for item in value]
            named[field.name] = value
    if extra := message.keys() - named.keys():
        raise ValueError(f"a {record.name} has the unknown fields {sorted(extra)}: generate the messages again")
    return named


def _record(data: dict[str, Any]) -> Record:
    return Record(data["record"], tuple(_field(field) for field in data["fields"]))


def _field(data: dict[str, Any]) -> Field:
    kind = data["type"]
    if kind == "record":
        type = Type("record", record=_record(data))
    elif kind == "list<record>":
        type = Type("list", item=Type("record", record=_record(data)))
    elif kind.startswith("list<"):
        type = Type("list", item=Type(kind[len("list<") : -1]))
    elif kind.startswith("map<"):
        type = Type("map")
    else:
        type = Type(kind)
    return Field(sys.intern(data["name"]), type, data.get("optional", False))
