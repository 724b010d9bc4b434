"""Generates the Java code that differs from case to case: straight-line code, as a person would write it by hand.

    PYTHONPATH=lab/python python3 lab/java/generate OUT

lab/schemas/generate.sh runs it. There is one generator for the cases' messages, and one for each format whose code
depends on the fields; what a format does with any message is in lab/java/src.
"""

import sys
from pathlib import Path

import avro
import capnp
import flatbuffers
import messages
import msgpack
import protobuf
import sbe
import values
from lab.case import case, case_names

GENERATORS = [messages, values, msgpack, capnp, flatbuffers, protobuf, avro, sbe]


def main() -> None:
    out = Path(sys.argv[1])
    cases = [case(name) for name in case_names()]
    for generator in GENERATORS:
        for name, text in generator.generate(cases).items():
            path = out / (name.replace(".", "/") + ".java")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
