"""Records of a class, the order of a table's fields, and the bytes of texts of every length."""

import dataclasses
import subprocess
from datetime import datetime, timezone
from typing import Any, NamedTuple

import pytest
from conftest import binary

from rawline import ValueFormatError, value
from rawline.value import Address, Count, Integer, Name, Port, Record, Timestamp, View


class Dns(NamedTuple):
    ts: Timestamp
    orig_h: Address
    resp_p: Port
    proto: Name
    query: str
    qtype: int
    queries: Count
    rejected: bool
    rtt: float | None = None
    answers: list[str] = []  # noqa: RUF012 - the default of a NamedTuple
    ttls: list[int] | None = None
    tries: int | None = 1


@dataclasses.dataclass(frozen=True, slots=True)
class DnsData:
    ts: Timestamp
    orig_h: Address
    resp_p: Port
    proto: Name
    query: str
    qtype: int
    queries: Count
    rejected: bool
    rtt: float | None = None
    answers: list[str] = dataclasses.field(default_factory=list)
    ttls: list[int] | None = None
    tries: int | None = 1


WHOLE = Dns(
    Timestamp(1_521_911_738_089_090_000), Address("10.47.6.153"), Port("53/udp"), Name("udp"), "example.org", 28,
    Count(2), True, 0.5, ["192.0.2.1"], [60, 7], 2,
)  # fmt: skip
FEW = WHOLE._replace(rtt=None, ttls=None, answers=[], tries=None)


def as_dict(dns: Dns) -> dict[str, Any]:
    """The dict whose objects say their types, with what is None left out unless the class says something else."""
    named = dns._asdict() | {"qtype": Integer(dns.qtype)}
    named["tries"] = None if dns.tries is None else Integer(dns.tries)
    named["ttls"] = None if dns.ttls is None else [Integer(ttl) for ttl in dns.ttls]
    return {name: found for name, found in named.items() if found is not None or name == "tries"}


@pytest.mark.parametrize("dns", [WHOLE, FEW], ids=["whole", "few"])
def test_a_class_is_written_as_the_dict_of_its_fields(dns: Dns) -> None:
    record = Record(Dns)
    data = record.encode(dns)
    assert data == value.encode(as_dict(dns))
    read = record.decode(data)
    assert read == dns and type(read) is Dns and type(read.proto) is Name
    assert record.field("query")(data) == "example.org"
    # A text for an enum is one.
    assert record.encode(dns._replace(proto="udp")) == data  # type: ignore[arg-type]

    vector = Record(Dns, form="vector")
    data = vector.encode(dns)
    named = as_dict(dns)
    assert data == value.encode([named.get(name) for name in Dns._fields])
    assert vector.decode(data) == dns and vector.field("query")(data) == "example.org"


@pytest.mark.parametrize("order", ["names", "fields"])
@pytest.mark.parametrize("form", ["table", "vector"])
def test_a_dataclass_is_written_as_a_named_tuple(form: Any, order: Any) -> None:
    for dns in [WHOLE, FEW]:
        data = Record(Dns, form, order).encode(dns)
        record = Record(DnsData, form, order)
        assert record.encode(DnsData(*dns)) == data and record.decode(data) == DnsData(*dns)


def test_fields_are_in_the_order_of_the_class() -> None:
    ordered = Record(Dns, order="fields")
    for dns in [WHOLE, FEW]:
        data = ordered.encode(dns)
        assert list(value.decode(data)) == list(as_dict(dns)) == [key.to_python() for key, _ in View(data).items()]
        # The same value, in another order.
        assert ordered.decode(data) == dns and value.decode(data) == value.decode(Record(Dns).encode(dns))
        assert len(data) == len(Record(Dns).encode(dns))
        value.check(data)
        assert ordered.field("query")(data) == View(data)["query"].to_python() == "example.org"


def test_fields_of_a_dict_are_in_the_order_given_and_others_behind_them() -> None:
    types = {"query": "string", "id": "integer", "answers": "any"}
    line: dict[str, Any] = {"b": 1, "answers": ["x"], "a": {"d": 1, "c": 2}, "id": 7, "query": "q"}
    data = Record(types, order="fields").encode(line)
    read = value.decode(data)
    assert list(read) == ["query", "id", "answers", "a", "b"] and list(read["a"]) == ["c", "d"]
    assert read == line == Record(types, order="fields").decode(data)
    assert list(value.decode(Record(types).encode(line))) == sorted(line)
    # The order of a dict that has not all fields.
    assert list(value.decode(Record(types, order="fields").encode({"answers": [], "query": ""}))) == [
        "query",
        "answers",
    ]
    assert Record(types | {"a": "any", "b": "any"}, "vector", "fields").encode(line) == value.encode(
        ["q", Integer(7), ["x"], {"c": 2, "d": 1}, 1]
    )


