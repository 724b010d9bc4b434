"""Records of a class, the order of a table's fields, and the bytes of texts of every length."""

import contextlib
import dataclasses
import gc
import json
import subprocess
import sys
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy
import pytest
from brokers import binary
from conftest import VECTORS

from rawline import ValueFormatError, value
from rawline.value import Address, Count, Integer, Name, Port, Record, Subnet, Timespan, Timestamp, View


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


def test_classes_are_read_in_any_order_and_either_form() -> None:
    record = Record(Dns)
    fields = as_dict(WHOLE)
    for names in [list(fields), sorted(fields), sorted(fields, reverse=True), ["query", "ts"], []]:
        table = b"\x0d" + bytes([len(names) + 1]) + value.encode("new") + value.encode([{"a": 1}])
        for name in names:
            table += value.encode(name) + value.encode(fields[name])
        expected = [WHOLE._asdict()[name] if name in names else Dns._field_defaults.get(name) for name in Dns._fields]
        for each in [record, Record(Dns, order="fields"), Record(Dns, form="vector")]:
            read = each.decode(memoryview(table))
            assert read == Dns(*expected) and type(read) is Dns
    vector = [fields.get(name) for name in Dns._fields]
    assert record.decode(value.encode([*vector, "new"])) == WHOLE
    assert record.decode(value.encode(vector[:8])) == WHOLE._replace(rtt=None, answers=[], ttls=None, tries=1)

    # A class with a constructor of its program is called.
    class Checked(Dns):
        def __new__(cls, *args: Any) -> "Checked":
            made = super().__new__(cls, *args)
            assert made.query, "empty query"
            return made

    assert type(Record(Checked).decode(record.encode(WHOLE))) is Checked
    with pytest.raises(AssertionError, match="empty query"):
        Record(Checked).decode(record.encode(WHOLE._replace(query="")))


class Customer(NamedTuple):
    id: int
    name: str = ""


@dataclasses.dataclass
class Line:
    sku: str
    buyer: Customer | None = None


class Order(NamedTuple):
    customer: Customer
    lines: list[Line]
    shipping: Line | None = None
    before: "Order | None" = None
    rows: list[list[Customer]] | None = None


def test_classes_in_a_class_are_made_too() -> None:
    order = Order(Customer(1, "Ada"), [Line("a"), Line("b", Customer(2))])
    for record in [Record(Order), Record(Order, form="vector")]:
        assert record.decode(record.encode(order)) == order
    # As tables, which is what dicts and other languages write.
    tables = {
        "customer": {"name": "Ada", "id": 1, "new": [1]},
        "lines": [{"sku": "a", "buyer": None}, {"buyer": {"id": 2}, "sku": "b"}],
        "shipping": None,
    }
    assert Record(Order).decode(value.encode(tables)) == order
    # A class in itself, and lists in lists, stay as `decode` gives them.
    deep = tables | {"before": {"customer": 1}, "rows": [[{"id": 1}]]}
    read = Record(Order).decode(value.encode(deep))
    assert read.before == {"customer": 1} and read.rows == [[{"id": 1}]]
    with pytest.raises(ValueFormatError, match="a record of Customer is a table or a vector"):
        Record(Order).decode(value.encode(tables | {"customer": "Ada"}))
    with pytest.raises(ValueFormatError, match="duplicate"):
        Record(Order).decode(b"\x0d\x01" + value.encode("customer") + b"\x0d\x02" + 2 * value.encode("id") * 2)


def test_bytes_that_are_no_record_of_a_class_are_refused() -> None:
    record = Record(Dns)
    data = record.encode(WHOLE)
    for length in range(len(data)):
        with pytest.raises(ValueFormatError):
            record.decode(data[:length])
    query = value.encode("query") + value.encode("x")
    with pytest.raises(ValueFormatError, match="duplicate"):
        record.decode(b"\x0d\x02" + query + query)
    with pytest.raises(ValueFormatError, match="a record of Dns is a table or a vector"):
        record.decode(value.encode("x"))
    with pytest.raises(ValueFormatError, match="deep"):
        record.decode(b"\x0d\x01" + value.encode("query") + b"\x0e\x01" * 128 + b"\x00")
    with pytest.raises(ValueFormatError, match="1 bytes follow"):
        record.decode(data + b"\x00")
    with pytest.raises(TypeError):
        record.decode(7)  # type: ignore[arg-type]
    # Damage at every byte: an error, or an instance with as many fields.
    for place in range(len(data)):
        for byte in [0, 2, 5, 13, 14, 127, 255]:
            damaged = data[:place] + bytes([byte]) + data[place + 1 :]
            with contextlib.suppress(ValueFormatError):
                assert len(record.decode(damaged)) == len(Dns._fields)


