"""The cases' tables in FlatBuffers: written from the leaves up, and read where they lie."""

from lab.case import Case, Field, Record
from getters import Style, read_check, read_plain
from java import Source, camel, if_present, kind, plain, record_of, records, switch, title

FLAT = "io.rawline.lab.flat"


class Tables(Style):
    reader = FLAT + ".{}"

    def get(self, r: str, field: Field) -> str:
        got = f"{r}.{camel(field.name)}"
        match kind(field):
            case "list string":
                return f"texts({got}Vector())"
            case "list i32":
                return f"ints({got}Length(), {got}AsByteBuffer())"
            case "list f64":
                return f"doubles({got}Length(), {got}AsByteBuffer())"
            case "map":
                return f"tags({r})"
        return f"{got}()"

    def has(self, r: str, field: Field) -> str:
        return super().has(r, field) if kind(field) == "f64" else f"{r}.{camel(field.name)}() != null"

    def check(self, r: str, field: Field) -> str:
        got = f"{r}.{camel(field.name)}"
        return f"Check.of({got}AsByteBuffer())" if kind(field) == "string" else f"Check.of({got}())"

    def check_loop(self, r: str, field: Field) -> list[str]:
        got = f"{r}.{camel(field.name)}"
        if kind(field) == "list string":
            return [f"check += check({got}Vector());"]
        if kind(field) == "map":
            return [f"check += checkTags({r});"]
        element = f"{got}(i)" if kind(field) == "list i32" else f"Check.of({got}(i))"
        return [f"for (int i = 0, length = {got}Length(); i < length; i++) {{", f"check += {element};", "}"]

    def elements(self, r: str, field: Field) -> tuple[str, str]:
        name, of = camel(field.name), self.reader.format(record_of(field).name)
        # One object for all elements, as the documentation advises.
        head = f"{of} {name} = new {of}();\n        for (int i = 0, length = {r}.{name}Length(); i < length; i++)"
        return head, f"{r}.{name}({name}, i)"


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source(
        "io.rawline.lab.format", "flatbuffers", "io.rawline.lab.Case", "io.rawline.lab.message.Check",
        "java.nio.ByteBuffer",
    )
    source.add("final class FlatBuffersCases {", "private FlatBuffersCases() {}")
    switch(source, "static FlatBuffers.Tables<?> of(Case kase)",
        {case.name: f"new {case.record.name}Tables()" for case in cases})
    style = Tables()
    for case in cases:
        top = case.record
        of, message = f"{FLAT}.{top.name}", plain(top, top)
        source.add("", f"private static final class {top.name}Tables extends FlatBuffers.Tables<{message}> {{")
        source.add(f"private static {of} open(byte[] bytes) {{",
            f"return {of}.getRootAs{top.name}(ByteBuffer.wrap(bytes));", "}")
        source.add("", "@Override", f"int write({message} m) {{", f"return write{top.name}(m);", "}")
        source.add("", "@Override", f"public {message} decode(byte[] bytes) {{",
            f"return plain{top.name}(open(bytes));", "}")
        source.add("", "@Override", "public long fields(byte[] bytes) {", f"return check{top.name}(open(bytes));", "}")
        *path, last = [camel(name) for name in case.one_field]
        one = "open(bytes)" + "".join(f".{name}()" for name in path) + f".{last}"
        one += "AsByteBuffer()" if case.one_type.kind == "string" else "()"
        source.add("", "@Override", "public long field(byte[] bytes) {", f"return Check.of({one});", "}")
        for record in records(top):
            _write(source, top, record)
            read_plain(source, style, top, record)
            read_check(source, style, record)
        source.add("}")
    source.add("}")
    return {"io.rawline.lab.format.FlatBuffersCases": source.text()}


def _write(source: Source, top: Record, record: Record) -> None:
    of = f"{FLAT}.{record.name}"
    source.add("", f"int write{record.name}({plain(top, record)} m) {{")
    offsets = {}
    for field in record.fields:
        if made := _offset(source, top, of, field):
            # An offset of 0 is not written: the field is absent.
            made = f"m.{field.name} == null ? 0 : {made}" if field.optional else made
            source.add(f"int {camel(field.name)} = {made};")
            offsets[field.name] = camel(field.name)
    values = {field.name: offsets.get(field.name, f"m.{field.name}") for field in record.fields}
    if not any(field.optional and field.name not in offsets for field in record.fields):
        source.add(f"return {of}.create{record.name}(builder, {', '.join(values.values())});", "}")
        return
    # Field by field, because the function that writes them all can't leave a scalar out.
    source.add(f"{of}.start{record.name}(builder);")
    for field in record.fields:
        add = [f"{of}.add{title(field.name)}(builder, {values[field.name]});"]
        source.add(*(add if field.name in offsets else if_present(field, add)))
    source.add(f"return {of}.end{record.name}(builder);", "}")


def _offset(source: Source, top: Record, of: str, field: Field) -> str | None:
    """The expression that writes a table's referenced value; None for a scalar."""
    inner, value = record_of(field), f"m.{field.name}"
    match kind(field):
        case "string":
            return f"builder.createString({value})"
        case "list string":
            return f"texts({value})"
        case "list i32" | "list f64":
            return f"{of}.create{title(field.name)}Vector(builder, {value})"
        case "map":
            return f"tags({value})"
        case "record":
            return f"write{inner.name}({value})"
        case "list record":
            source.add(f"int[] {camel(field.name)}Offsets = new int[{value}.size()];")
            source.add(f"for (int i = 0; i < {value}.size(); i++) {{")
            source.add(f"{camel(field.name)}Offsets[i] = write{inner.name}({value}.get(i));", "}")
            return f"builder.createVectorOfTables({camel(field.name)}Offsets)"
    return None
