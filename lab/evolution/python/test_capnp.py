"""Cap'n Proto: a field is its number, and the order of the numbers decides the position of each field."""

import capnp
import evolution
import pytest

# The lines after id and name, before and after the change. Numbers are never reused or skipped.
SCHEMAS = {
    "field added, with a default": ("", "grade @2 :Int32 = 5;"),
    "field added, without a default": ("", "grade @2 :Int32;"),
    "field removed": ("count @2 :Int32;", "obsoleteCount @2 :Int32;"),
    "field renamed": ("count @2 :Int32;", "quantity @2 :Int32;"),
    "i32 widened to i64": ("count @2 :Int32;", "count @2 :Int64;"),
    "i32 widened to i64, value beyond i32": ("count @2 :Int32;", "count @2 :Int64;"),
    "i64 changed to f64": ("count @2 :Int64;", "count @2 :Float64;"),
    "fields reordered": ("width @2 :Int32; height @3 :Int32;", "height @3 :Int32; width @2 :Int32;"),
    "optional made required": ("note @2 :Text;", "note @2 :Text;"),
    "enum symbol added": ("kind @2 :Kind;", "kind @2 :Kind;"),
}
KINDS = ["lamp", "desk", "chair"]


@pytest.fixture(scope="module")
def structs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("capnp")
    found = {}
    for index, (change, sides) in enumerate(SCHEMAS.items()):
        for side, fields in zip(("old", "new"), sides):
            kinds = " ".join(f"{kind} @{place};" for place, kind in enumerate(KINDS if side == "new" else KINDS[:2]))
            path = directory / f"change{index}_{side}.capnp"
            file_id = 0xA1B2C3D4E5F60000 + 2 * index + (side == "new")
            struct = f"struct Message {{ id @0 :Int64; name @1 :Text; {fields} }}"
            path.write_text(f"@{file_id:#x};\nenum Kind {{ {kinds} }}\n{struct}\n")
            found[change, side] = capnp.load(str(path)).Message
    return found


class CapnProto:
    name = "capnp"
    library = "pycapnp"
    notes = {
        "field added, with a default": "the next number",
        "field added, without a default": "the next number",
        "field removed": "can't be removed: it is renamed and stays",
        "field renamed": "names are not in the bytes",
        "i32 widened to i64": "its upper half is read from the next field",
        "i32 widened to i64, new bytes, old schema": "if it keeps its position, which depends on its width",
        "i32 widened to i64, value beyond i32": "cut to its low 32 bits",
        "i64 changed to f64": "the bits are read as the other type",
        "fields reordered": "their numbers stay",
        "optional made required, old bytes, new schema": "nothing is ever required",
        "enum symbol added, new bytes, old schema": "the number, without a name",
    }

    def __init__(self, structs):
        self.structs = structs

    def write(self, change, side, fields):
        return self.structs[change,
            side].new_message(**{name: lowered(name, value) for name, value in fields.items()}).to_bytes()

    def read(self, change, writer, reader, data):
        with self.structs[change, reader].from_bytes(data) as message:
            fields = {}
            for name in message.schema.fields:
                if name == "obsoleteCount":
                    continue
                if name == "kind":
                    fields[name] = KINDS[message.kind.raw].upper()
                else:
                    pointer = name in ("note", "name")
                    fields[name] = None if pointer and not message._has(name) else getattr(message, name)
            return fields


def lowered(name, value):
    return value.lower() if name == "kind" else value


def test_capnp(structs):
    evolution.run(CapnProto(structs))
