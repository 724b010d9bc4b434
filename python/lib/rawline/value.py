"""Structured values: JSON with addresses, ports, times and sets, in fewer bytes (docs/values.md).

| value | Python, written and read | also written |
|---|---|---|
| none, boolean | `None`, `bool` | |
| count, integer | `int`: a count, or an integer if negative | `Count`, `Integer` to choose |
| real | `float` | |
| string | `str`; `bytes` if it isn't UTF-8 | |
| address, subnet | `Address`, `Subnet` | objects of `ipaddress` |
| port | `Port` | |
| timestamp, timespan | `Timestamp`, `Timespan`, in nanoseconds | `datetime` with a zone, `timedelta` |
| enum | `Name`, a `str` | members of an `enum.Enum` |
| vector | `list` | `tuple`, a dataclass's fields |
| set | `frozenset` | `set` |
| table | `dict` | |

Inside a set or a key, a vector is a `tuple` and a table a `tuple` of pairs.

- `encode` and `decode` convert objects and bytes; `decode(data, exact=True)` distinguishes integers from counts, so
  that encoding the object again returns the same bytes
- `field("query")` is a function from bytes to one field, which reads nothing after that field
- `View` is for values whose types matter, or of which only a part is needed
- `Record` has fields with types: those of a class, which is the fastest to write, or of dicts that come from JSON
- `to_json`, `from_json` are the two JSON mappings of docs/values.md

Bytes or objects that aren't a value raise `rawline.ValueFormatError`.
"""

import dataclasses
import enum
import ipaddress
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from rawline._rawline import (
    Address,
    Instances,
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
from rawline.types import BytesLike

_T = TypeVar("_T")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class Name(str):
    """The name of an enum's value, such as `Name("Conn::LOG")`."""

    __slots__ = ()


class Count(int):
    """An integer from 0 on that is written as a count."""

    __slots__ = ()


class Integer(int):
    """An integer that is written as an integer, even from 0 on."""

    __slots__ = ()


class Record(Generic[_T]):
    """Fields with names and types: those of a class, or of dicts whose objects don't have types, such as JSON.

    `fields` is a `NamedTuple` or a dataclass, whose instances are then written and read, or names and types for dicts.
    Types are `any` (the type of the object), `address`, `subnet`, `port` (text such as `"53/udp"`), `port@FIELD` (a
    number whose protocol is the text of another field), `timestamp` and `timespan` (nanoseconds as an `int`, seconds as
    a `float`, or text), `enum`, `string`, `count`, `integer`, `real`, `set`. A type also applies to the elements of a
    list, except `set`, which makes the list a set. `None` is none in every field.

    - `form="table"`: a table with the fields' names as keys. Keys of a dict without a type are written as they are. A
      class's field that is `None` is omitted; when read, it gets the class's default, or `None`
    - `form="vector"`: a vector of all fields in this order, like records in Zeek; missing fields are none

    - `order="names"`: a table's keys in ascending order, as `encode` writes them
    - `order="fields"`: in the order of `fields`, followed by keys without a type. Readers accept both orders. Reading
      one field skips those before it, so put fields that are read alone first, and growing ones last. The order applies
      to the outermost table; a vector always has it

    >>> dns = Record({"host": "address", "port": "port@proto", "proto": "enum"})
    >>> decode(dns.encode({"host": "10.0.0.1", "port": 53, "proto": "udp"}))
    {'host': Address('10.0.0.1'), 'port': Port('53/udp'), 'proto': 'udp'}

    A class's annotations are its types: `str` is a string, `int` an integer, `float` a real, `Name` an enum,
    `list[int]` a vector of integers, `Address | None` an address or none. Fields of other types are written as `encode`
    writes them. A `NamedTuple` is the fastest to write and to read. A class is read from a table and from a vector,
    without a dict in between; unknown fields are skipped. A field whose type is a class, or a list of one,
    gets its instances. Other types of fields aren't checked.

    >>> class Dns(NamedTuple):
    ...     host: Address
    ...     query: str
    ...     rtt: float | None = None
    >>> dns = Record(Dns, order="fields")
    >>> dns.decode(dns.encode(Dns(Address("10.0.0.1"), "example.org")))
    Dns(host=Address('10.0.0.1'), query='example.org', rtt=None)
    """

    @overload
    def __init__(
        self: "Record[dict[str, Any]]",
        fields: Mapping[str, str] | Iterable[tuple[str, str]],
        form: Literal["table", "vector"] = "table",
        order: Literal["names", "fields"] = "names",
    ) -> None: ...

    @overload
    def __init__(
        self, fields: type[_T], form: Literal["table", "vector"] = "table", order: Literal["names", "fields"] = "names"
    ) -> None: ...

    def __init__(
        self,
        fields: Mapping[str, str] | Iterable[tuple[str, str]] | type[Any],
        form: Literal["table", "vector"] = "table",
        order: Literal["names", "fields"] = "names",
    ) -> None:
        self.form = form
        self.encode: Callable[[_T], bytes]
        """Encodes a dict, or an instance of the class."""
        self.decode: Callable[[BytesLike], _T]
        """Decodes a dict or an instance of the class. Additional fields are kept only in a dict."""
        if isinstance(fields, type):
            defaults = _defaults(fields)
            pairs = _typed_fields(fields, list(defaults))
            # None is omitted if reading restores it.
            kept = [name for name, default in defaults.items() if default is not None]
            is_tuple = issubclass(fields, tuple)
            read_as = _instances(fields, order == "names", ())
            core = RecordCore(pairs, form, order, fields if is_tuple else tuple, kept, read_as)
            self.encode = core.encode if is_tuple else _by_attributes(core.encode, list(defaults))
            self.decode = core.decode
        else:
            pairs = list(fields.items() if isinstance(fields, Mapping) else fields)
            core = RecordCore(pairs, form, order, None, [], None)
            self.encode = core.encode
            self.decode = core.decode if form == "table" else _by_places(core.decode, [name for name, _ in pairs])
        self.names = [name for name, _ in pairs]

    def field(self, name: str) -> Callable[[bytes], Any]:
        """Returns a function from a record's bytes to that field."""
        return field(name if self.form == "table" else self.names.index(name))


_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "real",
    Name: "enum",
    Count: "count",
    Integer: "integer",
    Address: "address",
    Subnet: "subnet",
    Port: "port",
    Timestamp: "timestamp",
    Timespan: "timespan",
}


