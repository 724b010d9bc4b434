"""Protocol Buffers: a field is its number; numbers that the reader doesn't know are kept as unknown fields."""

import importlib
import subprocess
import sys

import evolution
import pytest

# The lines between id and name, before and after the change. A field in both keeps its number, as recommended.
SCHEMAS = {
    "field added, with a default": ("", "optional int32 grade = 3 [default = 5];"),
    "field added, without a default": ("", "int32 grade = 3;"),
    "field removed": ("int32 count = 3;", "reserved 3;"),
    "field renamed": ("int32 count = 3;", "int32 quantity = 3;"),
    "i32 widened to i64": ("int32 count = 3;", "int64 count = 3;"),
    "i32 widened to i64, value beyond i32": ("int32 count = 3;", "int64 count = 3;"),
    "i64 changed to f64": ("int64 count = 3;", "double count = 3;"),
    "fields reordered": ("int32 width = 3; int32 height = 4;", "int32 height = 4; int32 width = 3;"),
    "optional made required": ("optional string note = 3;", "required string note = 3;"),
    "enum symbol added": ("enum Kind { LAMP = 0; DESK = 1; } Kind kind = 3;",
        "enum Kind { LAMP = 0; DESK = 1; CHAIR = 2; } Kind kind = 3;"),
}
# These two need what only proto2 has: defaults other than zero, required fields.
PROTO2 = ("field added, with a default", "optional made required")
KINDS = {"LAMP": 0, "DESK": 1, "CHAIR": 2}


def source(change, side):
    syntax, label = ("proto2", "optional ") if change in PROTO2 else ("proto3", "")
    fields = SCHEMAS[change][side == "new"]
    # A package a schema: all of them are loaded into one process.
    lines = [f'syntax = "{syntax}";', f"package {evolution.stem(change, side)};", "message Message {"]
    return "\n".join([*lines, f"{label}int64 id = 1;", fields, f"{label}string name = 2;", "}"])


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """The classes that protoc makes, by change and side."""
    directory = tmp_path_factory.mktemp("proto")
    keys = [(change, side) for change in SCHEMAS for side in ("old", "new")]
    for key in keys:
        (directory / f"{evolution.stem(*key)}.proto").write_text(source(*key))
    files = [f"{evolution.stem(*key)}.proto" for key in keys]
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{directory}", f"--python_out={directory}", *files]
    subprocess.run(command, check=True, cwd=directory)
    sys.path.insert(0, str(directory))
    yield {key: importlib.import_module(f"{evolution.stem(*key)}_pb2").Message for key in keys}
    sys.path.remove(str(directory))


class Protobuf:
    name = "protobuf"
    library = "protobuf"
    notes = {
        "field added, with a default, old bytes, new schema": "defaults other than zero only in proto2 and editions",
        "field added, with a default, new bytes, old schema": "kept as unknown and written again",
        "field added, without a default, old bytes, new schema": "reads as zero",
        "field added, without a default, new bytes, old schema": "kept as unknown and written again",
        "field removed": "reserved: its number must never be used again",
        "field renamed": "names are not in the bytes",
        "i32 widened to i64, value beyond i32": "cut to its low 32 bits",
        "i64 changed to f64": "another wire type: kept as unknown, the field reads as zero",
        "fields reordered": "their numbers stay",
        "optional made required, old bytes, new schema": "Python checks only on request; C++ and Java refuse the bytes",
        "enum symbol added, new bytes, old schema": "the number is kept, without a name; proto2 keeps it as unknown",
    }

    def __init__(self, messages):
        self.messages = messages

    def write(self, change, side, fields):
        numbers = {name: KINDS[value] if name == "kind" else value for name, value in fields.items()}
        return self.messages[change, side](**numbers).SerializeToString()

    def read(self, change, writer, reader, data):
        read = self.messages[change, reader].FromString(data)
        fields = {}
        for field in read.DESCRIPTOR.fields:
            # A field with presence without an explicit default is absent, not empty.
            missing = field.has_presence and not field.has_default_value and not read.HasField(field.name)
            fields[field.name] = None if missing else getattr(read, field.name)
        if "kind" in fields:
            fields["kind"] = {number: name for name, number in KINDS.items()}[fields["kind"]]
        return fields


def test_protobuf(messages):
    evolution.run(Protobuf(messages))


def test_a_missing_required_field_is_reported(messages):
    change = "optional made required"
    data = Protobuf(messages).write(change, "old", evolution.message())
    assert not messages[change, "new"].FromString(data).IsInitialized()


def test_what_the_old_schema_does_not_know_is_written_again(messages):
    change = "field added, without a default"
    data = Protobuf(messages).write(change, "new", evolution.message(grade=9))
    again = messages[change, "old"].FromString(data).SerializeToString()
    assert messages[change, "new"].FromString(again).grade == 9
