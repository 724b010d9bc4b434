"""Formats whose compilers generate classes with a getter for each field: to plain objects, and to checks of every
field.

A format differs from the others in a few expressions, which its `Style` has.
"""

from lab.case import Field, Record
from java import Source, is_number, kind, plain, record_of, title, total


class Style:
    """How the objects of a format are read, as Java expressions. `r` is the object."""

    # The format's class of a record, with the record's name in the braces.
    reader = "{}"

    def get(self, r: str, field: Field) -> str:
        """The field; a string as a String, a list or map as the plain object has it."""
        return f"{r}.get{title(field.name)}()"

    def has(self, r: str, field: Field) -> str:
        """Whether an optional field is present."""
        return f"{r}.has{title(field.name)}()"

    def optional(self, r: str, field: Field) -> str:
        """The value of an optional field that is present."""
        return self.get(r, field)

    def check(self, r: str, field: Field) -> str:
        """The check of a string, a bool or an f64."""
        return f"Check.of({self.get(r, field)})"

    def check_loop(self, r: str, field: Field) -> list[str]:
        """Statements that add the elements of a list of scalars, or the entries of a map, to `check`."""
        raise NotImplementedError

    def elements(self, r: str, field: Field) -> tuple[str, str]:
        """A loop over a list of records: its head, and the element."""
        return f"for ({self.reader.format(record_of(field).name)} element : {self.get(r, field)})", "element"


def read_plain(source: Source, style: Style, top: Record, record: Record) -> None:
    """A method `plainRECORD` from the format's object to the plain object."""
    of = plain(top, record)
    source.add("", f"static {of} plain{record.name}({style.reader.format(record.name)} r) {{", f"{of} m = new {of}();")
    for field in record.fields:
        inner, to = record_of(field), f"m.{field.name}"
        if kind(field) == "record":
            made = f"plain{inner.name}({style.get('r', field)})"
            source.add(f"{to} = {style.has('r', field)} ? {made} : null;" if field.optional else f"{to} = {made};")
        elif kind(field) == "list record":
            head, element = style.elements("r", field)
            source.add(f"{to} = new java.util.ArrayList<>();", f"{head} {{",
                f"{to}.add(plain{inner.name}({element}));", "}")
        elif field.optional:
            source.add(f"{to} = {style.has('r', field)} ? {style.optional('r', field)} : null;")
        else:
            source.add(f"{to} = {style.get('r', field)};")
    source.add("return m;", "}")


def read_check(source: Source, style: Style, record: Record) -> None:
    """A method `checkRECORD`: the sum of the checks of every field, each read once."""
    source.add("", f"static long check{record.name}({style.reader.format(record.name)} r) {{")
    parts, loops = [], []
    for field in record.fields:
        inner = record_of(field)
        if kind(field) == "record":
            made = f"check{inner.name}({style.get('r', field)})"
            parts.append(f"({style.has('r', field)} ? {made} : 0)" if field.optional else made)
        elif kind(field) == "list record":
            head, element = style.elements("r", field)
            loops += [f"{head} {{", f"check += check{inner.name}({element});", "}"]
        elif field.type.kind in ("list", "map"):
            loops += style.check_loop("r", field)
        elif field.optional and kind(field) == "f64":
            parts.append(f"({style.has('r', field)} ? Check.of({style.optional('r', field)}) : 0)")
        else:
            parts.append(style.get("r", field) if is_number(field) else style.check("r", field))
    source.add(f"long check = {total(parts)};", *loops, "return check;", "}")
