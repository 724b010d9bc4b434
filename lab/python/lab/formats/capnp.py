"""Cap'n Proto: pycapnp, which reads lab/schemas/cases.capnp itself; plain and packed."""

import capnp

from lab.case import Case, Record
from lab.places import SCHEMAS
from lab.row import Codec, Row
from lab.source import Style, build, compiled, read

_schema = None


def _loaded():
    global _schema
    if _schema is None:
        _schema = capnp.load(str(SCHEMAS / "cases.capnp"))
    return _schema


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class _ReaderStyle(Style):
    """pycapnp's readers: attributes in camel case; an absent float is a union's `none`."""

    def value(self, owner, field):
        some = ".some" if field.optional and field.type.kind == "f64" else ""
        return f"{owner}.{_camel(field.name)}{some}"

    def present(self, owner, field):
        if field.type.kind == "f64":
            return f"{owner}.{_camel(field.name)}.which() == 'some'"
        return f"{owner}._has({_camel(field.name)!r})"

    def entries(self, owner, field):
        return "tag", f"{owner}.{_camel(field.name)}", "tag.key", "tag.value"


def _write(record: Record) -> str:
    """Source of the functions that write a record's dict, and those in it, into a builder, as pycapnp's guide does it.

    The guide's `init` and attributes take a quarter to an eighth of the time of the other documented way, `new_message`
    of a dict with lists of dicts in it.
    """
    inner: list[str] = []
    lines = [f"def write_{record.name}(builder, m):"]
    for field in record.fields:
        value, indent = f"m[{field.name!r}]", "    "
        nested = field.type.record or (field.type.item and field.type.item.record)
        if nested:
            inner.append(_write(nested))
        if field.optional:
            lines.append(f"    if {field.name!r} in m:")
            indent = "        "
        if field.type.kind == "record":
            lines.append(f"{indent}write_{nested.name}(builder.init({_camel(field.name)!r}), {value})")
        elif field.type.kind == "map":
            lines.append(f"{indent}entries = builder.init({_camel(field.name)!r}, len({value}))")
            lines.append(f"{indent}for entry, (key, value) in zip(entries, {value}.items()):")
            lines += [f"{indent}    entry.key = key", f"{indent}    entry.value = value"]
        elif nested:
            lines.append(f"{indent}items = builder.init({_camel(field.name)!r}, len({value}))")
            lines.append(f"{indent}for item, part in zip(items, {value}):")
            lines.append(f"{indent}    write_{nested.name}(item, part)")
        else:
            some = ".some" if field.optional and field.type.kind == "f64" else ""
            lines.append(f"{indent}builder.{_camel(field.name)}{some} = {value}")
    return "\n".join([*inner, *lines, ""])


def _codec(case: Case, packed: bool) -> Codec:
    struct = getattr(_loaded(), case.record.name)
    style = _ReaderStyle()
    path = ".".join(_camel(name) for name in case.one_field)
    opened = "m = from_bytes_packed(data)\n    " if packed else "with from_bytes(data) as m:\n        "
    to_bytes = "to_bytes_packed" if packed else "to_bytes"
    source = (
        f"{_write(case.record)}\n"
        f"def encode(message):\n    builder = new_message()\n    write_{case.record.name}(builder, message)\n"
        f"    return builder.{to_bytes}()\n\n"
        f"{build(case, style)}\ndef decode(data):\n    {opened}return build(m)\n\n"
        f"def field(data):\n    {opened}return m.{path}\n\n"
        f"{read(case, style)}\ndef fields(data):\n    {opened}read(m)\n"
    )
    recorded = f"{read(case, style, recorded=True)}\ndef fields(data):\n    {opened}read(m)\n"
    names = {"new_message": struct.new_message, "from_bytes": struct.from_bytes,
        "from_bytes_packed": struct.from_bytes_packed}
    return Codec(
        native=lambda message: message,
        encode=compiled(source, "encode", **names),
        decode=compiled(source, "decode", **names),
        field=compiled(source, "field", **names),
        fields=compiled(source, "fields", **names),
        plain=lambda message: message,
        recorder=lambda take: compiled(recorded, "fields", take=take, **names),
        sources=[source],
    )


ROWS = [
    Row("capnp", "pycapnp", lambda case: _codec(case, packed=False), distribution="pycapnp", heap_seen=False),
    Row("capnp", "pycapnp", lambda case: _codec(case, packed=True), variant="packed", distribution="pycapnp",
        heap_seen=False),
]
