"""The cases' messages as an application would hold them: plain objects with public fields, named as on the wire."""

from lab.case import Case, Field, Record
from java import LISTS, MESSAGE, PRIMITIVES, Source, is_number, kind, record_of, records, total


def generate(cases: list[Case]) -> dict[str, str]:
    return {f"{MESSAGE}.{case.record.name}": _message(case) for case in cases}


def _message(case: Case) -> str:
    source = Source(
        MESSAGE, "messages", "static com.dslplatform.json.JsonAttribute.IncludePolicy.ALWAYS",
        "com.dslplatform.json.CompiledJson", "com.dslplatform.json.JsonAttribute", "io.rawline.value.GenerateCodec",
        "io.rawline.value.ValueField", "java.io.Serializable",
    )  # fmt: skip
    top, *inner = records(case.record)
    source.add("@CompiledJson", "@GenerateCodec", f"public final class {top.name} implements Message, Serializable {{")
    _fields(source, top)
    one = ".".join(case.one_field)
    source.add("", "@Override", "public long checkField() {", f"return Check.of({one});", "}", "", "@Override")
    _check(source, "public ", top)
    for record in inner:
        source.add("", "@CompiledJson", "@GenerateCodec",
            f"public static final class {record.name} implements Serializable {{")
        _fields(source, record)
        source.add("")
        _check(source, "", record)
        source.add("}")
    source.add("}")
    return source.text()


def _fields(source: Source, record: Record) -> None:
    source.add("private static final long serialVersionUID = 1;", "")
    for index, field in enumerate(record.fields, 1):
        # Without an index DSL-JSON writes fields in alphabetical order. An absent field is null and is not written.
        policy = "" if field.optional else ", includeToMinimal = ALWAYS"
        missing = "@ValueField(optional = true) " if field.optional else ""
        source.add(f"{missing}@JsonAttribute(index = {index}{policy}) public {_type(field)} {field.name};")


def _type(field: Field) -> str:
    if kind(field) == "map":
        return "java.util.Map<String, String>"
    if kind(field) == "record":
        return record_of(field).name
    if kind(field) == "list record":
        return f"java.util.List<{record_of(field).name}>"
    if field.type.kind == "list":
        return LISTS[field.type.item.kind]
    return "Double" if field.optional and kind(field) == "f64" else PRIMITIVES[kind(field)]


def _check(source: Source, visibility: str, record: Record) -> None:
    source.add(f"{visibility}long checkFields() {{")
    lists = [field for field in record.fields if kind(field) == "list record"]
    source.add(f"long check = {total([_part(field) for field in record.fields if field not in lists])};")
    for field in lists:
        source.add(f"for ({record_of(field).name} element : {field.name}) {{", "check += element.checkFields();", "}")
    source.add("return check;", "}")


def _part(field: Field) -> str:
    if kind(field) == "record":
        found = f"{field.name}.checkFields()"
        return f"({field.name} == null ? 0 : {found})" if field.optional else found
    return field.name if is_number(field) else f"Check.of({field.name})"
