"""Conformance finds errors, and accepts no damaged file."""

import json

import pytest

from lab import conform
from lab.case import case

JSON_PINGPONG = r"^json/orjson pingpong base$"


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setattr(conform, "WIRE", tmp_path / "wire")
    monkeypatch.setattr(conform, "CONFORMANCE", tmp_path / "conformance.jsonl")
    return tmp_path


def lines(out):
    return [json.loads(line) for line in (out / "conformance.jsonl").read_text().splitlines()]


def test_what_was_written_is_read(out):
    assert conform.write(JSON_PINGPONG) == 0
    assert conform.read(JSON_PINGPONG) == 0
    side = {"library": "orjson", "variant": "", "language": "python"}
    assert lines(out) == [
        {"writer": side, "reader": side, "format": "json", "case": "pingpong", "size": "base", "ok": True, "error": ""}
    ]


@pytest.mark.parametrize(
    "damage, told",
    [
        (lambda data: data[:-1], "ends within a message"),
        (lambda data: data + b"\1", "ends within a length"),
        (lambda data: data.replace(b'"version":', b'"versioN":', 1), "version"),
        (lambda data: data[4 + int.from_bytes(data[:4], "little") :], "message 1"),
        (lambda data: data + conform.framed(b"{}"), "more than"),
        (lambda data: b"", "0 messages instead of"),
    ],
)
def test_another_languages_damaged_file_is_found(out, damage, told):
    messages = case("pingpong").messages("base")
    good = b"".join(conform.framed(json.dumps(message).encode()) for message in messages)
    folder = out / "wire" / "rust" / "serde_json"
    folder.mkdir(parents=True)
    (folder / "json.pingpong.base.bin").write_bytes(damage(good))
    assert conform.read(JSON_PINGPONG) == 1
    (line,) = lines(out)
    assert not line["ok"] and told in line["error"]


def test_packed_is_not_read_as_plain(out):
    for library in ("capnp", "capnp+packed"):
        folder = out / "wire" / "rust" / library
        folder.mkdir(parents=True)
        (folder / "capnp.pingpong.base.bin").write_bytes(b"")
    conform.read(r"^capnp/pycapnp pingpong base$")
    assert [line["writer"]["variant"] for line in lines(out)] == [""]
    conform.read(r"^capnp/pycapnp\+packed pingpong base$")
    assert [line["writer"]["variant"] for line in lines(out)] == ["", "packed"]
