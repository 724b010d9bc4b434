"""The cases as msgspec Structs: classes as a user would write them, made from the case's description."""

from collections.abc import Callable
from typing import Any

import msgspec

from lab.case import Case, Field, Record, Type
from lab.row import Codec, Message
from lab.source import Style, build, compiled, read

SCALARS = {"bool": bool, "i32": int, "i64": int, "f64": float, "string": str}


def codec(case: Case, encode: Callable[[Any], bytes], decoder_of: Callable[[type], Any],
    array_like: bool = False) -> Codec:
    """The codec of an encoding function and of what makes a decoder for a class. `array_like`: fields by their
    places."""
    whole = struct(case.record, array_like)
    # A class of only the one field, so that the decoder skips all others, as msgspec advises.
    only = struct(_narrowed(case.record, case.one_field, array_like), array_like)
    names = {"decode": decoder_of(whole).decode, "decode_one": decoder_of(only).decode}
    source = f"def field(data):\n    return decode_one(data).{'.'.join(case.one_field)}\n"
    source += f"\n{read(case, Style())}\ndef fields(data):\n    read(decode(data))\n"
    recorded = f"{read(case, Style(), recorded=True)}\ndef fields(data):\n    read(decode(data))\n"
    return Codec(
        native=lambda message: msgspec.convert(_positional(message, case.record) if array_like else message, whole),
        encode=encode,
        decode=names["decode"],
        field=compiled(source, "field", **names),
        fields=compiled(source, "fields", **names),
        plain=compiled(build(case, Style()), "build"),
        recorder=lambda take: compiled(recorded, "fields", take=take, **names),
        sources=[source],
    )


def struct(record: Record, array_like: bool = False) -> type:
    """The record's class. An absent field is None, and is left out of the bytes unless places count."""
    fields = []
    for field in record.fields:
        type = _type(field.type, array_like)
        fields.append((field.name, type | None, None) if field.optional else (field.name, type))
    # Given by name, since an optional field may precede a required one.
    return msgspec.defstruct(record.name, fields, array_like=array_like, omit_defaults=not array_like, kw_only=True)


def _type(type: Type, array_like: bool) -> Any:
    if type.kind == "list":
        return list[_type(type.item, array_like)]
    if type.kind == "map":
        return dict[str, str]
    if type.kind == "record":
        return struct(type.record, array_like)
    return SCALARS[type.kind]


def _narrowed(record: Record, path: tuple[str, ...], keep_before: bool) -> Record:
    """The record with only the path's field; if `keep_before`, with the fields before it, whose positions count."""
    fields: list[Field] = []
    for field in record.fields:
        if field.name == path[0]:
            type = field.type if len(path) == 1 else Type("record",
                record=_narrowed(field.type.record, path[1:], keep_before))
            return Record(record.name, (*fields, Field(field.name, type, field.optional)))
        if keep_before:
            fields.append(field)
    raise KeyError(f"{record.name} has no field {path[0]!r}")


def _positional(message: Message, record: Record) -> list[Any]:
    """The message as lists of its fields in their order, None for absent fields."""
    return [_positional_value(message.get(field.name), field.type) for field in record.fields]


def _positional_value(value: Any, type: Type) -> Any:
    if value is None:
        return None
    if type.kind == "record":
        return _positional(value, type.record)
    if type.kind == "list":
        return [_positional_value(item, type.item) for item in value]
    return value
