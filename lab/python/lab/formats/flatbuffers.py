"""FlatBuffers: the library, pure Python, with what flatc made of lab/schemas/cases.fbs; numbers in lists by numpy
too."""

import importlib
import sys

import flatbuffers

from lab.case import Case, Field, Record
from lab.places import FLATBUFFERS, Missing
from lab.row import Codec, Row
from lab.source import Style, build, compiled, read

_NUMBERS = {"bool": "Bool", "i32": "Int32", "i64": "Int64", "f64": "Float64"}
_DTYPES = {"bool": "?", "i32": "<i4", "i64": "<i8", "f64": "<f8"}


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


class _TableStyle(Style):
    """flatc's accessors: a method a field, an index an element, bytes for a string, None for absent fields."""

    def value(self, owner, field):
        return "found" if field.optional else f"{owner}.{_camel(field.name)}()"

    def present(self, owner, field):
        return f"(found := {owner}.{_camel(field.name)}()) is not None"

    def items(self, owner, field):
        name = f"{owner}.{_camel(field.name)}"
        return "i", f"range({name}Length())", f"{name}(i)"

    def entries(self, owner, field):
        name = f"{owner}.{_camel(field.name)}"
        return "tag", f"map({name}, range({name}Length()))", "tag.Key()", "tag.Value()"

    def scalar(self, expression, type):
        return f"{expression}.decode()" if type.kind == "string" else expression


class _NumpyStyle(_TableStyle):
    """Lists of numbers as numpy arrays over the bytes, which become Python's numbers all at once."""

    def items(self, owner, field):
        if field.type.item.kind not in _NUMBERS:
            return super().items(owner, field)
        return "item", f"numbers({owner}.{_camel(field.name)}AsNumpy())", "item"


def _numbers(array):
    """A list of an array's numbers; for an empty or absent list flatc's accessor gives 0 in place of an array."""
    return [] if isinstance(array, int) else array.tolist()


def _write(record: Record, numpy: bool) -> str:
    """Source of the functions that write a record's dict, and those in it: what it points to first, then its table."""
    inner: list[str] = []
    before, table = [], []
    for field in record.fields:
        nested = field.type.record or (field.type.item and field.type.item.record)
        if nested:
            inner.append(_write(nested, numpy))
        indent = "    "
        if field.optional:
            indent = "        "
            before.append(f"    if {field.name!r} in m:")
            table.append(f"    if {field.name!r} in m:")
        value = f"m[{field.name!r}]"
        made = _written_before(record, field, value, numpy)
        before += [indent + line for line in made]
        if field.optional and not made:
            before.pop()
        added = field.name + "_at" if made else value
        table.append(f"{indent}flat.{record.name}Add{_camel(field.name)}(builder, {added})")
    lines = [f"def write_{record.name}(builder, m):", *before, f"    flat.{record.name}Start(builder)", *table]
    return "\n".join([*inner, *lines, f"    return flat.{record.name}End(builder)", ""])


def _written_before(record: Record, field: Field, value: str, numpy: bool) -> list[str]:
    """Lines that write the field's target, and keep its position in `FIELD_at`; no lines for a number."""
    at, type = f"{field.name}_at", field.type
    if type.kind == "string":
        return [f"{at} = builder.CreateString({value})"]
    if type.kind == "record":
        return [f"{at} = write_{type.record.name}(builder, {value})"]
    if type.kind == "map":
        lines = [f"{at} = [write_Tag(builder, key, value) for key, value in {value}.items()]"]
        prepend = "UOffsetTRelative"
    elif type.kind != "list":
        return []
    elif type.item.kind == "record":
        lines = [f"{at} = [write_{type.item.record.name}(builder, item) for item in {value}]"]
        prepend = "UOffsetTRelative"
    elif type.item.kind == "string":
        lines, prepend = [f"{at} = [builder.CreateString(item) for item in {value}]"], "UOffsetTRelative"
    elif numpy:
        return [f"{at} = builder.CreateNumpyVector(array({value}, {_DTYPES[type.item.kind]!r}))"]
    else:
        lines, prepend = [f"{at} = {value}"], _NUMBERS[type.item.kind]
    return lines + [
        f"flat.{record.name}Start{_camel(field.name)}Vector(builder, len({at}))",
        f"for item in reversed({at}):",
        f"    builder.Prepend{prepend}(item)",
        f"{at} = builder.EndVector()",
    ]


_WRITE_TAG = """\
def write_Tag(builder, key, value):
    key_at = builder.CreateString(key)
    value_at = builder.CreateString(value)
    flat.TagStart(builder)
    flat.TagAddKey(builder, key_at)
    flat.TagAddValue(builder, value_at)
    return flat.TagEnd(builder)

"""


def _codec(case: Case, numpy: bool) -> Codec:
    flat = _generated()
    style = _NumpyStyle() if numpy else _TableStyle()
    one = style.scalar("root(data)." + ".".join(f"{_camel(name)}()" for name in case.one_field), case.one_type)
    maps = any(field.type.kind == "map" for field in case.record.fields)
    source = (
        f"{_WRITE_TAG if maps else ''}{_write(case.record, numpy)}\n"
        "def encode(message):\n    builder = Builder(1024)\n"
        f"    builder.Finish(write_{case.record.name}(builder, message))\n    return builder.Output()\n\n"
        f"{build(case, style)}\ndef decode(data):\n    return build(root(data))\n\n"
        f"def field(data):\n    return {one}\n\n"
        f"{read(case, style)}\ndef fields(data):\n    read(root(data))\n"
    )
    recorded = f"{read(case, style, recorded=True)}\ndef fields(data):\n    read(root(data))\n"
    names = {"flat": flat, "Builder": flatbuffers.Builder, "root": getattr(flat, case.record.name).GetRootAs,
        "numbers": _numbers}
    if numpy:
        names["array"] = importlib.import_module("numpy").array
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


def _generated():
    """The module that flatc generates."""
    if not (FLATBUFFERS / "cases_generated.py").exists():
        raise Missing(f"{FLATBUFFERS / 'cases_generated.py'} does not exist: run make lab-generate")
    if str(FLATBUFFERS) not in sys.path:
        sys.path.append(str(FLATBUFFERS))
    return importlib.import_module("cases_generated")


ROWS = [
    Row("flatbuffers", "flatbuffers", lambda case: _codec(case, numpy=False), distribution="flatbuffers",
        note="pure Python"),
    Row(
        "flatbuffers", "flatbuffers", lambda case: _codec(case,
            numpy=True), variant="numpy", distribution="flatbuffers",
        note="pure Python; lists of numbers through numpy, in one step each",
    ),
]
