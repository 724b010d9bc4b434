"""The cases' generated codecs, tables with names or lists by position, and the sums of their views."""

from lab.case import Case, Field, Record
from java import Source, kind, plain, record_of, records, switch, total

CHECK = {
    "i64": "whole({})", "i32": "whole({})", "f64": "Check.of({}.asReal())", "bool": "Check.of({}.asBoolean())",
    "string": "checkText({})", "list string": "checkTexts({})", "list i32": "checkInts({})",
    "list f64": "checkDoubles({})", "map": "checkMap({})",
}  # fmt: skip


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "values", *(f"io.rawline.value.{name}"
            for name in ("Field", "Step", "ValueView")),
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
    keys, places = _path(case)
    codec = f"{plain(top, top)}Codec"
    source.method(f"{top.name}Form(boolean table)",
        f"super(table ? {codec}.TABLE : {codec}.VECTOR, table, "
        f"table ? new Step[] {{{keys}}} : new Step[] {{{places}}});")
    for record in records(top):
        source.add(*(["", "@Override"] if record is top else [""]))
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
