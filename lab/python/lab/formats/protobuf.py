"""Protocol Buffers: Google's library with its upb core in C, classes made by protoc from lab/schemas/cases.proto."""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

from lab.case import Case
from lab.places import GENERATED, SCHEMAS
from lab.row import Codec, Row
from lab.source import Style, build, compiled, read


class _MessageStyle(Style):
    """What protoc generates: attributes, and HasField for what may be absent."""

    def present(self, owner, field):
        return f"{owner}.HasField({field.name!r})"


def _codec(case: Case, kept: bool) -> Codec:
    message_class = getattr(_generated(), case.record.name)
    style = _MessageStyle()
    path = ".".join(case.one_field)
    source = (
        "def encode(message):\n    return Message(**message).SerializeToString()\n\n"
        f"{build(case, style)}\ndef decode(data):\n    return build(parse(data))\n\n"
        f"def field(data):\n    return parse(data).{path}\n\n"
        f"{read(case, style)}\ndef fields(data):\n    read(parse(data))\n"
    )
    names = {"Message": message_class, "parse": message_class.FromString}
    recorded = f"{read(case, style, recorded=True)}\ndef fields(data):\n    read(parse(data))\n"
    codec = Codec(
        native=lambda message: message,
        encode=compiled(source, "encode", **names),
        decode=compiled(source, "decode", **names),
        field=compiled(source, "field", **names),
        fields=compiled(source, "fields", **names),
        plain=lambda message: message,
        recorder=lambda take: compiled(recorded, "fields", take=take, **names),
        sources=[source],
    )
    if kept:
        codec.native = lambda message: message_class(**message)
        codec.encode = message_class.SerializeToString
        codec.decode = message_class.FromString
        codec.plain = compiled(source, "build", **names)
    return codec


def _generated():
    """The module that protoc generates from the schema, generated again if the schema is newer."""
    path, schema = GENERATED / "cases_pb2.py", SCHEMAS / "cases.proto"
    if not path.exists() or path.stat().st_mtime < schema.stat().st_mtime:
        _generate(schema, path)
    if "cases_pb2" not in sys.modules:
        spec = importlib.util.spec_from_file_location("cases_pb2", path)
        sys.modules["cases_pb2"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["cases_pb2"]


def _generate(schema: Path, path: Path) -> None:
    from grpc_tools import protoc

    path.parent.mkdir(parents=True, exist_ok=True)
    # Written to a temporary file and moved, so that another process never reads half of it.
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        if protoc.main(["protoc", f"--proto_path={schema.parent}", f"--python_out={folder}", str(schema)]) != 0:
            raise RuntimeError(f"protoc refused {schema}; its message is above")
        os.replace(Path(folder) / path.name, path)


ROWS = [
    Row(
        "protobuf", "protobuf", lambda case: _codec(case, kept=False), distribution="protobuf", heap_seen=False,
        note="upb; encode builds the message from a dict, decode makes a dict of it",
    ),
    Row(
        "protobuf", "protobuf", lambda case: _codec(case, kept=True), variant="message kept", distribution="protobuf",
        heap_seen=False, note="upb; the message is built before, and after parsing its fields are still in C",
    ),
]
