"""Records with keys, headers and times: sent, stored in Kafka's batches, and read."""

import asyncio
import pickle
import time
from datetime import datetime, timezone

import pyarrow
import pytest
from conftest import Broker

import rawline

Whole = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]], int | None]


def whole(message: rawline.Message) -> Whole:
    value = None if message.value is None else bytes(message.value)
    return message.partition, message.offset, message.key, value, message.headers, message.timestamp


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_messages_return_what_was_sent(client: rawline.Client, topic: str, codec: rawline.batch.Codec) -> None:
    sent: list[Whole] = []
    now_ms = time.time_ns() // 1_000_000
    at = datetime(2026, 1, 2, 3, 4, 5, 678_901, timezone.utc)
    headers: list[tuple[str, bytes | None]] = [("a", b"1"), ("none", None), ("a", b"")]
    with client.producer(topic, codec=codec, batch_bytes=2000) as producer:
        for number in range(0, 300, 6):
            producer.send(f"plain {number}")
            sent.append((0, number, None, b"plain %d" % number, [], None))
            producer.send(b"x" * number, key=f"k{number}", headers=headers, timestamp=number)
            sent.append((0, number + 1, b"k%d" % number, b"x" * number, headers, number))
            producer.send(None, key=b"\xff", timestamp=at)
            sent.append((0, number + 2, b"\xff", None, [], 1767323045678))
            producer.send("h", headers={"text": "ü", "none": None}, timestamp=0)
            sent.append((0, number + 3, None, b"h", [("text", "ü".encode()), ("none", None)], 0))
            last = producer.send_many([b"1", b"2"], key=b"many")
            sent += [(0, number + 4, b"many", b"1", [], None), (0, number + 5, b"many", b"2", [], None)]
        assert last is not None and last.offset() == 299
    with client.consumer(topic, end=300, bytes_max=3000) as consumer:
        read = [whole(message) for message in consumer.messages()]
    for got, expected in zip(read, sent, strict=True):
        assert got[:5] == expected[:5]
        # Those sent without a time have that of sending, in Kafka's batches, which plain records join.
        assert got[5] == expected[5] or (expected[5] is None and now_ms <= (got[5] or 0) <= now_ms + 600_000)
    # As bytes, a null value is empty.
    records = [bytes(record) for record in client.consumer(topic, end=300).records()]
    assert records == [value or b"" for _, _, _, value, _, _ in sent]


def test_a_batch_of_kafkas_is_a_batch(client: rawline.Client, topic: str) -> None:
    appended = client.append(topic, [b"one", b"", b"three"], key="k", headers={"h": b"v"}, timestamp=5, codec="zstd")
    assert appended == (0, 3)
    client.append(topic, [b"plain"])
    (batch,) = client.read(topic, 0).batches
    assert (batch.is_kafka, batch.codec, len(batch), batch.created_us) == (True, "none", 3, 5000)
    assert [bytes(record) for record in batch] == batch.to_list() == [b"one", b"", b"three"]
    assert bytes(batch.data) == b"onethree" and bytes(batch.sizes) == b"\x03\0\0\0\0\0\0\0\x05\0\0\0"
    assert batch.batch_bytes == len(batch.wire) and batch.data_bytes == len(batch.wire) - 61
    assert pyarrow.array(batch).to_pylist() == [b"one", b"", b"three"] and pyarrow.array(batch).null_count == 0
    part = batch[1:]
    assert [(message.offset, message.key) for message in part.messages()] == [(1, b"k"), (2, b"k")]
    for copy in (pickle.loads(pickle.dumps(part)), rawline.parse_batch(batch.wire)[1:]):
        assert copy.is_kafka and [whole(message)[2:] for message in copy.messages()] == [
            (b"k", b"", [("h", b"v")], 5),
            (b"k", b"three", [("h", b"v")], 5),
        ]
    # Their bytes can be appended as they are.
    assert client.append_batches(topic, batch.wire) == (4, 7)
    batches = client.consumer(topic, end=7).take(7)
    table = pyarrow.table(batches).to_pydict()
    assert table["record"] == [b"one", b"", b"three", b"plain", b"one", b"", b"three"]
    assert [moment.timestamp() for moment in table["timestamp"][:3]] == [0.005] * 3
    (plain,) = [batch for batch in batches.batches if not batch.is_kafka]
    assert [whole(message) for message in plain.messages()] == [(0, 3, None, b"plain", [], None)]
    assert repr(next(part.messages())) == "<rawline.Message at offset 1 of partition 0, key b'k'>"


