"""The cases' structs in Cap'n Proto: plain objects to builders, and readers to plain objects."""

from lab.case import Case, Field, Record
from getters import Style, read_check, read_plain
from java import Source, kind, plain, record_of, records, switch, title, write_fields

CASES = "io.rawline.lab.capnp.Cases"


class Readers(Style):
    reader = CASES + ".{}.Reader"

    def get(self, r: str, field: Field) -> str:
        got = super().get(r, field)
        match kind(field):
            case "string":
                return f"{got}.toString()"
            case "list string" | "list i32" | "list f64" | "map":
                return f"plain({got})"
        return got

    def has(self, r: str, field: Field) -> str:
        return f"{super().get(r, field)}.isSome()" if kind(field) == "f64" else super().has(r, field)

    def optional(self, r: str, field: Field) -> str:
        return f"{super().get(r, field)}.getSome()" if kind(field) == "f64" else self.get(r, field)

    def check(self, r: str, field: Field) -> str:
        # An absent string reads as an empty one, whose check is 0 as well.
        got = super().get(r, field)
        return f"check({got})" if kind(field) == "string" else f"Check.of({got})"

    def check_loop(self, r: str, field: Field) -> list[str]:
        return [f"check += check({super().get(r, field)});"]


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "capnp", "io.rawline.lab.Case", "io.rawline.lab.message.Check",
        "org.capnproto.FromPointerBuilder", "org.capnproto.FromPointerReader",
    )  # fmt: skip
    source.add("final class CapnpCases {", "private CapnpCases() {}")
    switch(source, "static Capnp.Struct<?, ?, ?> of(Case kase)",
        {case.name: f"new {case.record.name}Struct()" for case in cases})
    style = Readers()
    for case in cases:
        top = case.record
        of, message = f"{CASES}.{top.name}", plain(top, top)
        source.add("",
            f"private static final class {top.name}Struct extends Capnp.Struct<{of}.Builder, {of}.Reader, "
            f"{message}> {{")
        source.add("@Override", f"FromPointerBuilder<{of}.Builder> builders() {{", f"return {of}.factory;", "}", "",
            "@Override")
        source.add(f"FromPointerReader<{of}.Reader> readers() {{", f"return {of}.factory;", "}", "", "@Override")
        source.add(f"void write({message} m, {of}.Builder b) {{", f"write{top.name}(m, b);", "}", "", "@Override")
        source.add(f"{message} plain({of}.Reader r) {{", f"return plain{top.name}(r);", "}", "", "@Override")
        source.add(f"long fields({of}.Reader r) {{", f"return check{top.name}(r);", "}", "", "@Override")
        one = "r" + "".join(f".get{title(name)}()" for name in case.one_field)
        check = f"check({one})" if case.one_type.kind == "string" else f"Check.of({one})"
        source.add(f"long field({of}.Reader r) {{", f"return {check};", "}")
        for record in records(top):
            _write(source, top, record)
            read_plain(source, style, top, record)
            read_check(source, style, record)
        source.add("}")
    source.add("}")
    return {"io.rawline.lab.format.CapnpCases": source.text()}


def _write(source: Source, top: Record, record: Record) -> None:
    source.add("", f"static void write{record.name}({plain(top, record)} m, {CASES}.{record.name}.Builder b) {{")
    write_fields(source, record, _statements)
    source.add("}")


def _statements(field: Field, value: str) -> list[str]:
    inner, name = record_of(field), title(field.name)
    match kind(field):
        case "record":
            return [f"write{inner.name}({value}, b.init{name}());"]
        case "list record":
            builders = f"org.capnproto.StructList.Builder<{CASES}.{inner.name}.Builder>"
            return [f"{builders} to = b.init{name}({value}.size());", f"for (int i = 0; i < {value}.size(); i++) {{",
                f"write{inner.name}({value}.get(i), to.get(i));", "}"]
        case "list string" | "map":
            return [f"write({value}, b.init{name}({value}.size()));"]
        case "list i32" | "list f64":
            return [f"write({value}, b.init{name}({value}.length));"]
        case "f64" if field.optional:
            return [f"b.get{name}().setSome({value});"]
    return [f"b.set{name}({value});"]
