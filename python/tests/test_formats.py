"""Avro and CSV against independent implementations, fastavro and Python's csv, with 1,000 random inputs each.

A failure prints its seed: RAWLINE_SEED=7 runs the same inputs again.
"""

import csv
import io
import json
import math
import os
import random
import struct
import subprocess
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import numpy
import pytest
from brokers import Broker, binary

from rawline import avro

SEED = int(os.environ.get("RAWLINE_SEED", "1"))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LETTERS = 'aZ09 _.,;"\\\n\t\u00e9\u20ac\U0001f600'


class Avro:
    """Random schemas, values of them, and the JSON that docs/measurements.md says of these values."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = 0

    def text(self) -> str:
        return "".join(self.chance.choices(LETTERS, k=self.chance.randrange(8)))

    def name(self) -> str:
        self.names += 1
        return f"N{self.names}"

    def schema(self, depth: int) -> Any:
        simple: list[Any] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
        logical: list[Any] = [
            {"type": "long", "logicalType": "timestamp-micros"},
            {"type": "int", "logicalType": "date"},
            {"type": "string", "logicalType": "uuid"},
        ]
        precision = self.chance.randrange(1, 39)
        scale = self.chance.randrange(precision + 1)
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        kind = self.chance.randrange(8 if depth == 0 else 14)
        if kind < 5:
            return self.chance.choice(simple)
        if kind == 5:
            return self.chance.choice([*logical, decimal])
        if kind == 6:
            return {"type": "fixed", "name": self.name(), "size": self.chance.randrange(5)}
        if kind == 7:
            symbols = [f"S{n}" for n in range(self.chance.randrange(1, 5))]
            return {"type": "enum", "name": self.name(), "symbols": symbols}
        if kind in (8, 9):
            return {"type": "array", "items": self.schema(depth - 1)}
        if kind == 10:
            return {"type": "map", "values": self.schema(depth - 1)}
        if kind == 11:
            inner = self.chance.choice(["null", "boolean", "long", "double", "string"])
            return ["null", "boolean", "long", "string"] if inner == "null" else self.chance.sample(["null", inner], 2)
        fields = [{"name": f"f{n}", "type": self.schema(depth - 1)} for n in range(self.chance.randrange(5))]
        return {"type": "record", "name": self.name(), "fields": fields}

    def value(self, schema: Any) -> tuple[Any, Any]:
        """A value for fastavro, and its JSON."""
        chance = self.chance
        if isinstance(schema, list):
            return self.value(chance.choice(schema))
        kind = schema if isinstance(schema, str) else schema["type"]
        logical = None if isinstance(schema, str) else schema.get("logicalType")
        if logical is not None:
            return self.logical(schema, logical)
        if kind == "null":
            return None, None
        if kind == "boolean":
            return (flag := chance.random() < 0.5), flag
        if kind in ("int", "long"):
            bits = chance.randrange(32 if kind == "int" else 64)
            return (number := chance.choice([-1, 1]) * chance.getrandbits(bits) if bits else 0), number
        if kind in ("float", "double"):
            number = chance.choice([0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, chance.uniform(-1e9, 1e9), 1e-40])
            if kind == "float":
                (number,) = struct.unpack("<f", struct.pack("<f", number))
            names = {math.inf: "Infinity", -math.inf: "-Infinity"}
            # As many digits as tell one float from the next.
            short = float(str(numpy.float32(number))) if kind == "float" else number
            return number, "NaN" if math.isnan(number) else names.get(number, short)
        if kind in ("bytes", "fixed"):
            data = chance.randbytes(schema["size"] if kind == "fixed" else chance.randrange(20))
            return data, data.decode("latin-1")
        if kind == "string":
            return (text := self.text()), text
        if kind == "enum":
            return (symbol := chance.choice(schema["symbols"])), symbol
        if kind == "array":
            pairs = [self.value(schema["items"]) for _ in range(chance.randrange(4))]
            return [value for value, _ in pairs], [shown for _, shown in pairs]
        if kind == "map":
            entries = {self.text(): self.value(schema["values"]) for _ in range(chance.randrange(4))}
        else:
            entries = {field["name"]: self.value(field["type"]) for field in schema["fields"]}
        return {key: pair[0] for key, pair in entries.items()}, {key: pair[1] for key, pair in entries.items()}

    def logical(self, schema: Any, logical: str) -> tuple[Any, Any]:
        chance = self.chance
        if logical == "timestamp-micros":
            time = EPOCH + timedelta(microseconds=chance.randrange(-(10**16), 10**16))
            # As short as it can be.
            digits = f"{time.microsecond:06d}".rstrip("0")
            return time, time.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + (f".{digits}Z" if digits else "Z")
        if logical == "date":
            return (day := date(1970, 1, 1) + timedelta(days=chance.randrange(-500_000, 2_000_000))), day.isoformat()
        if logical == "uuid":
            return (uuid := UUID(int=chance.getrandbits(128))), str(uuid)
        digits = chance.randrange(1, schema["precision"] + 1)
        number = chance.choice([-1, 1]) * chance.randrange(10**digits)
        decimal = Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -schema["scale"]))
        return decimal, f"{decimal:f}"


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal, NaN to NaN and a zero's sign included."""
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack("<d", left) == struct.pack("<d", right) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def test_avro_is_what_fastavro_writes_and_reads() -> None:
    print(f"RAWLINE_SEED={SEED}")
    for number in range(1000):
        source = Avro(random.Random(f"{SEED} {number}"))
        schema = source.schema(3)
        value, shown = source.value(schema)
        parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
        ours_of = avro.Schema(json.dumps(schema))
        where = f"input {number}: {json.dumps(schema)} {value!r}"
        theirs = io.BytesIO()
        fastavro.schemaless_writer(theirs, parsed, value)
        read = avro.Decoder(ours_of, framing="bare").decode_one(theirs.getvalue())
        assert same(read, shown), f"{where}: {read!r} instead of {shown!r}"
        ours = avro.Encoder(ours_of, framing="bare").encode(shown)
        again = fastavro.schemaless_reader(io.BytesIO(ours), parsed, None)
        assert same(again, value), f"{where}: {again!r} of {ours.hex()}"


