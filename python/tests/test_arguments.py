"""Errors name wrong arguments, objects say what they are, and help() says what the stubs say."""

import ast
import inspect
import re
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy
import pytest
from conftest import Broker

import rawline
from rawline import _rawline, avro, measurement

STUBS = Path(rawline.__file__).with_name("_rawline.pyi")


def test_numbers_that_can_not_be_are_named(client: rawline.Client, topic: str) -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: client.read(topic, -1), "offset is -1; give a whole number"),
        (lambda: client.read(topic, 0, bytes_max=1 << 64), "bytes_max is 18446744073709551616"),
        (lambda: client.consumer(topic, -5), "start is -5"),
        (lambda: client.consumer(topic, end=-5), "end is -5"),
        (lambda: client.producer(topic, batch_bytes=-1), "batch_bytes is -1"),
        (
            lambda: client.producer(topic, batch_records_max=1 << 32),
            "batch_records_max is 4294967296; that is too large",
        ),
        (lambda: client.producer(topic, linger=float("nan")), "linger is NaN; give seconds"),
        (lambda: client.consumer(topic).poll(timeout=-1), "timeout is -1; give seconds"),
        (lambda: client.consumer(topic).poll(timeout=float("nan")), "timeout is NaN; give seconds"),
        (lambda: rawline.build_batch([b"x"], created_us=-1), "created_us is -1"),
        (lambda: rawline.parse_batch(b"", rawline.Limits(records_max=-1)), "records_max is -1"),
        (lambda: measurement.Reader(series_max=-1), "series_max is -1"),
        (lambda: measurement.Reader().series(-1), "since is -1"),
        (lambda: avro.Decoder(measurement.SCHEMA, strings="dictionary", strings_max=-1), "strings_max is -1"),
    ]
    for call, why in wrong:
        with pytest.raises(rawline.ConfigError, match=re.escape(why)) as caught:
            call()
        assert isinstance(caught.value, ValueError) and caught.value.kind == "fix_request"


def test_arguments_of_other_types_are_named(client: rawline.Client, topic: str) -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: client.consumer(topic, 1.5), "start is 1.5; give"),  # type: ignore[arg-type]
        (lambda: client.consumer(topic, None), "start is None; give"),  # type: ignore[arg-type]
        (lambda: client.producer(topic, buffer_bytes=1e6), "buffer_bytes is 1000000.0; give a whole number"),  # type: ignore[arg-type]
        (lambda: client.offset_at(topic, 5), "5 is not a time; give a datetime"),  # type: ignore[arg-type]
        (lambda: client.read(topic, "0"), "offset is '0'; give a whole number"),  # type: ignore[arg-type]
    ]
    for call, why in wrong:
        with pytest.raises(TypeError, match=re.escape(why)):
            call()


def test_what_counts_as_a_number_or_a_time_is_taken(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"%d" % number for number in range(10)])
    five: Any = numpy.int64(5)
    assert client.consumer(topic, five, end=numpy.uint32(7)).take(2).to_list() == [b"5", b"6"]  # type: ignore[arg-type]
    assert client.read(topic, five, records_max=five).first_offset == 5
    # Nothing is older than 1970.
    assert client.offset_at(topic, datetime(1960, 1, 1, tzinfo=timezone.utc)) == 0
    assert client.consumer(topic, datetime(1960, 1, 1, tzinfo=timezone.utc), end=10).take(10).to_list()[-1] == b"9"
    # Longer than a clock can count is forever.
    with client.producer(topic, linger=1e18) as producer:
        producer.send(b"x", timeout=float("inf"))
    assert client.topic(topic).records == 11


