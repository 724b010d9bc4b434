"""The cases' messages in SBE, in the order of lab/schemas/cases.xml: fixed fields, then groups, then strings.

A required record inside is part of its owner's block, an optional one a group of none or one; an absent string is
empty,
an absent number NaN.
"""

import xml.etree.ElementTree as xml

from lab.case import Case, Field, Record
from lab.places import SCHEMAS
from java import Source, camel, kind, plain, record_of, switch, title

SBE = "io.rawline.lab.sbe"


def generate(cases: list[Case]) -> dict[str, str]:
    source = Source("io.rawline.lab.format", "sbe", "io.rawline.lab.Case", "io.rawline.lab.message.Check", f"{SBE}.*")
    source.add("final class SbeCases {", "private SbeCases() {}")
    switch(source, "static Sbe.Flyweights<?> of(Case kase)",
        {case.name: f"new {case.record.name}Flyweights()" for case in cases})
    schema = xml.parse(SCHEMAS / "cases.xml").getroot()
    messages = {message.get("name"): message for message in schema if message.tag.endswith("}message")}
    for case in cases:
        _flyweights(source, case, messages[case.record.name])
    source.add("}")
    return {"io.rawline.lab.format.SbeCases": source.text()}


def _named(record: Record) -> dict[str, tuple[str, Field]]:
    """SBE's name of each field: where the plain object has it, and the field."""
    named = {}
    for field in record.fields:
        named[camel(field.name)] = (field.name, field)
        if kind(field) == "record" and not field.optional:
            for inner in field.type.record.fields:
                named[camel(f"{field.name}_{inner.name}")] = (f"{field.name}.{inner.name}", inner)
    return named


def _flyweights(source: Source, case: Case, message: xml.Element) -> None:
    top = case.record
    encoder, decoder, of = f"{top.name}Encoder", f"{top.name}Decoder", plain(top, top)
    source.add("", f"private static final class {top.name}Flyweights extends Sbe.Flyweights<{of}> {{")
    source.add(f"private final {encoder} encoder = new {encoder}();",
        f"private final {decoder} decoder = new {decoder}();")
    source.add("", "@Override", f"public Object encode({of} m) {{",
        "encoder.wrapAndApplyHeader(out, 0, headerEncoder);")
    _write(source, encoder, "encoder", "m", top, top, message)
    source.add("return written(encoder.limit());", "}", "", f"private {decoder} open(byte[] bytes) {{",
        "in.wrap(bytes);")
    source.add("return decoder.wrapAndApplyHeader(in, 0, headerDecoder);", "}")
    source.add("", "@Override", f"public {of} decode(byte[] bytes) {{", f"{decoder} d = open(bytes);",
        f"{of} m = new {of}();")
    for field in top.fields:
        if kind(field) == "record" and not field.optional:
            source.add(f"m.{field.name} = new {plain(top, field.type.record)}();")
    _read(source, decoder, "d", "m", top, top, message)
    source.add("return m;", "}", "", "@Override", "public long fields(byte[] bytes) {", f"{decoder} d = open(bytes);",
        "long check = 0;")
    _check(source, decoder, "d", top, message)
    source.add("return check;", "}", "", "@Override", "public long field(byte[] bytes) {",
        f"{decoder} d = open(bytes);")
    _one(source, decoder, camel("_".join(case.one_field)), message)
    source.add("}", "}")


def _write(source: Source, encoder: str, to: str, m: str, top: Record, record: Record, block: xml.Element) -> None:
    named = _named(record)
    for part in block:
        name = part.get("name")
        path, field = named[name]
        value = f"{m}.{path}"
        if part.tag == "field":
            null = f"{encoder}.{name}NullValue()"
            value = f"{value} == null ? {null} : {value}" if field.optional else value
            source.add(f"{to}.{name}({f'of({value})' if kind(field) == 'bool' else value});")
        elif part.tag == "data":
            source.add(f"{to}.{name}({f'orEmpty({value})' if field.optional else value});")
        else:
            _write_group(source, encoder, to, value, top, field, part)


def _write_group(source: Source, encoder: str, to: str, value: str, top: Record, field: Field,
    group: xml.Element) -> None:
    name = group.get("name")
    inner = f"{encoder}.{title(name)}Encoder"
    if kind(field) == "record":
        source.add(f"{inner} {name} = {to}.{name}Count({value} == null ? 0 : 1);", f"if ({value} != null) {{",
            f"{name}.next();")
        _write(source, inner, name, value, top, field.type.record, group)
        source.add("}")
        return
    count = f"{value}.length" if kind(field) in ("list i32", "list f64") else f"{value}.size()"
    source.add(f"{inner} {name} = {to}.{name}Count({count});")
    if kind(field) == "map":
        source.add(f"for (java.util.Map.Entry<String, String> entry : {value}.entrySet()) {{")
        source.add(f"{name}.next().key(entry.getKey()).value(entry.getValue());", "}")
    elif kind(field) == "list record":
        source.add(f"for ({plain(top, record_of(field))} element : {value}) {{", f"{name}.next();")
        _write(source, inner, name, "element", top, record_of(field), group)
        source.add("}")
    else:
        element = {"list string": "String", "list i32": "int", "list f64": "double"}[kind(field)]
        source.add(f"for ({element} element : {value}) {{", f"{name}.next().{group[0].get('name')}(element);", "}")