def test_the_command_reads_tables_in_the_order_of_the_fields() -> None:
    lines = []
    for order in ["names", "fields"]:
        for dns in [WHOLE, FEW]:
            lines.append(Record(Dns, order=order).encode(dns))  # type: ignore[call-overload]
    done = subprocess.run(
        [binary(), "value", "decode", "--to", "json"],
        input="\n".join(map(bytes.hex, lines)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown == [value.to_json(data, typed=True) for data in lines]
    assert [value.decode(value.from_json(text, typed=True)) for text in shown] == [value.decode(data) for data in lines]


def test_classes_that_have_changed_read_what_there_was() -> None:
    class Old(NamedTuple):
        a: int
        gone: str

    class New(NamedTuple):
        b: str | None
        a: int
        c: int = 7

    data = Record(Old).encode(Old(1, "x"))
    assert Record(New).decode(data) == New(None, 1, 7)
    assert Record(Old).decode(Record(New).encode(New("b", 2))) == Old(2, None)  # type: ignore[arg-type]


def test_a_class_with_more_fields_than_a_byte_counts() -> None:
    names = [f"field_{index}" for index in range(300)]
    many: Any = NamedTuple("many", [(name, Any) for name in names])  # type: ignore[misc]
    for kept in [300, 200, 128, 127, 100, 0]:
        fields = {name: Count(index) if index < kept else None for index, name in enumerate(names)}
        data = Record(many).encode(many(**fields))
        assert data == value.encode({name: found for name, found in fields.items() if found is not None})
        assert Record(many).decode(data) == many(**fields)


def test_one_field_and_none() -> None:
    @dataclasses.dataclass
    class One:
        only: list[Any]

    class Nothing(NamedTuple):
        pass

    assert Record(One).encode(One([1])) == value.encode({"only": [1]})
    assert Record(One).decode(value.encode({"only": [1]})) == One([1])
    assert Record(Nothing).encode(Nothing()) == value.encode({})


def test_objects_that_need_python_are_written_in_classes_too() -> None:
    @dataclasses.dataclass
    class Host:
        name: str

    class Mixed(NamedTuple):
        at: datetime
        tags: set[str]
        host: Host
        after: str

    at = datetime(2022, 4, 10, 7, tzinfo=timezone.utc)
    mixed = Mixed(at, {"b", "a"}, Host("h"), "end")
    expected = {"at": at, "tags": {"a", "b"}, "host": ["h"], "after": "end"}
    assert Record(Mixed).encode(mixed) == value.encode(expected)


def test_types_asked_for_mean_the_same_as_in_json() -> None:
    record = Record({"ports": "port@proto", "proto": "enum", "tags": "set", "size": "real", "at": "timestamp"})
    read = record.decode(
        record.encode({"ports": [53, 80], "proto": "udp", "tags": ["b", "a", "b"], "size": 2**63, "at": 1})
    )
    assert read["ports"] == [value.Port("53/udp"), value.Port("80/udp")]
    assert read["tags"] == {"a", "b"} and read["size"] == 2.0**63
    with pytest.raises(ValueFormatError, match="field at: 9223372036854775808 isn't a valid timestamp"):
        record.encode({"at": 2**63})
    with pytest.raises(ValueFormatError, match="beyond 64 bits"):
        record.encode({"size": 2**64})


def test_what_does_not_fit_a_class_is_refused() -> None:
    record = Record(Dns)
    for wrong in [as_dict(WHOLE), tuple(WHOLE), None, tuple.__new__(Dns, [1])]:
        with pytest.raises(TypeError, match="a record of Dns was given"):
            record.encode(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'list' object is not an instance of 'dict'"):
        Record({"a": "any"}).encode([])  # type: ignore[arg-type]
    bad: Any
    for field, bad, why in [
        ("query", 1, "field query: .* count was given for a field of type string"),
        ("orig_h", "10.0.0", "field orig_h: .*not an IPv4"),
        ("qtype", 2**63, "field qtype: 9223372036854775808 isn't a valid integer; the range is"),
        ("queries", -1, "field queries: -1 isn't a valid count"),
        ("ttls", ["x"], "field ttls: .* a field of type integer"),
        ("rejected", "\ud800", "can't be encoded as UTF-8"),
    ]:
        with pytest.raises(ValueFormatError, match=why):
            record.encode(WHOLE._replace(**{field: bad}))
        # It goes on as before.
        assert record.decode(record.encode(WHOLE)) == WHOLE

    class Subclass(Dns):
        pass

    assert record.encode(Subclass(*WHOLE)) == record.encode(WHOLE)
    for other in [int, tuple, dict]:
        with pytest.raises(TypeError, match="neither a NamedTuple nor a dataclass"):
            Record(other)

    @dataclasses.dataclass(kw_only=True)
    class Named:
        a: int

    with pytest.raises(TypeError, match="in their order, because of 'a'"):
        Record(Named)
    with pytest.raises(ValueFormatError, match="isn't an order; use names or fields"):
        Record(Dns, order="sorted")  # type: ignore[call-overload]
    with pytest.raises(ValueFormatError, match="isn't a form; use table or vector"):
        Record(Dns, form="list")  # type: ignore[call-overload]


def expected_text(text: str) -> bytes:
    size, groups = len(text.encode()), []
    while size >= 0x80:
        groups.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([5, *groups, size]) + text.encode()


def test_texts_and_keys_of_every_length_are_copied_whole() -> None:
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789ü"
    for length in [*range(300), 4095, 4096, 16383, 16384, 70_000, 3_000_000]:
        text = (alphabet * (length // len(alphabet) + 1))[:length]
        assert value.encode(text) == expected_text(text)
        assert value.encode([text, text]) == b"\x0e\x02" + 2 * expected_text(text)
        table = b"\x0d\x01" + expected_text(text) + expected_text(text)
        assert value.encode({text: text}) == table == Record({text: "string"}).encode({text: text})
    # Values grow the memory wherever they stop to fit.
    for count in range(1, 400):
        items = [1.5, True, None, "x" * 30, Address("::1"), Port("1/tcp")] * count
        assert value.decode(value.encode(items)) == items
