#!/usr/bin/env python3
"""Writes the Java classes of a Cap'n Proto schema, for the runtime org.capnproto:runtime.

    capnp compile -ocapnp cases.capnp | python3 capnp_java.py PACKAGE CLASS > CLASS.java

Cap'n Proto's own generator for Java is a C++ program that no package registry has. This one supports what the
laboratory's schema uses: structs of integers, floats, booleans, text, structs, lists, and groups that are one union.
The classes have the methods that the project's generator gives them: Reader, Builder, factory, getX, hasX, setX, initX.
Its input is the compiler's own print of the schema, whose comments say where each field lies.
"""

import dataclasses
import re
import sys

STRUCT = re.compile(r"struct (\w+) @\w+ \{  # (\d+) bytes, (\d+) ptrs")
GROUP = re.compile(r"(\w+) :group \{")
UNION = re.compile(r"union \{  # tag bits \[(\d+), \d+\)")
DATA_FIELD = re.compile(r"(\w+) @\d+ :(\w+);  # bits\[(\d+), (\d+)\)(?:, union tag = (\d+))?$")
POINTER_FIELD = re.compile(r"(\w+) @\d+ :([\w()]+);  # ptr\[(\d+)\]$")
PASSED_OVER = re.compile(r"@0x|#|\}|$")

# A scalar's Java type, the runtime's name for it, its zero and its width.
SCALARS = {
    "Bool": ("boolean", "Boolean", "false", 1),
    "Int32": ("int", "Int", "0", 32),
    "Int64": ("long", "Long", "0L", 64),
    "Float64": ("double", "Double", "0.0", 64),
}
LISTS = {"Text": "TextList", "Int32": "PrimitiveList.Int", "Int64": "PrimitiveList.Long",
    "Float64": "PrimitiveList.Double"}


@dataclasses.dataclass
class Field:
    name: str
    type: str
    # In units of the field's own width; for a pointer its index.
    offset: int
    tag: int | None = None

    @property
    def title(self) -> str:
        return self.name[0].upper() + self.name[1:]


@dataclasses.dataclass
class Group:
    name: str
    # In units of 16 bits.
    tag_offset: int = 0
    fields: list[Field] = dataclasses.field(default_factory=list)

    @property
    def title(self) -> str:
        return self.name[0].upper() + self.name[1:]


@dataclasses.dataclass
class Struct:
    name: str
    words: int
    pointers: int
    fields: list[Field] = dataclasses.field(default_factory=list)
    groups: list[Group] = dataclasses.field(default_factory=list)