def _read(source: Source, decoder: str, d: str, m: str, top: Record, record: Record, block: xml.Element) -> None:
    named = _named(record)
    for part in block:
        name = part.get("name")
        path, field = named[name]
        to = f"{m}.{path}"
        if part.tag == "field" and field.optional:
            source.add(f"{to} = orAbsent({d}.{name}());")
        elif part.tag == "field":
            source.add(f"{to} = {d}.{name}(){' == BooleanType.T' if kind(field) == 'bool' else ''};")
        elif part.tag == "data":
            source.add(f"{to} = {f'orAbsent({d}.{name}())' if field.optional else f'{d}.{name}()'};")
        else:
            _read_group(source, decoder, d, to, top, field, part)


def _read_group(source: Source, decoder: str, d: str, to: str, top: Record, field: Field, group: xml.Element) -> None:
    name, child = group.get("name"), group[0].get("name")
    inner = f"{decoder}.{title(name)}Decoder"
    source.add(f"{inner} {name} = {d}.{name}();")
    match kind(field):
        case "record" | "list record":
            of, is_list = plain(top, record_of(field)), kind(field) == "list record"
            if is_list:
                source.add(f"{to} = new java.util.ArrayList<>({name}.count());")
            source.add(f"while ({name}.hasNext()) {{", f"{name}.next();", f"{of} element = new {of}();")
            _read(source, inner, name, "element", top, record_of(field), group)
            source.add(f"{to}.add(element);" if is_list else f"{to} = element;", "}")
        case "map":
            source.add(f"{to} = new java.util.LinkedHashMap<>();", f"while ({name}.hasNext()) {{",
                f"String key = {name}.next().key();")
            source.add(f"{to}.put(key, {name}.value());", "}")
        case "list string":
            source.add(f"{to} = new java.util.ArrayList<>({name}.count());", f"while ({name}.hasNext()) {{")
            source.add(f"{to}.add({name}.next().{child}());", "}")
        case _:
            element = "int" if kind(field) == "list i32" else "double"
            source.add(f"{to} = new {element}[{name}.count()];", f"for (int i = 0; i < {to}.length; i++) {{")
            source.add(f"{to}[i] = {name}.next().{child}();", "}")


def _check(source: Source, decoder: str, d: str, record: Record, block: xml.Element) -> None:
    named = _named(record)
    for part in block:
        name = part.get("name")
        _, field = named[name]
        if part.tag == "data":
            source.add(f"{d}.wrap{title(name)}(view);", "check += checkView();")
        elif part.tag == "field":
            got = f"{d}.{name}()"
            if kind(field) == "bool":
                got = f"Check.of({got} == BooleanType.T)"
            elif kind(field) == "f64":
                got = f"checkOrAbsent({got})" if field.optional else f"Check.of({got})"
            source.add(f"check += {got};")
        else:
            _check_group(source, decoder, d, field, part)


def _check_group(source: Source, decoder: str, d: str, field: Field, group: xml.Element) -> None:
    name = group.get("name")
    inner = f"{decoder}.{title(name)}Decoder"
    source.add(f"{inner} {name} = {d}.{name}();", f"while ({name}.hasNext()) {{", f"{name}.next();")
    if record_of(field):
        _check(source, inner, name, record_of(field), group)
    elif group[0].tag == "data":
        for part in group:
            source.add(f"{name}.wrap{title(part.get('name'))}(view);", "check += checkView();")
    else:
        got = f"{name}.{group[0].get('name')}()"
        source.add(f"check += {got if kind(field) == 'list i32' else f'Check.of({got})'};")
    source.add("}")


def _one(source: Source, decoder: str, wanted: str, message: xml.Element) -> None:
    """Reads the case's one field: skips the groups and strings before it, which is how the format works."""
    for part in message:
        name = part.get("name")
        if part.tag == "field" and name == wanted:
            source.add(f"return Check.of(d.{name}());")
            return
        if part.tag == "data" and name == wanted:
            source.add(f"d.wrap{title(name)}(view);", "return checkView();")
            return
        if part.tag == "data":
            source.add(f"d.skip{title(name)}();")
        elif part.tag == "group":
            inner = f"{decoder}.{title(name)}Decoder"
            strings = [child.get("name") for child in part if child.tag == "data"]
            if strings:
                source.add(f"{inner} {name} = d.{name}();", f"while ({name}.hasNext()) {{", f"{name}.next();")
                source.add(*(f"{name}.skip{title(string)}();" for string in strings), "}")
            else:
                # Elements of one size: the limit moves past them all.
                source.add(f"int {name} = d.{name}().count();",
                    f"d.limit(d.limit() + {name} * {inner}.sbeBlockLength());")
    raise ValueError(f"cases.xml has no {wanted}")