def cell(chance: random.Random, is_only: bool) -> str:
    """A cell as some program might write it. White space alone isn't told from an empty row by every reader."""
    if chance.random() < 0.5:
        text = "".join(chance.choices('ab "",\r\n\u00e9', k=chance.randrange(6)))
        # Rarely something after the closing quote, which belongs to the cell.
        return '"' + text.replace('"', '""') + '"' + chance.choice(["", "", "", "", "x", ' "y'])
    text = "".join(chance.choices('ab "\t\u00e9', k=chance.randrange(6)))
    if text.startswith('"') or (is_only and not text.strip()):
        return "z" + text
    return text


def documents(chance: random.Random) -> Iterator[tuple[int, str]]:
    """40 documents of 25 fragments, which are some rows each; each with the number of its columns."""
    for _ in range(40):
        columns = chance.randrange(1, 5)
        text = ",".join(f"c{n}" for n in range(columns)) + chance.choice(["\n", "\r\n", "\r"])
        for _ in range(25):
            for _ in range(chance.randrange(1, 4)):
                text += ",".join(cell(chance, columns == 1) for _ in range(columns))
                text += chance.choice(["\n", "\n", "\r\n", "\r", "\n\n", "\r\r\n"])
        # The last row may lack its end.
        yield columns, text if chance.random() < 0.5 else text.rstrip("\r\n")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("csv"))
    yield broker
    broker.stop()


def test_csv_is_what_pythons_reader_reads(broker: Broker, tmp_path: Path) -> None:
    print(f"RAWLINE_SEED={SEED}")

    def run(*arguments: str) -> str:
        environment = {**os.environ, "RAWLINE_BROKER": broker.url}
        done = subprocess.run([binary(), *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    for number, (columns, text) in enumerate(documents(random.Random(SEED))):
        names = [f"c{n}" for n in range(columns)]
        schema = {"type": "record", "name": "R", "fields": [{"name": name, "type": "string"} for name in names]}
        (tmp_path / "schema.avsc").write_text(json.dumps({**schema, "name": f"R{columns}"}))
        (tmp_path / "input.csv").write_bytes(text.encode())
        arguments = ["--format", "avro", "--schema", str(tmp_path / "schema.avsc")]
        run("produce", f"t{number}", str(tmp_path / "input.csv"), *arguments)
        lines = run("consume", f"t{number}", "--format", "avro").splitlines()
        read = [list(json.loads(line).values()) for line in lines]
        expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]
        assert read == expected, f"document {number}: {text!r}"
