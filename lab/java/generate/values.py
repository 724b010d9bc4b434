"""The cases as Rawline values: tables with names, or lists by position."""

from lab.case import Case, Field, Record
from java import Source, kind, plain, record_of, records, switch, total

READ = {
    "i64": "whole()", "i32": "(int) whole()", "f64": "in.real()", "bool": "in.bool()", "string": "in.string()",
    "list string": "texts()", "list i32": "ints()", "list f64": "doubles()", "map": "map()",
}  # fmt: skip
CHECK = {
    "i64": "whole({})", "i32": "whole({})", "f64": "Check.of({}.asReal())", "bool": "Check.of({}.asBoolean())",
    "string": "checkText({})", "list string": "checkTexts({})", "list i32": "checkInts({})",
    "list f64": "checkDoubles({})", "map": "checkMap({})",
}  # fmt: skip


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "values", *(f"io.rawline.value.{name}"
            for name in ("Field", "Fields", "Step", "ValueView")),
        "io.rawline.lab.Case", "io.rawline.lab.message.Check",
    )  # fmt: skip
    source.add("final class ValuesCases {", "private ValuesCases() {}")
    switch(source, "static Values.Form<?> of(Case kase, boolean table)",
           {case.name: f"new {case.record.name}Form(table)" for case in cases})  # fmt: skip
    for case in cases:
        _form(source, case)
    source.add("}")
    return {"io.rawline.lab.format.ValuesCases": source.text()}


def _constant(record: Record, name: str) -> str:
    return f"{record.name}_{name}".upper()


def _form(source: Source, case: Case) -> None:
    top = case.record
    source.add("", f"private static final class {top.name}Form extends Values.Form<{plain(top, top)}> {{")
    for record in records(top):
        for field in record.fields:
            source.add(f'private static final Field {_constant(record, field.name)} = Field.of("{field.name}");')
        names = ", ".join(f'"{field.name}"' for field in record.fields)
        source.add(f"private static final Fields {_constant(record, 'FIELDS')} = Fields.of({names});")
    keys, places = _path(case)
    source.method(f"{top.name}Form(boolean table)",
        f"super(table, table ? new Step[] {{{keys}}} : new Step[] {{{places}}});")
    for record in records(top):
        override = ["", "@Override"] if record is top else [""]
        source.add(*override, f"void write{'' if record is top else record.name}({plain(top, record)} m) {{",
            "begin();")
        for field in record.fields:
            _write(source, top, record, field)
        source.add("out.end();", "}", *override)
        _read(source, top, record)
        source.add(*override)
        _check(source, top, record)
    source.add("}")


def _path(case: Case) -> tuple[str, str]:
    keys, places, record = [], [], case.record
    for name in case.one_field:
        place, field = next((i, field) for i, field in enumerate(record.fields) if field.name == name)
        keys.append(_constant(record, name))
        places.append(f"Step.at({place})")
        record = record_of(field)
    return ", ".join(keys), ", ".join(places)


def _write(source: Source, top: Record, record: Record, field: Field) -> None:
    key, value = f"key({_constant(record, field.name)})", f"m.{field.name}"
    if field.optional:
        source.add(f"if ({value} == null) {{", "absent();", "} else {")
    match kind(field):
        case "i64" | "i32":
            source.add(f"{key}.addInteger({value});")
        case "f64" | "bool" | "string":
            source.add(f"{key}.add({value});")
        case "record":
            source.add(f"{key};", f"write{record_of(field).name}({value});")
        case "list record":
            inner = record_of(field)
            source.add(f"{key};", "out.beginList();", f"for ({plain(top, inner)} element : {value}) {{")
            source.add(f"write{inner.name}(element);", "}", "out.end();")
        case _:
            source.add(f"{key};", f"write({value});")
    if field.optional:
        source.add("}")


def _read(source: Source, top: Record, record: Record) -> None:
    of = plain(top, record)
    source.add(f"{of} read{'' if record is top else record.name}() {{", f"{of} m = new {of}();")
    source.add("for (int i = 0, count = count(); i < count; i++) {",
        f"switch (place({_constant(record, 'FIELDS')}, i)) {{")
    for place, field in enumerate(record.fields):
        inner = record_of(field)
        read = READ.get(kind(field)) or f"read{inner.name}()"
        if kind(field) == "list record":
            read = f"list(this::{read[:-2]})"
        if field.optional:
            read = f"in.isNone() ? null : {'(Double) ' if kind(field) == 'f64' else ''}{read}"
        source.add(f"case {place} -> m.{field.name} = {read};")
    source.add("default -> in.skip();", "}", "}", "return m;", "}")


def _check(source: Source, top: Record, record: Record) -> None:
    source.add(f"long check{'' if record is top else record.name}(ValueView v) {{")
    lists = [field for field in record.fields if kind(field) == "list record"]
    parts = []
    for place, field in enumerate(record.fields):
        at = f"at(v, {_constant(record, field.name)}, {place})"
        if kind(field) == "record":
            parts.append(f"check{record_of(field).name}({at})")
        elif field not in lists:
            parts.append("checkReal({})".format(at) if field.optional and kind(field) == "f64"
                else CHECK[kind(field)].format(at))
    if record is not top:
        source.add("if (!isThere(v)) {", "return 0;", "}")
    source.add(f"long check = {total(parts)};")
    for field in lists:
        place = record.fields.index(field)
        source.add(f"ValueView {field.name} = at(v, {_constant(record, field.name)}, {place});")
        source.add(f"for (int i = 0, size = {field.name}.size(); i < size; i++) {{")
        source.add(f"check += check{record_of(field).name}({field.name}.get(i));", "}")
    source.add("return check;", "}")
