"""A row: one library, used in one way, for one wire format. Conformance and timing use only this."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lab.case import Case

FORMATS = ["json", "msgpack", "cbor", "avro", "protobuf", "flatbuffers", "capnp", "values", "pickle"]

Message = dict[str, Any]


@dataclass
class Codec:
    """A row's functions for one case. `native` and `plain` are never inside a timing; the other four are what is
    timed."""

    native: Callable[[Message], Any]
    """From a message as JSON gives it to the owned object that a user of the library would hold."""
    encode: Callable[[Any], Any]
    """From that object to bytes."""
    decode: Callable[[bytes], Any]
    """From bytes to an object that owns all of its memory."""
    field: Callable[[bytes], Any]
    """From bytes to the case's one field, as cheaply as the library allows."""
    fields: Callable[[bytes], Any]
    """From bytes to every field read once; through a view if the format has views."""
    plain: Callable[[Any], Message]
    """From what `decode` gives to a message as JSON would give it, for comparing."""
    recorder: Callable[[Callable[[Any], Any]], Callable[[bytes], Any]] | None = None
    """`fields` again, but passing each value to the function, for the tests."""
    sources: list[str] = field(default_factory=list)
    """The code generated for this case; `python -m lab show` prints it."""


@dataclass
class Row:
    """One line of the tables: a wire format, a library, and how it is used."""

    format: str
    library: str
    bind: Callable[[Case], Codec]
    variant: str = ""
    """Empty as documented; otherwise the change, in a word or two."""
    note: str = ""
    """A note for readers of the figures."""
    distribution: str | None = None
    """The installed package whose version counts; None for the standard library."""
    heap_seen: bool = True
    """Whether the library allocates through Python's allocators, which is all that tracemalloc counts."""

    @property
    def id(self) -> str:
        return f"{self.format}/{self.name}"

    @property
    def name(self) -> str:
        return self.library + (f"+{self.variant}" if self.variant else "")

    @property
    def version(self) -> str:
        if not self.distribution:
            return sys.version.split()[0]
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            # It is linked, see setup.sh.
            return str(importlib.import_module(self.distribution).__version__)


def rows() -> list[Row]:
    """Every row, in the order of FORMATS. Imports every library."""
    return [row for name in FORMATS for row in importlib.import_module(f"lab.formats.{name}").ROWS]


def row(id: str) -> Row:
    """The row of that id; imports its format's libraries only, as a process that is timed should."""
    module = id.split("/")[0].split("-")[0]
    for row in importlib.import_module(f"lab.formats.{module}").ROWS:
        if row.id == id:
            return row
    raise KeyError(f"no row {id!r}: `python -m lab rows` lists them")
