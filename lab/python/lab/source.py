"""Generates, for a case, the straight-line functions that a person would write by hand to read a message's fields.

A format's objects differ only in how a field is read, which its `Style` defines. From it come `build` (every field
into a
dict) and `read` (every field read once, nothing kept).
"""

from collections.abc import Callable
from typing import Any

from lab.case import Case, Field, Record, Type


class Style:
    """How the fields of a kind of object are read, as Python expressions. This one: an object with attributes."""

    def value(self, owner: str, field: Field) -> str:
        """The value of a field that is present."""
        return f"{owner}.{field.name}"

    def present(self, owner: str, field: Field) -> str:
        """Whether an optional field is present."""
        return f"{owner}.{field.name} is not None"

    def items(self, owner: str, field: Field) -> tuple[str, str, str]:
        """A list field: the loop's variable, the iterable, and an element."""
        return "item", self.value(owner, field), "item"

    def entries(self, owner: str, field: Field) -> tuple[str, str, str, str]:
        """A map field: the loop's variables, the iterable, a key and a value."""
        return "key, value", f"{self.value(owner, field)}.items()", "key", "value"

    def scalar(self, expression: str, type: Type) -> str:
        """Converts a field's value to Python's own, if they differ."""
        return expression


class DictStyle(Style):
    """A message as JSON gives it: a dict, without the fields that are absent."""

    def value(self, owner: str, field: Field) -> str:
        return f"{owner}[{field.name!r}]"

    def present(self, owner: str, field: Field) -> str:
        return f"{field.name!r} in {owner}"


def build(case: Case, style: Style) -> str:
    """Source of `build(message)`: a new dict of all fields, without those that are absent."""
    functions = [_build(record, style) for record in _inner_first(case.record)]
    return "\n\n".join([*functions, f"build = build_{case.record.name}\n"])


def read(case: Case, style: Style, recorded: bool = False) -> str:
    """Source of `read(message)`: every field's value is created and dropped; if `recorded`, `take` is called with
    it."""
    functions = [_read(record, style, recorded) for record in _inner_first(case.record)]
    return "\n\n".join([*functions, f"read = read_{case.record.name}\n"])


def compiled(source: str, name: str, **names: Any) -> Callable:
    """The function of that name from the source, which sees the names given."""
    exec(compile(source, f"<{name} made by lab.source>", "exec"), names)
    return names[name]


def _inner_first(record: Record) -> list[Record]:
    inner = [r for field in record.fields for r in _records_of(field.type)]
    return inner + [record]


def _records_of(type: Type) -> list[Record]:
    if type.kind == "record":
        return _inner_first(type.record)
    return _records_of(type.item) if type.kind == "list" else []


def _build(record: Record, style: Style) -> str:
    lines = [f"def build_{record.name}(m):", "    message = {"]
    lines += [f"        {field.name!r}: {_built(field, style)}," for field in record.fields if not field.optional]
    lines.append("    }")
    for field in record.fields:
        if field.optional:
            lines.append(f"    if {style.present('m', field)}:")
            lines.append(f"        message[{field.name!r}] = {_built(field, style)}")
    return "\n".join(lines + ["    return message"])


def _built(field: Field, style: Style) -> str:
    type = field.type
    if type.kind == "record":
        return f"build_{type.record.name}({style.value('m', field)})"
    if type.kind == "map":
        variables, over, key, value = style.entries("m", field)
        key, value = (style.scalar(text, Type("string")) for text in (key, value))
        return f"{{{key}: {value} for {variables} in {over}}}"
    if type.kind == "list":
        variable, over, item = style.items("m", field)
        if type.item.kind == "record":
            return f"[build_{type.item.record.name}({item}) for {variable} in {over}]"
        item_scalar = style.scalar(item, type.item)
        if item_scalar == variable:
            return f"list({over})"
        return f"[{item_scalar} for {variable} in {over}]"
    return style.scalar(style.value("m", field), type)


def _read(record: Record, style: Style, recorded: bool) -> str:
    take = "take({})" if recorded else "{}"
    lines = [f"def read_{record.name}(m):"]
    for field in record.fields:
        indent = "    "
        if field.optional:
            lines.append(f"    if {style.present('m', field)}:")
            indent = "        "
        type = field.type
        if type.kind == "record":
            lines.append(f"{indent}read_{type.record.name}({style.value('m', field)})")
        elif type.kind == "map":
            variables, over, key, value = style.entries("m", field)
            lines.append(f"{indent}for {variables} in {over}:")
            lines += [f"{indent}    {take.format(style.scalar(text, Type('string')))}" for text in (key, value)]
        elif type.kind == "list":
            variable, over, item = style.items("m", field)
            lines.append(f"{indent}for {variable} in {over}:")
            if type.item.kind == "record":
                lines.append(f"{indent}    read_{type.item.record.name}({item})")
            else:
                lines.append(f"{indent}    {take.format(style.scalar(item, type.item))}")
        else:
            lines.append(f"{indent}{take.format(style.scalar(style.value('m', field), type))}")
    return "\n".join(lines)