def test_a_damaged_batch_of_kafkas_is_an_error(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"one"], key="k")
    damaged = bytearray(client.read(topic, 0).batches[0].wire)
    damaged[-1] ^= 1
    for action in (lambda: rawline.parse_batch(damaged), lambda: client.append_batches(topic, damaged)):
        with pytest.raises(rawline.RawlineError) as raised:
            action()
        assert raised.value.code == "record_batch_damaged"
    with pytest.raises(rawline.BatchError, match="truncated"):
        rawline.parse_batch(damaged[:-1])


def test_a_loop_that_ends_within_a_batch_continues_there(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"0", b"1", b"2", b"3", b"4"], key="k")
    consumer = client.consumer(topic, end=5)
    messages, records = consumer.messages(), consumer.records()
    assert next(messages).offset == 0
    assert bytes(next(records)) == b"1"
    assert next(consumer.messages()).value == b"2"
    assert [bytes(record) for record in consumer.poll() or []] == [b"3", b"4"]


def test_a_key_chooses_its_partition_and_a_partition_key_is_not_stored(client: rawline.Client, topic: str) -> None:
    client.set_partitions(topic, 4)
    with client.producer(topic) as producer:
        chosen = [producer.send(b"x", key="21"), producer.send(b"x", partition_key="21")]
        named = producer.send(b"x", key="21", partition=2)
        producer.flush()
        # Where Kafka's Java client puts it: murmur2("21") is -973932308.
        assert [receipt.partition() for receipt in chosen] == [(-973932308 & 0x7FFFFFFF) % 4] * 2
        assert named.partition() == 2
        for wrong in ({"partition_key": "k", "partition": 1}, {"partition_key": "k", "key": "k"}):
            with pytest.raises(rawline.ConfigError, match="partition_key"):
                producer.send(b"x", **wrong)  # type: ignore[arg-type]
        with pytest.raises(rawline.ConfigError, match="milliseconds since 1970"):
            producer.send(b"x", timestamp=-1)
        with pytest.raises(TypeError, match="the record is None"):
            producer.send(None, partition_key="k")
    messages = client.consumer(topic, end=client.topic(topic)).messages()
    assert sorted((message.partition == 2, message.key) for message in messages if message.key) == [
        (False, b"21"),
        (True, b"21"),
    ]


def test_asyncio_has_keys_too(broker: Broker, topic: str) -> None:
    async def run() -> list[Whole]:
        async with rawline.AsyncClient(broker.url) as client:
            await client.append(topic, [b"0"], key=b"k0", headers=[("h", "v")], timestamp=1)
            async with client.producer(topic) as producer:
                receipt = await producer.send(b"1", key="k1", timestamp=2)
                assert await receipt == 1
                await producer.send_many([b"2", b"3"], headers={"many": b""}, timestamp=3)
            async with client.consumer(topic, end=4) as consumer:
                return [whole(message) async for message in consumer.messages()]

    assert asyncio.run(run()) == [
        (0, 0, b"k0", b"0", [("h", b"v")], 1),
        (0, 1, b"k1", b"1", [], 2),
        (0, 2, None, b"2", [("many", b"")], 3),
        (0, 3, None, b"3", [("many", b"")], 3),
    ]


def test_keys_are_stored_in_memory() -> None:
    broker = Broker("memory:")
    with rawline.Client(broker.url) as client, client.producer("t") as producer:
        assert producer.send(b"x", key="k").offset() == 0
    broker.stop()