def _defaults(fields: type[Any]) -> dict[str, Any]:
    """A class's fields in order, with their defaults."""
    if issubclass(fields, tuple) and hasattr(fields, "_field_defaults"):
        names = getattr(fields, "_fields")  # noqa: B009 - mypy knows no such attribute of tuples
        return {name: fields._field_defaults.get(name) for name in names}
    if not dataclasses.is_dataclass(fields):
        raise TypeError(f"{fields.__name__} is neither a NamedTuple nor a dataclass; pass names and types")
    found = {}
    for each in dataclasses.fields(fields):
        if not each.init or each.kw_only:
            raise TypeError(f"{fields.__name__} can't be made of its fields in their order, because of {each.name!r}")
        found[each.name] = None if each.default is dataclasses.MISSING else each.default
    return found


def _typed_fields(fields: type[Any], names: list[str]) -> list[tuple[str, str]]:
    hints = get_type_hints(fields)
    return [(name, _type_of(hints.get(name))) for name in names]


def _type_of(annotation: Any) -> str:
    """The type for an annotation."""
    arguments = [each for each in get_args(annotation) if each is not type(None)]
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType, list) and len(arguments) == 1:
        return _type_of(arguments[0])
    return _TYPES.get(annotation, "any")


def _instances(fields: type[Any], is_sorted: bool, around: tuple[type[Any], ...]) -> Instances:
    """The source from which the class's instances are read. `around` are the enclosing classes."""
    defaults, hints, within = _defaults(fields), get_type_hints(fields), (*around, fields)
    inner = [_inner(hints.get(name), is_sorted, within) for name in defaults]
    # A NamedTuple itself is made without a call, since it can't have a __new__ of the program's.
    is_tuple = fields.__bases__ == (tuple,)
    return Instances(fields, is_tuple, list(defaults), list(defaults.values()), inner, is_sorted)


def _inner(annotation: Any, is_sorted: bool, around: tuple[type[Any], ...]) -> tuple[Instances, bool] | None:
    """The class of a field's instance, and whether the field is a list of them; `None` for all other types, for a class
    that can't be made of its fields, and for one that contains itself."""
    arguments = [each for each in get_args(annotation) if each is not type(None)]
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType, list) and len(arguments) == 1:
        found = _inner(arguments[0], is_sorted, around)
        if origin is not list or found is None:
            return found
        return None if found[1] else (found[0], True)
    is_record = isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation) or hasattr(annotation, "_field_defaults")
    )
    if not is_record or annotation in around:
        return None
    try:
        return _instances(annotation, is_sorted, around), False
    except (TypeError, NameError):
        return None


def _by_attributes(encode: Callable[[Any], bytes], names: list[str]) -> Callable[[Any], bytes]:
    """`encode` for objects that aren't tuples."""
    read: Callable[[Any], tuple[Any, ...]] = operator.attrgetter(*names)
    if len(names) == 1:
        # attrgetter then returns the attribute itself.
        return lambda record: encode((read(record),))
    return lambda record: encode(read(record))


def _by_places(decode: Callable[[BytesLike], Any], names: list[str]) -> Callable[[BytesLike], Any]:
    """`decode` for vectors, as dicts."""
    return lambda data: dict(zip(names, decode(data), strict=False))


def _datetime_of(ns: int) -> datetime:
    """The time, truncated to microseconds."""
    return _EPOCH + timedelta(microseconds=ns // 1000)


def _timedelta_of(ns: int) -> timedelta:
    """The duration, truncated to microseconds."""
    return timedelta(microseconds=ns // 1000)


def _numpy_time(value: Any) -> Any:
    """Times or durations of numpy, whose times are in UTC. A missing one (NaT) is none."""
    if value.ndim > 0:
        return list(value)
    if value != value:  # Only NaT differs from itself.
        return None
    kind = value.dtype.kind
    ns = int(value.astype(f"{kind}8[ns]").astype("int64"))
    return Timestamp(ns) if kind == "M" else Timespan(ns)


def _convert(value: Any) -> Any:
    """Converts an object of another type to one that the native half supports."""
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
    # Subclasses of the supported types, and objects that behave like them.
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
    if type(value).__module__ == "numpy":
        # A time, a number of numpy's types, or an array.
        if value.dtype.kind in "mM":
            return _numpy_time(value)
        if value.dtype.kind == "f" and value.ndim == 0:
            # Python has no type for a longdouble, so that `tolist` returns the same again.
            return float(value)
        if value.dtype.kind != "c":
            return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a value; see rawline.value for the supported types")


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