def test_numbers_and_times_of_numpy_are_taken(broker: Broker, client: rawline.Client, topic: str) -> None:
    whole: Any = numpy.int64
    real: Any = numpy.float32
    text: Any = numpy.str_
    moment: Any = numpy.datetime64("2026-01-02T03:04:05.678")
    timeouts = {"connect_timeout": real(5), "request_timeout": whole(30), "retry_for": real(3)}
    assert rawline.Client(broker.url, **timeouts).topics()
    client.set_partitions(topic, whole(2))
    client.set_retention(topic, retain_hours=real(1.5), retain_bytes=whole(1 << 40))
    client.append(topic, [text("a")], key=text("k"), timestamp=moment, partition=numpy.uint8(1))
    with client.producer(topic, linger=real(0.01), batch_records_max=whole(5), in_flight_max=whole(2)) as producer:
        sent = producer.send(numpy.bytes_(b"b"), partition=whole(1), timestamp=whole(5), timeout=real(30))
        assert sent.offset(real(30)) == 1
        producer.flush(real(30))
    one = numpy.array([1])
    consumer = client.consumer(topic, {whole(1): whole(0)}, partitions=one, end={whole(1): whole(2)}, wait=real(1))  # type: ignore[arg-type]
    taken = consumer.take(whole(2), timeout=real(30))
    assert [message.timestamp for message in taken.messages()] == [1_767_323_045_678, 5]
    assert bytes(taken[whole(0)]) == b"a" and bytes(taken.batches[0][whole(0)]) == b"a" and len(taken[: whole(1)]) == 1
    hour = numpy.timedelta64(1, "h")
    now: Any = numpy.datetime64("now")
    assert client.offset_at(topic, now - hour, partition=whole(1)) == 0
    assert client.offset_at(topic, now + hour, partition=whole(1)) == 2
    assert len(client.consumer(topic, now - hour, end=client.topic(topic)).take(2)) == 2
    assert client.trim(topic, whole(1), partition=whole(1)).first_offset == 1
    client.set_group_offsets("numpy", topic, {whole(1): whole(1)})
    assert client.group("numpy").offsets[0].offset == 1


def test_objects_say_what_they_are(broker: Broker, client: rawline.Client, topic: str) -> None:
    secret = rawline.Client(broker.url, api_key="secret")
    aio = rawline.AsyncClient(broker.url)
    assert repr(secret) == f"<rawline.Client of {broker.url}>" and repr(aio) == f"<rawline.AsyncClient of {broker.url}>"
    with client.producer(topic) as producer:
        assert repr(producer) == f"<rawline.Producer of '{topic}'>"
        receipt = producer.send(b"x")
        receipt.offset(timeout=30)
        assert repr(receipt) == "<rawline.Receipt: stored at offset 0 of partition 0>"
    assert repr(producer) == f"<rawline.Producer of '{topic}', closed>"
    assert repr(aio.producer(topic)) == f"<rawline.AsyncProducer of '{topic}'>"
    assert repr(aio.consumer(topic)) == f"<rawline.AsyncConsumer of '{topic}'>"
    assert repr(client.consumer(topic)) == f"<rawline.Consumer of '{topic}'>"
    batches = client.read(topic, 0)
    assert repr(batches) == "<rawline.Batches: 1 record in 1 batch>"
    assert repr(batches.batches[0]) == "<rawline.Batch of 1 record, offsets 0 to 1>"
    rows = measurement.Reader().decode([measurement.encode("cpu", {}, 1, 1)])
    assert repr(rows).startswith("<rawline.avro.Table of 1 row: ")
    assert repr(measurement.Reader()) == "<rawline.measurement.Reader of 0 series>"


def words(text: str | None) -> str:
    return " ".join((text or "").split())


@pytest.mark.parametrize("name", ["Batch", "BatchIterator", "Batches", "Receipt", "Schema", "Table"])
def test_help_says_what_the_stubs_say(name: str) -> None:
    stub = next(
        node for node in ast.parse(STUBS.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name
    )
    native = getattr(_rawline, name)
    assert words(native.__doc__) == words(ast.get_docstring(stub)) != ""
    for member in stub.body:
        # Methods that Python itself calls have Python's messages.
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
            found = inspect.getattr_static(native, member.name)
            assert words(found.__doc__) == words(ast.get_docstring(member)) != "", member.name


def test_every_public_name_is_described() -> None:
    for name in rawline.__all__:
        public = getattr(rawline, name)
        if name == "__version__":
            continue
        assert public.__doc__, name
        for member, value in vars(public).items() if inspect.isclass(public) else []:
            if not member.startswith("_") and callable(value):
                assert value.__doc__, f"{name}.{member}"
