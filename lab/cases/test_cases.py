"""The messages are the same bytes everywhere, the first ones are the published ones, and every schema takes them."""

import hashlib
import io
import json
import pathlib
import subprocess
import sys

import fastavro
import pytest

CASES = pathlib.Path(__file__).resolve().parent
SCHEMAS = CASES.parent / "schemas"
NAMES = ["pingpong", "doubles", "strings", "zeek", "measurement", "order"]
SIZES_BYTES = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1m": 1_000_000}

# Of all files, in the order of their names. A change to the generated messages changes every figure that is measured
# on them.
DIGEST = "bb7eca82cf2685068b177b842b4754ab4b17cd066be0e357f51fea14bd9b8448"

# Raw Avro and Protocol Buffers of the published PingPong.
PINGPONG_AVRO = (
    "02043c52616e646f6d206d657373616765202d2031363030303030"
    "30303030303001060c4a6f686e2d300c4a6f686e2d310c4a6f686e2d32000a022c9a05"
    "b84586e406000adcd8ec48f51df23f8ecef9298ee30040c1ff56b263830a40a52a12b81a7e104050de09eeee7e144000"
)
PINGPONG_PROTOBUF = (
    "080110021a1e52616e646f6d206d657373616765202d2031363030303030"
    "30303030303020012a064a6f686e2d302a064a6f686e2d312a064a6f686e2d32"
    "32090116cd02dc2283b2033a28dcd8ec48f51df23f8ecef9298ee30040c1ff56b263830a40a52a12b81a7e104050de09eeee7e1440"
)


def described(case):
    return json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))


def compact(message):
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    out = tmp_path_factory.mktemp("cases")
    subprocess.run([sys.executable, CASES / "generate.py", "--out", out], check=True, stderr=subprocess.DEVNULL)
    return out


@pytest.fixture(scope="module")
def protobuf(tmp_path_factory):
    """The classes that protoc makes of cases.proto."""
    out = tmp_path_factory.mktemp("proto")
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{SCHEMAS}", f"--python_out={out}", "cases.proto"],
        check=True)
    sys.path.insert(0, str(out))
    import cases_pb2

    sys.path.remove(str(out))
    return cases_pb2


def avro(case, message):
    schema = fastavro.parse_schema(json.loads((SCHEMAS / f"{case}.avsc").read_text(encoding="utf-8")))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, message, strict_allow_default=True)
    again = fastavro.schemaless_reader(io.BytesIO(out.getvalue()), schema, None)
    return out.getvalue(), again


def without_absent(value):
    if isinstance(value, dict):
        return {key: without_absent(item) for key, item in value.items() if item is not None}
    return [without_absent(item) for item in value] if isinstance(value, list) else value


def of_protobuf(protobuf, case, message):
    """The message, through protobuf's own reading of JSON."""
    from google.protobuf import json_format

    return json_format.ParseDict(message, getattr(protobuf, described(case)["record"])())


def test_the_files_are_the_same_bytes_everywhere(files):
    digest = hashlib.sha256()
    for path in sorted(files.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    assert digest.hexdigest() == DIGEST


@pytest.mark.parametrize("case", NAMES)
def test_files_have_the_messages_and_bytes_that_they_say(files, case):
    for size, count in described(case)["messages"].items():
        lines = (files / f"{case}.{size}.jsonl").read_bytes().splitlines()
        assert len(lines) == count
        assert len(set(lines)) > count * 0.9, "messages vary"
        for line in lines if size in SIZES_BYTES else []:
            assert SIZES_BYTES[size] * 0.96 < len(line) < SIZES_BYTES[size] * 1.04 + 250, (size, len(line))


@pytest.mark.parametrize("case", NAMES)
def test_the_first_message_is_the_published_one(files, protobuf, case):
    first = described(case).get("first")
    if first is None:
        return
    with (files / f"{case}.base.jsonl").open("rb") as file:
        assert file.readline().rstrip(b"\n") == compact(first)
    found = {"json": compact(first), "avro": avro(case, first)[0]}
    found["protobuf"] = of_protobuf(protobuf, case, first).SerializeToString()
    for format, size_bytes in described(case)["first_bytes"].items():
        assert len(found[format]) == size_bytes, format
    if case == "pingpong":
        assert found["avro"].hex() == PINGPONG_AVRO
        assert found["protobuf"].hex() == PINGPONG_PROTOBUF
    if case == "measurement":
        article = (SCHEMAS / "../../vectors/avro/measurement.hex").read_text().split()
        assert found["avro"].hex() == "".join(article)


@pytest.mark.parametrize("case", NAMES)
@pytest.mark.parametrize("size", ["100", "base"])
def test_schemas_take_every_message(files, protobuf, case, size):
    for line in (files / f"{case}.{size}.jsonl").read_bytes().splitlines():
        message = json.loads(line)
        assert without_absent(avro(case, message)[1]) == message
        proto = of_protobuf(protobuf, case, message)
        assert type(proto).FromString(proto.SerializeToString()) == proto


def test_the_measurements_schema_is_the_vectors_one():
    name = "measurement.avsc"
    assert (SCHEMAS / name).read_bytes() == (SCHEMAS / "../../vectors/avro" / name).read_bytes()
