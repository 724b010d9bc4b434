"""The cases' fields in MessagePack, written and read as maps of names with the core library."""

from functools import partial

from lab.case import Case, Field, Record
from java import Source, kind, plain, record_of, records, switch, write_fields

WRITE = {
    "i64": "out.packLong({});", "i32": "out.packInt({});", "f64": "out.packDouble({});", "bool": "out.packBoolean({});",
    "string": "out.packString({});",
}  # fmt: skip
READ = {
    "i64": "in.unpackLong()", "i32": "in.unpackInt()", "f64": "in.unpackDouble()", "bool": "in.unpackBoolean()",
    "string": "in.unpackString()", "list string": "texts(in)", "list i32": "ints(in)", "list f64": "doubles(in)",
    "map": "map(in)",
}  # fmt: skip


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "msgpack", "io.rawline.lab.Case", "java.io.IOException",
        "org.msgpack.core.MessagePacker", "org.msgpack.core.MessageUnpacker",
    )  # fmt: skip
    source.add("final class MsgPackCases {", "private MsgPackCases() {}")
    switch(source, "static MsgPack.Fields<?> of(Case kase)",
        {case.name: f"new {case.record.name}Fields()" for case in cases})
    for case in cases:
        top = case.record
        source.add("", f"private static final class {top.name}Fields extends MsgPack.Fields<{plain(top, top)}> {{")
        for record in records(top):
            _write(source, top, record)
            _read(source, top, record)
        source.add("}")
    source.add("}")
    return {"io.rawline.lab.format.MsgPackCases": source.text()}


def _head(source: Source, top: Record, record: Record, returns: str, verb: str, parameters: str) -> None:
    source.add("", *(["@Override"] if record is top else []))
    visibility = "" if record is top else "private static "
    name = verb if record is top else verb + record.name
    source.add(f"{visibility}{returns} {name}({parameters}) throws IOException {{")


def _write(source: Source, top: Record, record: Record) -> None:
    _head(source, top, record, "void", "write", f"{plain(top, record)} m, MessagePacker out")
    optional = [field for field in record.fields if field.optional]
    present = "".join(f" + (m.{field.name} == null ? 0 : 1)" for field in optional)
    source.add(f"out.packMapHeader({len(record.fields) - len(optional)}{present});")
    write_fields(source, record, partial(_statements, top))
    source.add("}")


def _statements(top: Record, field: Field, value: str) -> list[str]:
    name, inner = f'out.packString("{field.name}");', record_of(field)
    if kind(field) == "record":
        return [name, f"write{inner.name}({value}, out);"]
    if kind(field) == "list record":
        return [name, f"out.packArrayHeader({value}.size());", f"for ({plain(top, inner)} element : {value}) {{",
            f"write{inner.name}(element, out);", "}"]
    return [name, WRITE.get(kind(field), "write({}, out);").format(value)]


def _read(source: Source, top: Record, record: Record) -> None:
    of = plain(top, record)
    _head(source, top, record, of, "read", "MessageUnpacker in")
    source.add(f"{of} m = new {of}();", "for (int left = in.unpackMapHeader(); left > 0; left--) {")
    source.add("switch (in.unpackString()) {")
    for field in record.fields:
        inner = record_of(field)
        read = READ.get(kind(field)) or f"read{inner.name}(in)"
        if kind(field) == "list record":
            # A statement for the loop, since reading throws.
            source.add(f'case "{field.name}" -> {{', "int size = in.unpackArrayHeader();")
            source.add(f"m.{field.name} = new java.util.ArrayList<>(size);", "for (int i = 0; i < size; i++) {")
            source.add(f"m.{field.name}.add({read});", "}", "}")
        else:
            source.add(f'case "{field.name}" -> m.{field.name} = {read};')
    source.add("default -> in.skipValue();", "}", "}", "return m;", "}")