def parse(text: str) -> list[Struct]:
    structs: list[Struct] = []
    group: Group | None = None
    for line in text.splitlines():
        line = line.strip()
        if match := STRUCT.match(line):
            structs.append(Struct(match[1], int(match[2]) // 8, int(match[3])))
            group = None
        elif match := GROUP.match(line):
            group = Group(match[1])
            structs[-1].groups.append(group)
        elif match := UNION.match(line):
            if group is None:
                raise SystemExit(f"a union outside of a group is not supported: {line}")
            group.tag_offset = int(match[1]) // 16
        elif match := DATA_FIELD.match(line):
            name, type_name, start, end, tag = match.groups()
            width = int(end) - int(start)
            field = Field(name, type_name, int(start) // width if width else 0, None if tag is None else int(tag))
            (structs[-1].fields if tag is None else group.fields).append(field)
        elif match := POINTER_FIELD.match(line):
            structs[-1].fields.append(Field(match[1], match[2], int(match[3])))
        elif not PASSED_OVER.match(line):
            raise SystemExit(f"this line of the schema is not supported: {line}")
    return structs


class Writer:
    """Lines of Java, indented by the braces they open."""

    def __init__(self):
        self.lines: list[str] = []
        self.depth = 0

    def add(self, *lines: str) -> None:
        for line in lines:
            if line.startswith("}"):
                self.depth -= 1
            self.lines.append(("    " * self.depth + line) if line else "")
            if line.endswith("{"):
                self.depth += 1

    def method(self, head: str, *body: str) -> None:
        self.add(f"public {head} {{", *body, "}")


def write_struct(out: Writer, struct: Struct) -> None:
    out.add("", f"public static final class {struct.name} {{", f"private {struct.name}() {{", "}", "")
    size = f"new StructSize((short) {struct.words}, (short) {struct.pointers})"
    out.add(f"public static final StructSize STRUCT_SIZE = {size};")
    out.add("public static final Factory factory = new Factory();")
    out.add("public static final StructList.Factory<Builder, Reader> listFactory = new StructList.Factory<>(factory);")
    out.add("", "public static final class Factory extends StructFactory<Builder, Reader> {")
    out.add("@Override")
    out.method(f"Reader constructReader({READER_PARAMETERS})", f"return new Reader({READER_ARGUMENTS});")
    out.add("", "@Override")
    out.method(f"Builder constructBuilder({BUILDER_PARAMETERS})", f"return new Builder({BUILDER_ARGUMENTS});")
    out.add("", "@Override")
    out.method("StructSize structSize()", "return STRUCT_SIZE;")
    out.add("", "@Override")
    out.method("Reader asReader(Builder builder)", "return builder.asReader();")
    out.add("}", "")
    for side in ("Reader", "Builder"):
        open_side(out, side)
        for field in struct.fields:
            write_field(out, side, field)
        for group in struct.groups:
            arguments = READER_ARGUMENTS if side == "Reader" else BUILDER_ARGUMENTS
            fresh = f"return new {group.title}.{side}({arguments});"
            out.add("")
            out.method(f"{group.title}.{side} get{group.title}()", fresh)
            if side == "Builder":
                out.add("")
                zeros = [f"_set{SCALARS[f.type][1]}Field({f.offset}, {SCALARS[f.type][2]});" for f in group.fields
                    if f.type != "Void"]
                out.method(f"{group.title}.{side} init{group.title}()",
                    f"_setShortField({group.tag_offset}, (short) 0);", *zeros, fresh)
        out.add("}", "")
    for group in struct.groups:
        write_group(out, group)
    out.add("}")


READER_PARAMETERS = "SegmentReader segment, int data, int pointers, int dataSize, short pointerCount, int nestingLimit"
READER_ARGUMENTS = "segment, data, pointers, dataSize, pointerCount, nestingLimit"
BUILDER_PARAMETERS = "SegmentBuilder segment, int data, int pointers, int dataSize, short pointerCount"
BUILDER_ARGUMENTS = "segment, data, pointers, dataSize, pointerCount"


def open_side(out: Writer, side: str) -> None:
    parameters, arguments = (READER_PARAMETERS, READER_ARGUMENTS) if side == "Reader" else (BUILDER_PARAMETERS,
        BUILDER_ARGUMENTS)
    out.add(f"public static final class {side} extends Struct{side} {{")
    out.add(f"{side}({parameters}) {{", f"super({arguments});", "}")
    if side == "Builder":
        out.add("")
        out.method("Reader asReader()", f"return new Reader({BUILDER_ARGUMENTS}, Integer.MAX_VALUE);")


def write_group(out: Writer, group: Group) -> None:
    out.add(f"public static final class {group.title} {{", f"private {group.title}() {{", "}", "")
    out.add("public enum Which {")
    for field in sorted(group.fields, key=lambda field: field.tag):
        out.add(field.name.upper() + ",")
    out.add("_NOT_IN_SCHEMA", "}", "")
    for side in ("Reader", "Builder"):
        open_side(out, side)
        out.add("")
        cases = [f"case {field.tag}: return Which.{field.name.upper()};" for field in group.fields]
        out.method("Which which()", f"switch (_getShortField({group.tag_offset})) {{", *cases,
            "default: return Which._NOT_IN_SCHEMA;", "}")
        for field in group.fields:
            out.add("")
            out.method(f"boolean is{field.title}()", f"return which() == Which.{field.name.upper()};")
            write_field(out, side, field, group)
        out.add("}", "")
    out.add("}")


def write_field(out: Writer, side: str, field: Field, group: Group | None = None) -> None:
    title, at = field.title, field.offset
    tag = [f"_setShortField({group.tag_offset}, (short) {field.tag});"] if group else []
    checked = [f'assert is{title}() : "check which() before reading a union\'s field";'] if group else []
    out.add("")
    if field.type == "Void":
        out.method(f"org.capnproto.Void get{title}()", *checked, "return org.capnproto.Void.VOID;")
        if side == "Builder":
            out.add("")
            out.method(f"void set{title}(org.capnproto.Void value)", *tag)
        return
    if field.type in SCALARS:
        java, runtime, _, _ = SCALARS[field.type]
        out.method(f"{java} get{title}()", *checked, f"return _get{runtime}Field({at});")
        if side == "Builder":
            out.add("")
            out.method(f"void set{title}({java} value)", *tag, f"_set{runtime}Field({at}, value);")
        return
    if group:
        raise SystemExit(f"pointers in unions are not supported: {field.name}")
    if field.type == "Text":
        factory, owner, missing = "Text.factory", "Text", ", null, 0, 0"
    elif match := re.fullmatch(r"List\((\w+)\)", field.type):
        element = match[1]
        missing = ", null, 0"
        if element in LISTS:
            factory, owner = f"{LISTS[element]}.factory", LISTS[element]
        else:
            factory, owner = f"{element}.listFactory", None
    else:
        factory, owner, missing = f"{field.type}.factory", field.type, ", null, 0"
    typed = f"{owner}.{side}" if owner else f"StructList.{side}<{element}.{side}>"
    if owner is None and side == "Builder":
        typed = f"StructList.Builder<{element}.Builder>"
    out.method(f"boolean has{title}()", f"return !_pointerFieldIsNull({at});")
    out.add("")
    out.method(f"{typed} get{title}()", f"return _getPointerField({factory}, {at}{missing});")
    if side == "Reader":
        return
    reader = f"{owner}.Reader" if owner else f"StructList.Reader<{element}.Reader>"
    out.add("")
    out.method(f"void set{title}({reader} value)", f"_setPointerField({factory}, {at}, value);")
    out.add("")
    if field.type == "Text":
        out.method(f"void set{title}(String value)", f"_setPointerField({factory}, {at}, new Text.Reader(value));")
        out.add("")
    if field.type == "Text" or field.type.startswith("List("):
        out.method(f"{typed} init{title}(int size)", f"return _initPointerField({factory}, {at}, size);")
    else:
        out.method(f"{typed} init{title}()", f"return _initPointerField({factory}, {at}, 0);")


def main() -> None:
    package, class_name = sys.argv[1:]
    structs = parse(sys.stdin.read())
    if not structs:
        raise SystemExit("no struct found: pass the output of capnp compile -ocapnp")
    out = Writer()
    out.add("// Generated by lab/schemas/capnp_java.py from cases.capnp; don't change it by hand.")
    out.add(f"package {package};", "")
    imports = "PrimitiveList SegmentBuilder SegmentReader StructBuilder StructFactory StructList StructReader"
    for used in [*imports.split(), "StructSize", "Text", "TextList"]:
        out.add(f"import org.capnproto.{used};")
    out.add("", '@SuppressWarnings("all")', f"public final class {class_name} {{", f"private {class_name}() {{", "}")
    for struct in structs:
        write_struct(out, struct)
    out.add("}")
    print("\n".join(out.lines))


if __name__ == "__main__":
    main()
