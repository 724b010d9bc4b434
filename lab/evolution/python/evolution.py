"""Outcomes of reading bytes with another schema than they were written with, recorded and compared with the expected
ones."""

import dataclasses
import json
import os
import pathlib
import typing

EVOLUTION = pathlib.Path(__file__).resolve().parent.parent
OUT = EVOLUTION.parent / "out" / "evolution.jsonl"
OLD_TO_NEW = "old bytes, new schema"
NEW_TO_OLD = "new bytes, old schema"
GRADE_DEFAULT = 5

Fields = dict[str, typing.Any]


@dataclasses.dataclass(frozen=True)
class Change:
    """A change, with the messages written before and after it."""

    name: str
    old: Fields
    new: Fields
    # A field's names before and after the change.
    renamed: tuple[str, str] | None = None
    # If the change shows in one direction only.
    only: str | None = None


def message(**fields) -> Fields:
    return {"id": 7, **fields, "name": "lamp"}


CHANGES = [
    Change("field added, with a default", message(), message(grade=9)),
    Change("field added, without a default", message(), message(grade=9)),
    Change("field removed", message(count=1234), message()),
    Change("field renamed", message(count=1234), message(quantity=1234), renamed=("count", "quantity")),
    # Below zero: a number whose missing upper half is read as zeros shows.
    Change("i32 widened to i64", message(count=-1234), message(count=-1234)),
    Change("i64 changed to f64", message(count=1234), message(count=12.5)),
    Change("fields reordered", message(width=30, height=40), message(width=30, height=40)),
    Change("optional made required", message(), message(note="by the door")),
    Change("enum symbol added", message(kind="DESK"), message(kind="CHAIR")),
    Change("i32 widened to i64, value beyond i32", message(), message(count=5_000_000_000), only=NEW_TO_OLD),
]


class Format(typing.Protocol):
    """A format with a schema on each side. A schema's key is its change's name and "old" or "new"."""

    name: str
    library: str
    notes: dict[str, str]

    def write(self, change: str, side: str, fields: Fields) -> bytes: ...

    def read(self, change: str, writer: str, reader: str, data: bytes) -> Fields: ...


def stem(change: str, side: str) -> str:
    """The name of a schema's file."""
    return "".join(letter if letter.isalnum() else "_" for letter in f"{change}_{side}")


def run(format: Format) -> None:
    """Every change in both directions; fails at the end if an outcome was not the expected one."""
    unexpected = []
    for change in CHANGES:
        for direction, writer, reader in ((OLD_TO_NEW, "old", "new"), (NEW_TO_OLD, "new", "old")):
            if change.only not in (None, direction):
                continue
            written = change.old if writer == "old" else change.new
            data = format.write(change.name, writer, written)
            own = present(format.read(change.name, writer, writer, data))
            assert own == written, f"{format.name} doesn't read back what it wrote: {change.name}, {writer}: {own}"
            error = ""
            try:
                outcome = classify(change, reader, written, format.read(change.name, writer, reader, data))
            except Exception as raised:  # whatever a library raises is an error
                outcome, error = "error", f"{type(raised).__name__}: {raised}"
            note = format.notes.get(f"{change.name}, {direction}") or format.notes.get(change.name, "")
            record(format, change.name, direction, outcome, note, error)
            expected = EXPECTED.get((format.name, change.name, direction))
            if outcome != expected:
                unexpected.append(f"{change.name}, {direction}: {outcome}, expected {expected} {error}")
    if "EVOLUTION_ACCEPT" not in os.environ:
        assert not unexpected, "different from expected.json:\n" + "\n".join(unexpected)


def present(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def classify(change: Change, reader: str, written: Fields, read: Fields) -> str:
    """The worst outcome of the fields that the reader has."""
    source_of = {}
    if change.renamed:
        old, new = change.renamed
        source_of = {new: old} if reader == "new" else {old: new}
    worst = 0
    for name, value in read.items():
        nothing = value in (None, 0, "", GRADE_DEFAULT)
        source = written.get(source_of.get(name, name))
        if source is None:
            worst = max(worst, 1 if nothing else 3)
        elif value != source:
            worst = max(worst, 2 if nothing else 3)
    return ("same", "default", "lost", "wrong")[worst]


def record(format: Format, change: str, direction: str, outcome: str, note: str, error: str) -> None:
    line = {"format": format.name, "library": format.library, "change": change, "direction": direction}
    line |= {"outcome": outcome, "note": note, "error": error}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def expected() -> dict[tuple[str, str, str], str]:
    path = EVOLUTION / "expected.json"
    outcomes = json.loads(path.read_text(encoding="utf-8"))["outcomes"] if path.exists() else []
    return {(line["format"], line["change"], line["direction"]): line["outcome"] for line in outcomes}


EXPECTED = expected()
