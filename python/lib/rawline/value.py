"""Structured values: JSON that knows addresses, ports, times and sets, in fewer bytes (docs/values.md).

| value | Python, written and read | written besides |
|---|---|---|
| none, boolean | `None`, `bool` | |
| count, integer | `int`: from 0 on a count, below 0 an integer | `Count`, `Integer` to say which |
| real | `float` | |
| string | `str`; `bytes` where it is no UTF-8 | |
| address, subnet | `Address`, `Subnet` | what `ipaddress` makes |
| port | `Port` | |
| timestamp, timespan | `Timestamp`, `Timespan`, in nanoseconds | `datetime` with a zone, `timedelta` |
| enum | `Name`, a `str` | members of an `enum.Enum` |
| vector | `list` | `tuple`, a dataclass's fields |
| set | `frozenset` | `set` |
| table | `dict` | |

Inside of a set or a key, a vector is a `tuple` and a table a `tuple` of pairs.

- `encode` and `decode` go from objects to bytes and back; `decode(data, exact=True)` keeps integers and counts apart, so
  that encoding the same again gives the same bytes
- `field("query")` is a function from bytes to one field, which looks at nothing behind it
- `View` is for values whose types matter, or of which little is needed
- `Record` knows fields and their types, for dicts that come from JSON
- `to_json`, `from_json` are the two JSON mappings of docs/values.md

Bytes that are no value, and objects that are none, raise `rawline.ValueFormatError`.
"""

import dataclasses
import enum
import ipaddress
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Literal

from rawline._rawline import (
    Address,
    Port,
    RecordCore,
    Subnet,
    Timespan,
    Timestamp,
    View,
    check,
    decode,
    encode,
    field,
    from_json,
    to_json,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class Name(str):
    """The name of an enumeration's value, such as `Name("Conn::LOG")`."""

    __slots__ = ()


class Count(int):
    """A whole number from 0 on that is surely a count."""

    __slots__ = ()


class Integer(int):
    """A whole number that is surely an integer, though it be 0 or above."""

    __slots__ = ()


class Record:
    """Fields with names and types, for dicts whose objects do not say their types, such as those from JSON.

    `fields` has names and types: `any` (as the object says), `address`, `subnet`, `port` (text such as `"53/udp"`),
    `port@FIELD` (a number whose protocol is the text of another field), `timestamp` and `timespan` (nanoseconds as an
    `int`, seconds as a `float`, or text), `enum`, `string`, `count`, `integer`, `real`, `set`. A list's elements get
    the type, but for `set`, which makes the list one. None is none in every field.

    - `form="table"`: a table with the dict's keys; keys that have no type are written as they are
    - `form="vector"`: a vector of all fields in this order, as records are in Zeek; what is missing is none

    >>> dns = Record({"host": "address", "port": "port@proto", "proto": "enum"})
    >>> decode(dns.encode({"host": "10.0.0.1", "port": 53, "proto": "udp"}))
    {'host': Address('10.0.0.1'), 'port': Port('53/udp'), 'proto': 'udp'}
    """

    def __init__(
        self, fields: Mapping[str, str] | Iterable[tuple[str, str]], form: Literal["table", "vector"] = "table"
    ) -> None:
        pairs = list(fields.items() if isinstance(fields, Mapping) else fields)
        self.names = [name for name, _ in pairs]
        self.form = form
        self.encode: Callable[[dict[str, Any]], bytes] = RecordCore(pairs, form == "vector").encode
        """The bytes of a dict."""

    def decode(self, data: bytes) -> dict[str, Any]:
        """The dict of these bytes; a vector's elements with their names."""
        read = decode(data)
        return read if self.form == "table" else dict(zip(self.names, read))

    def field(self, name: str) -> Callable[[bytes], Any]:
        """A function from a record's bytes to that field."""
        return field(name if self.form == "table" else self.names.index(name))


def _datetime_of(ns: int) -> datetime:
    """The time with microseconds; what is finer is cut off."""
    return _EPOCH + timedelta(microseconds=ns // 1000)


def _timedelta_of(ns: int) -> timedelta:
    """The duration with microseconds; what is finer is cut off."""
    return timedelta(microseconds=ns // 1000)


def _convert(value: Any) -> Any:
    """An object of another type as one that the native half knows."""
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return Address(value.packed)
    if isinstance(value, (ipaddress.IPv4Network, ipaddress.IPv6Network)):
        return Subnet(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise TypeError("a datetime without a zone; give one such as datetime.now(timezone.utc)")
        return Timestamp((value - _EPOCH) // _MICROSECOND * 1000)
    if isinstance(value, timedelta):
        return Timespan(value // _MICROSECOND * 1000)
    if isinstance(value, enum.Enum):
        return Name(value.name)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, each.name) for each in dataclasses.fields(value)]
    # Subclasses of the types that are known, and what behaves like them.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, tuple):
        return tuple(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, list):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no value; see rawline.value for what can be written")


__all__ = [
    "Address",
    "Count",
    "Integer",
    "Name",
    "Port",
    "Record",
    "Subnet",
    "Timespan",
    "Timestamp",
    "View",
    "check",
    "decode",
    "encode",
    "field",
    "from_json",
    "to_json",
]
