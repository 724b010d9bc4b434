"""Rawline's own values: tables with names in the bytes, and lists with fields by their places, as Zeek sends its records."""

from typing import Any, NamedTuple

from rawline import value

from lab import dicts
from lab.case import Case, Record, Type
from lab.row import Codec, Message, Row
from lab.source import Style, build, compiled, read


def _tables(case: Case) -> Codec:
    """Dicts of objects that say their types: addresses, ports, times, and integers, which else would be counts."""
    codec = dicts.codec(case, value.encode, value.decode)
    codec.native = lambda message: _typed(message, case)
    codec.field = value.field(*case.one_field)
    codec.plain = _plain
    recorder = codec.recorder
    codec.recorder = lambda take: recorder(lambda found: take(_plain(found)))
    return codec


def _tables_of_classes(case: Case) -> Codec:
    """NamedTuples as a user would write them, made from the case's description, whose records inside are dicts. In the order
    of the class, so that the one field lies in front of what grows; `decode` makes dicts of the same objects."""
    codec = _tables(case)
    kinds = dict(case.value_types)
    fields = [(field.name, _annotation(field.type, kinds.get(field.name), field.optional)) for field in case.record.fields]
    whole = NamedTuple(case.record.name, fields)  # type: ignore[misc]
    typed = codec.native
    codec.native = lambda message: whole(**dict.fromkeys(whole._fields) | _with_plain_integers(typed(message)))
    codec.encode = value.Record(whole, order="fields").encode
    return codec


def _annotation(type: Type, kind: str | None, optional: bool) -> Any:
    scalars = {"bool": bool, "i32": int, "i64": int, "f64": float, "string": str, "map": dict[str, str], "record": dict[str, Any]}
    kinds = {"address": value.Address, "port": value.Port, "timestamp": value.Timestamp, "enum": value.Name}
    found = kinds[kind] if kind else list[scalars[type.item.kind]] if type.kind == "list" else scalars[type.kind]
    return found | None if optional else found


def _with_plain_integers(message: Message) -> Message:
    """The class says of its own fields that they are integers; records inside say it themselves."""
    plain = {}
    for name, found in message.items():
        if isinstance(found, value.Integer):
            found = int(found)
        elif isinstance(found, list):
            found = [int(item) if isinstance(item, value.Integer) else item for item in found]
        plain[name] = found
    return plain


def _tables_of_plain_dicts(case: Case) -> Codec:
    """Dicts as JSON gives them; a Record says which texts and numbers are something else. It says so of the outermost dict's
    fields, so the numbers within others say themselves that they are integers."""
    codec = _tables(case)
    nested = [field.name for field in case.record.fields if (field.type.item or field.type).kind == "record"]
    codec.native = lambda message: message | {name: _with_integers(message[name]) for name in nested if name in message}
    codec.encode = value.Record(_kinds(case)).encode
    return codec


def _lists(case: Case) -> Codec:
    """Lists of the fields in the case's order, None for what is absent."""
    with_names = compiled(build(case, _ListStyle(case)), "build")
    return Codec(
        native=lambda message: _positional(_typed(message, case), Type("record", record=case.record)),
        encode=value.encode,
        decode=value.decode,
        field=value.field(*_places(case)),
        fields=_fields_of_lists(case, recorded=False),
        plain=lambda decoded: _plain(with_names(decoded)),
        recorder=lambda take: _fields_of_lists(case, recorded=True, take=lambda found: take(_plain(found))),
        sources=[read(case, _ListStyle(case))],
    )


def _fields_of_lists(case: Case, recorded: bool, **names: Any) -> Any:
    source = f"{read(case, _ListStyle(case), recorded)}\ndef fields(data):\n    read(decode(data))\n"
    return compiled(source, "fields", decode=value.decode, **names)


class _ListStyle(Style):
    """Fields by their places; an absent one is None."""

    def __init__(self, case: Case) -> None:
        self._place = {id(field): place for record in _records(case.record) for place, field in enumerate(record.fields)}

    def value(self, owner, field):
        return f"{owner}[{self._place[id(field)]}]"

    def present(self, owner, field):
        return f"{self.value(owner, field)} is not None"


def _records(record: Record) -> list[Record]:
    inner = [field.type.record or (field.type.item and field.type.item.record) for field in record.fields]
    return [record, *(found for nested in inner if nested for found in _records(nested))]


def _places(case: Case) -> list[int]:
    """The way to the one field."""
    places, record = [], case.record
    for name in case.one_field:
        place = next(place for place, field in enumerate(record.fields) if field.name == name)
        places.append(place)
        record = record.fields[place].type.record
    return places


def _kinds(case: Case) -> dict[str, str]:
    """The fields' types as a Record names them."""
    protocols = dict(case.protocol_fields)
    kinds = {name: f"port@{protocols[name]}" if kind == "port" else kind for name, kind in case.value_types}
    for field in case.record.fields:
        if (field.type.item or field.type).kind in ("i32", "i64"):
            kinds.setdefault(field.name, "integer")
    return kinds


def _typed(message: Message, case: Case) -> Message:
    """The message with objects that say their types."""
    typed = _with_integers(message)
    protocols = dict(case.protocol_fields)
    makers = {"address": value.Address, "timestamp": value.Timestamp, "enum": value.Name}
    for name, kind in case.value_types:
        typed[name] = value.Port(message[name], message[protocols[name]]) if kind == "port" else makers[kind](message[name])
    return typed


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


def _plain(found: Any) -> Any:
    """What was read, with JSON's types only."""
    if isinstance(found, dict):
        return {name: _plain(item) for name, item in found.items()}
    if isinstance(found, list):
        return [_plain(item) for item in found]
    if isinstance(found, (value.Address, value.Name)):
        return str(found)
    if isinstance(found, value.Port):
        return found.number
    return found.ns if isinstance(found, value.Timestamp) else found


_PACKAGE = {"distribution": "rawline", "heap_seen": False}

ROWS = [
    Row(
        "values", "rawline", _tables_of_classes, **_PACKAGE,
        note="encode takes NamedTuples of addresses, ports, times as such, by a Record; decode makes dicts of them",
    ),
    Row("values", "rawline", _tables, variant="dict", **_PACKAGE, note="dicts of the same, with integers marked as such"),
    Row(
        "values", "rawline", _tables_of_plain_dicts, variant="plain dict", **_PACKAGE,
        note="encode takes a dict as JSON gives it, and makes addresses, ports, times of its texts and numbers by a Record",
    ),
    Row("values-list", "rawline", _lists, **_PACKAGE, note="lists of the fields by their places; decode makes lists"),
]