def test_an_instance_is_freed_with_its_fields() -> None:
    record = Record(Dns)
    data = record.encode(WHOLE)
    # Objects of other tests refer to the class too.
    gc.collect()
    before = sys.getrefcount(Dns)
    for _ in range(100):
        record.decode(data)
        with pytest.raises(ValueFormatError):
            record.decode(data[:-1])
    assert sys.getrefcount(Dns) == before
    kept = [record.decode(data) for _ in range(100)]
    assert gc.is_tracked(kept[0]) and gc.get_referents(kept[0])
    assert kept[0].answers is not kept[1].answers
    del kept
    gc.collect()
    assert sys.getrefcount(Dns) == before


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
        # It continues as before.
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


class Answer(NamedTuple):
    address: Address
    ttl: Timespan


class Connection(NamedTuple):
    """The record of vectors/value/records.json, which the three languages write and read."""

    uid: str
    client: Address
    port: Port
    network: Subnet | None
    started: Timestamp
    duration: Timespan | None
    is_local: bool
    bytes_sent: Count
    delta: int
    rate: float
    state: Name
    outcome: Any
    payload: bytes
    notes: Any
    tags: Any
    answers: list[Answer]
    extra: Any
    log: Name


def test_records_are_those_of_the_other_languages() -> None:
    vectors = json.loads((VECTORS / "value/records.json").read_text())
    whole = next(vector for vector in vectors if vector["name"] == "full")
    connection = Connection(
        "CHhAvVGS1DHFjwGM9", Address("10.0.0.1"), Port("53/udp"), Subnet("10.0.0.0/8"),
        Timestamp(1_649_574_000_123_456_789), Timespan(1_500_000_000), True, Count(2**64 - 1), -7, 0.25,
        Name("HalfOpen"), [Name("Closed"), [Integer(80)]], b"\xff\0", {"a": Integer(1), "b": Integer(-2)},
        frozenset({"dns", "ä"}), [Answer(Address("2001:db8::1"), Timespan(60_000_000_000)),
        Answer(Address("192.0.2.1"), Timespan(0))], [Integer(-1), None], Name("Conn::LOG"),
    )  # fmt: skip
    record = Record(Connection, form="vector")
    assert record.encode(connection).hex() == whole["vector"]
    assert record.decode(bytes.fromhex(whole["vector"])) == connection
    named = connection._replace(outcome=[Name("Closed"), {"code": Integer(80)}])
    assert record.decode(bytes.fromhex(whole["table"])) == named


def test_numbers_and_times_of_numpy_fit_requested_types() -> None:
    types = {"p": "port@proto", "proto": "enum", "at": "timestamp", "span": "timespan", "i": "integer", "x": "real"}
    record = Record({**types, "spans": "timespan"})
    of_python = {"p": 53, "proto": "udp", "at": 1.5, "span": 5, "i": 7, "x": 2, "spans": [1, 2]}
    of_numpy = {
        "p": numpy.uint16(53),
        "proto": numpy.str_("udp"),
        "at": numpy.float64(1.5),
        "span": numpy.int64(5),
        "i": numpy.uint8(7),
        "x": numpy.int32(2),
        "spans": numpy.array([1, 2]),
    }
    assert record.encode(of_numpy) == record.encode(of_python)
    wrong = {**of_numpy, "p": numpy.float32(1.5)}
    with pytest.raises(ValueFormatError, match="field p"):
        record.encode(wrong)


def test_what_numpy_has_beyond_python_is_encoded() -> None:
    moment = numpy.datetime64("2023-11-14T22:13:20.000000001")
    assert value.decode(value.encode(moment)) == Timestamp(1_700_000_000_000_000_001)
    assert value.decode(value.encode(numpy.datetime64("2023-11-14"))) == Timestamp("2023-11-14T00:00:00Z")
    assert value.decode(value.encode(numpy.timedelta64(1500, "ms"))) == Timespan("1500ms")
    times = numpy.array(["2023-11-14", "NaT"], "M8[s]")
    assert value.decode(value.encode(times)) == [Timestamp("2023-11-14T00:00:00Z"), None]
    assert value.decode(value.encode(numpy.longdouble(0.5))) == 0.5 and value.decode(
        value.encode(numpy.array([1], "g"))
    ) == [1.0]
    for complex_number in (numpy.clongdouble(1), numpy.complex64(1)):
        with pytest.raises(TypeError, match="is not a value"):
            value.encode(complex_number)
