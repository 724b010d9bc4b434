"""The laboratory's paths: inputs, and outputs under lab/out."""

from pathlib import Path

PYTHON = Path(__file__).resolve().parents[1]
LAB = PYTHON.parent
CASES = LAB / "cases"
SCHEMAS = LAB / "schemas"
OUT = LAB / "out"
FLATBUFFERS = LAB / "generated" / "python"
MESSAGES = OUT / "cases"
WIRE = OUT / "wire"
GENERATED = OUT / "python"
CONFORMANCE = OUT / "conformance.jsonl"
RESULTS = OUT / "results.jsonl"


class Missing(Exception):
    """A file that another part of the laboratory creates is missing; the message names the command that creates it."""
