"""Checks before any timing that written messages are read back equal, by every row and between languages."""

import json
import re
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from lab.case import Case, Type, case, case_names, difference
from lab.places import CONFORMANCE, WIRE, Missing
from lab.row import Codec, Row, rows
from lab.row import row as one_row

LANGUAGE = "python"
SIZES = ["base", "100", "10k"]


def write(pattern: str = "") -> int:
    """Writes every case's messages by every row to lab/out/wire/python; returns how many files could not be written."""
    failed = 0
    for row, case_here, size in _selected(pattern):
        folder = WIRE / LANGUAGE / row.name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{row.format}.{case_here.name}.{size}.bin"
        # Files of an earlier run must not be mistaken for this run's.
        path.unlink(missing_ok=True)
        try:
            codec = row.bind(case_here)
            data = b"".join(framed(codec.encode(codec.native(message))) for message in case_here.messages(size))
        except Missing:
            raise
        except Exception as error:
            failed += 1
            print(f"{row.id} cannot write {case_here.name} {size}: {error!r}", file=sys.stderr)
        else:
            path.write_bytes(data)
    return failed


def read(pattern: str = "") -> int:
    """Reads by every row what it wrote itself and what other languages wrote in its format, compares it with the cases'
    messages, and appends the outcome to lab/out/conformance.jsonl; returns how many pairs failed."""
    with ProcessPoolExecutor() as pool:
        read_by_rows = pool.map(_read, [row.id for row in rows()], repeat(pattern), repeat(WIRE))
        lines = [line for read_by_row in read_by_rows for line in read_by_row]
    CONFORMANCE.parent.mkdir(parents=True, exist_ok=True)
    with CONFORMANCE.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    failed = [line for line in lines if not line["ok"]]
    for line in failed:
        writer, reader = ("{language} {library} {variant}".format(**line[side]).strip()
            for side in ("writer", "reader"))
        print(f"{reader} reading {line['format']} {line['case']} {line['size']} of {writer}: {line['error']}",
            file=sys.stderr)
    print(f"{len(lines)} pairs of writer and reader checked, {len(failed)} failed", file=sys.stderr)
    return len(failed)


def _read(row_id: str, pattern: str, wire: Path) -> list[dict[str, Any]]:
    """A row's lines: the outcome for each file."""
    lines = []
    for row, case_here, size in _selected(pattern, row_id):
        codec = row.bind(case_here)
        messages = case_here.messages(size)
        for path in sorted(wire.glob(f"*/*/{row.format}.{case_here.name}.{size}.bin")):
            writer = _writer(path)
            if not _meant_for(row, writer):
                continue
            try:
                error = check(codec, case_here, path, messages)
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}".splitlines()[0]
            reader = {"language": LANGUAGE, "library": row.library, "variant": row.variant}
            line = {
                "writer": writer, "reader": reader, "format": row.format, "case": case_here.name, "size": size,
                "ok": not error, "error": error,
            }
            lines.append(line)
    return lines


def check(codec: Codec, case_here: Case, path: Path, messages: list[dict[str, Any]]) -> str:
    """The error in a file of messages, read by that codec; empty without an error."""
    type = Type("record", record=case_here.record)
    count = 0
    for count, data in enumerate(frames(path.read_bytes()), 1):
        if count > len(messages):
            return f"more than the case's {len(messages)} messages"
        expected = messages[count - 1]
        if different := difference(type, expected, codec.plain(codec.decode(data))):
            return f"message {count}: {different}"
        if codec.field(data) != case_here.one(expected):
            return f"message {count}: one field: expected {case_here.one(expected)!r}, found {codec.field(data)!r}"
        # Only that it succeeds; the tests check the values.
        if count <= 10:
            codec.fields(data)
    return "" if count == len(messages) else f"{count} messages instead of {len(messages)}"


def frames(data: bytes) -> Iterator[bytes]:
    """The messages of a file: each a length of four bytes, little-endian, and its bytes."""
    position = 0
    while position < len(data):
        if len(data) - position < 4:
            raise ValueError(f"the file ends within a length, at byte {position}: write it again")
        (length,) = struct.unpack_from("<I", data, position)
        position += 4
        if len(data) - position < length:
            raise ValueError(f"the file ends within a message, at byte {position}: write it again")
        yield data[position : position + length]
        position += length


def framed(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def _selected(pattern: str, row_id: str = "") -> Iterator[tuple[Row, Case, str]]:
    for row in [one_row(row_id)] if row_id else rows():
        for name in case_names():
            for size in SIZES:
                if re.search(pattern, f"{row.id} {name} {size}"):
                    yield row, case(name), size


def _meant_for(row: Row, writer: dict[str, str]) -> bool:
    """Whether a row reads that writer's messages. It skips those of other rows in the same language, and reads packed
    bytes only if it packs."""
    if ("packed" in writer["variant"]) != ("packed" in row.variant):
        return False
    return writer["language"] != LANGUAGE or (writer["library"], writer["variant"]) == (row.library, row.variant)


def _writer(path: Path) -> dict[str, str]:
    library, _, variant = path.parent.name.partition("+")
    return {"language": path.parent.parent.name, "library": library, "variant": variant}
