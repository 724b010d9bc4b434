"""Protobuf's messages of plain objects and back, and how an application reads them."""

from functools import partial

from lab.case import Case, Field, Record
from getters import Style, read_check, read_plain
from java import Source, kind, plain, record_of, records, switch, title, write_fields

PROTO = "io.rawline.lab.proto"


class Getters(Style):
    def __init__(self, top: Record) -> None:
        self.top = top

    def of(self, record: Record) -> str:
        return f"{PROTO}.{self.top.name}" + ("" if record is self.top else f".{record.name}")

    def get(self, r: str, field: Field) -> str:
        got = f"{r}.get{title(field.name)}"
        match kind(field):
            case "list string":
                return f"new java.util.ArrayList<>({got}List())"
            case "list i32":
                return f"{got}List().stream().mapToInt(element -> element).toArray()"
            case "list f64":
                return f"{got}List().stream().mapToDouble(element -> element).toArray()"
            case "map":
                return f"new java.util.LinkedHashMap<>({got}Map())"
        return f"{got}()"

    def check_loop(self, r: str, field: Field) -> list[str]:
        got = f"{r}.get{title(field.name)}"
        if kind(field) == "map":
            return [f"check += Check.of({got}Map());"]
        element = f"{got}(i)" if kind(field) == "list i32" else f"Check.of({got}(i))"
        return [f"for (int i = 0, count = {got}Count(); i < count; i++) {{", f"check += {element};", "}"]

    def elements(self, r: str, field: Field) -> tuple[str, str]:
        return f"for ({self.of(record_of(field))} element : {r}.get{title(field.name)}List())", "element"


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "protobuf", "com.google.protobuf.Parser", "io.rawline.lab.Case",
        "io.rawline.lab.message.Check",
    )  # fmt: skip
    source.add("final class ProtobufCases {", "private ProtobufCases() {}")
    switch(source, "static Protobuf.Cases<?, ?> of(Case kase)",
        {case.name: f"new {case.record.name}Case()" for case in cases})
    for case in cases:
        top = case.record
        style, of = Getters(top), f"{PROTO}.{top.name}"
        source.add("", f"private static final class {top.name}Case extends Protobuf.Cases<{of}, {plain(top, top)}> {{")
        source.add("@Override", f"Parser<{of}> parser() {{", f"return {of}.parser();", "}", "", "@Override")
        source.add(f"{of} build({plain(top, top)} m) {{", f"{of}.Builder b = {of}.newBuilder();")
        source.add(f"fill{top.name}(b, m);", "return b.build();", "}", "", "@Override")
        source.add(f"{plain(top, top)} plain({of} r) {{", f"return plain{top.name}(r);", "}", "", "@Override")
        source.add(f"long read({of} r) {{", f"return check{top.name}(r);", "}")
        for record in records(top):
            style.reader = style.of(record)
            _fill(source, style, record)
            read_plain(source, style, top, record)
            read_check(source, style, record)
        source.add("}")
    source.add("}")
    return {"io.rawline.lab.format.ProtobufCases": source.text()}


def _fill(source: Source, style: Getters, record: Record) -> None:
    source.add("", f"static void fill{record.name}({style.of(record)}.Builder b, {plain(style.top, record)} m) {{")
    write_fields(source, record, partial(_statements, style.top))
    source.add("}")


def _statements(top: Record, field: Field, value: str) -> list[str]:
    inner, name = record_of(field), title(field.name)
    match kind(field):
        case "record":
            return [f"fill{inner.name}(b.get{name}Builder(), {value});"]
        case "list record":
            return [f"for ({plain(top, inner)} element : {value}) {{",
                f"fill{inner.name}(b.add{name}Builder(), element);", "}"]
        case "list string":
            return [f"b.addAll{name}({value});"]
        case "list i32" | "list f64":
            element = "int" if kind(field) == "list i32" else "double"
            return [f"for ({element} element : {value}) {{", f"b.add{name}(element);", "}"]
        case "map":
            return [f"b.putAll{name}({value});"]
    return [f"b.set{name}({value});"]
