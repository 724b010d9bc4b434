#!/usr/bin/env python3
"""Makes expected.json from lab/out/evolution.jsonl (--accept), or checks that both have the same outcomes."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.json"
OLD_TO_NEW, NEW_TO_OLD = "old bytes, new schema", "new bytes, old schema"

MEANINGS = {
    "same": "every field that the reader asks for holds what was written",
    "default": "a field that was not written reads as its default, as zero or as absent",
    "lost": "a field that was written reads as its default, as zero or as absent",
    "error": "the bytes are refused",
    "wrong": "a field reads as a value that was never written, without an error",
}
CHANGES = {
    "field added, with a default": "an i32 is added, with a default of 5 if the format has defaults",
    "field added, without a default": "an i32 is added",
    "field removed": "an i32 in the middle is removed, as the format recommends",
    "field renamed": "an i32 is renamed",
    "i32 widened to i64": "an i32 becomes an i64; the value is -1234",
    "i32 widened to i64, value beyond i32": "the same; the value is 5,000,000,000",
    "i64 changed to f64": "an i64 of 1234 becomes an f64 of 12.5",
    "fields reordered": "two i32 change places",
    "optional made required": "an optional field becomes required; the old bytes are without it",
    "enum symbol added": "an enum gets a third symbol; the new bytes have it",
}
FORMATS = "json msgpack msgpack-array cbor avro protobuf sbe flatbuffers capnp values values-list".split()
FORMATS += "postcard bincode rkyv pickle jdk".split()


def gathered() -> list[dict]:
    """The outcomes in the table's order. If two libraries read a format, the line that names both."""
    found: dict[tuple[str, str, str], dict] = {}
    lines = (HERE.parent / "out" / "evolution.jsonl").read_text(encoding="utf-8").splitlines()
    for line in map(json.loads, lines):
        key = (line["format"], line["change"], line["direction"])
        kept = found.setdefault(key, line)
        if kept["outcome"] != line["outcome"]:
            raise SystemExit(f"{key}: {kept['library']} has {kept['outcome']}, {line['library']} {line['outcome']}")
        if len(line["library"]) > len(kept["library"]):
            found[key] = line
    directions = {change: (OLD_TO_NEW, NEW_TO_OLD) for change in CHANGES}
    directions["i32 widened to i64, value beyond i32"] = (NEW_TO_OLD,)
    wanted = [(format, change, way) for format in FORMATS for change in CHANGES for way in directions[change]]
    if missing := [key for key in wanted if key not in found]:
        raise SystemExit(f"no outcome for {missing}")
    if unknown := set(found) - set(wanted):
        raise SystemExit(f"outcomes that the table has no place for: {sorted(unknown)}")
    # Error texts are only for the log: each library has its own.
    names = ("format", "library", "change", "direction", "outcome", "note")
    return [{name: found[key][name] for name in names} for key in wanted]


def rendered(outcomes: list[dict]) -> str:
    """The file's text: one line for each meaning, for each change, and for each format's outcomes."""
    meanings = [f"{dump(word)}: {dump(meaning)}" for word, meaning in MEANINGS.items()]
    changes = [dump({"change": change, "what": what}) for change, what in CHANGES.items()]
    formats = [", ".join(dump(line) for line in outcomes if line["format"] == format) for format in FORMATS]
    parts = [("meanings", "{}", meanings), ("changes", "[]", changes), ("outcomes", "[]", formats)]
    texts = [
        f'  "{name}": {open_}\n    ' + ",\n    ".join(part) + f"\n  {close}" for name, (open_, close), part in parts
    ]
    return "{\n" + ",\n".join(texts) + "\n}\n"


def dump(value) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    text = rendered(gathered())
    if sys.argv[1:] == ["--accept"]:
        EXPECTED.write_text(text, encoding="utf-8")
        print(f"{EXPECTED} is made of the outcomes")
    elif text != EXPECTED.read_text(encoding="utf-8"):
        raise SystemExit("expected.json differs from the outcomes; to accept them: EVOLUTION_ACCEPT=1 make lab-test")
    else:
        print("all outcomes are as expected")


if __name__ == "__main__":
    main()
