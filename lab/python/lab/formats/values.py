"""Rawline's own values: tables with names in the bytes, and lists with fields by position, as Zeek sends its
records."""

from typing import Any, NamedTuple

from rawline import value

from lab import dicts
from lab.case import Case, Record, Type
from lab.row import Codec, Message, Row
from lab.source import DictStyle, Style, build, compiled, read


def _tables_of_dicts(case: Case) -> Codec:
    """Dicts as JSON gives them, whose numbers say that they are integers: a plain int would be a count."""
    codec = dicts.codec(case, value.encode, value.decode)
    codec.native = _with_integers
    codec.field = value.field(*case.one_field)
    return codec


def _tables_of_classes(case: Case) -> Codec:
    """NamedTuples as a user would write them, made from the case's description; records inside are dicts. Fields are
    in the order of the class, so the case's single field comes before the growing ones."""
    fields = [(field.name, _annotation(field.type, field.optional)) for field in case.record.fields]
    whole = NamedTuple(case.record.name, fields)  # type: ignore[misc]
    record, style = value.Record(whole, order="fields"), _ClassStyle(case)
    return Codec(
        native=lambda message: whole(**dict.fromkeys(whole._fields) | _with_plain_integers(_with_integers(message))),
        encode=record.encode,
        decode=record.decode,
        field=value.field(*case.one_field),
        fields=_fields(case, style, record.decode),
        plain=compiled(build(case, style), "build"),
        recorder=lambda take: _fields(case, style, record.decode, recorded=True, take=take),
        sources=[read(case, style)],
    )


class _ClassStyle(DictStyle):
    """The outermost record has attributes, of which an absent one is None; records inside are dicts."""

    def __init__(self, case: Case) -> None:
        self._outermost = {id(field) for field in case.record.fields}

    def value(self, owner, field):
        return f"{owner}.{field.name}" if id(field) in self._outermost else super().value(owner, field)

    def present(self, owner, field):
        is_outermost = id(field) in self._outermost
        return f"{owner}.{field.name} is not None" if is_outermost else super().present(owner, field)


def _annotation(type: Type, optional: bool) -> Any:
    scalars = {"bool": bool, "i32": int, "i64": int, "f64": float, "string": str}
    scalars |= {"map": dict[str, str], "record": dict[str, Any]}
    found = list[scalars[type.item.kind]] if type.kind == "list" else scalars[type.kind]
    return found | None if optional else found


def _with_plain_integers(message: Message) -> Message:
    """The class declares its own fields as integers; records inside say it themselves."""
    plain = {}
    for name, found in message.items():
        if isinstance(found, value.Integer):
            found = int(found)
        elif isinstance(found, list):
            found = [int(item) if isinstance(item, value.Integer) else item for item in found]
        plain[name] = found
    return plain


def _lists(case: Case) -> Codec:
    """Lists of the fields in the case's order, None for absent fields."""
    with_names = compiled(build(case, _ListStyle(case)), "build")
    return Codec(
        native=lambda message: _positional(_with_integers(message), Type("record", record=case.record)),
        encode=value.encode,
        decode=value.decode,
        field=value.field(*_places(case)),
        fields=_fields(case, _ListStyle(case), value.decode),
        plain=with_names,
        recorder=lambda take: _fields(case, _ListStyle(case), value.decode, recorded=True, take=take),
        sources=[read(case, _ListStyle(case))],
    )


def _fields(case: Case, style: Style, decode: Any, recorded: bool = False, **names: Any) -> Any:
    source = f"{read(case, style, recorded)}\ndef fields(data):\n    read(decode(data))\n"
    return compiled(source, "fields", decode=decode, **names)


class _ListStyle(Style):
    """Fields by their places; an absent one is None."""

    def __init__(self, case: Case) -> None:
        self._place = {id(field): place for record in _records(case.record) for place,
            field in enumerate(record.fields)}

    def value(self, owner, field):
        return f"{owner}[{self._place[id(field)]}]"

    def present(self, owner, field):
        return f"{self.value(owner, field)} is not None"


def _records(record: Record) -> list[Record]:
    inner = [field.type.record or (field.type.item and field.type.item.record) for field in record.fields]
    return [record, *(found for nested in inner if nested for found in _records(nested))]


def _places(case: Case) -> list[int]:
    """The path to the one field."""
    places, record = [], case.record
    for name in case.one_field:
        place = next(place for place, field in enumerate(record.fields) if field.name == name)
        places.append(place)
        record = record.fields[place].type.record
    return places


def _with_integers(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _with_integers(item) for name, item in found.items()}
    if isinstance(found, list):
        return [_with_integers(item) for item in found]
    return value.Integer(found) if found.__class__ is int else found


def _positional(found: Any, type: Type) -> Any:
    if type.kind == "record":
        return [
            _positional(found[field.name], field.type) if field.name in found else None for field in type.record.fields
        ]
    if type.kind == "list":
        return [_positional(item, type.item) for item in found]
    return found


_PACKAGE = {"distribution": "rawline", "heap_seen": False}

ROWS = [
    Row("values", "rawline", _tables_of_classes, **_PACKAGE,
        note="NamedTuples by a Record; records inside are dicts"),
    Row("values", "rawline", _tables_of_dicts, variant="dict", **_PACKAGE, note="dicts, with integers marked as such"),
    Row("values-list", "rawline", _lists, **_PACKAGE, note="lists of the fields by their places; decode makes lists"),
]
