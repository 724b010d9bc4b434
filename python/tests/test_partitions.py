"""Topics of several partitions: keys, numbers, batches without either, consumers of some and all."""

import asyncio
import json
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars
import pytest
from conftest import VECTORS, Broker

import rawline


@pytest.fixture
def parted(client: rawline.Client, topic: str) -> str:
    """An empty topic of four partitions."""
    assert client.set_partitions(topic, 4).partitions == 4
    return topic


def murmur2(key: bytes) -> int:
    """The hash of Kafka's clients, as its definition says."""
    words, rest = len(key) // 4 * 4, key[len(key) // 4 * 4 :]
    mixed = 0x9747B28C ^ len(key)
    for at in range(0, words, 4):
        word = int.from_bytes(key[at : at + 4], "little") * 0x5BD1E995 & 0xFFFFFFFF
        word = (word ^ word >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        mixed = (mixed * 0x5BD1E995 & 0xFFFFFFFF) ^ word
    if rest:
        mixed = (mixed ^ int.from_bytes(rest, "little")) * 0x5BD1E995 & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    return mixed ^ mixed >> 15


def read_all(client: rawline.Client, topic: str) -> dict[int, list[bytes]]:
    """The records of each partition until now."""
    records: dict[int, list[bytes]] = {}
    for batch in client.consumer(topic, end=client.topic(topic)):
        of_partition = records.setdefault(batch.partition, [])
        assert batch.first_offset == len(of_partition)
        of_partition.extend(batch.to_list())
    return records


def test_the_hash_is_kafkas() -> None:
    for key, wanted in [("21", -973932308), ("foobar", -790332482), ("a-little-bit-long-string", -985981536)]:
        assert murmur2(key.encode()) == wanted & 0xFFFFFFFF


def test_every_keys_records_are_in_order_in_its_partition(client: rawline.Client, parted: str) -> None:
    receipts = {}
    with client.producer(parted, batch_records_max=50, buffer_bytes=20_000) as producer:
        for number in range(5000):
            record = b"key-%d %d" % (number % 37, number)
            key = record.split()[0]
            receipts[record] = producer.send(record, key=key if number % 2 else key.decode())
    latest: dict[bytes, int] = {}
    everything = read_all(client, parted)
    assert sorted(everything) == [0, 1, 2, 3]
    for partition, records in everything.items():
        for offset, record in enumerate(records):
            key, number = record.split()
            assert partition == (murmur2(key) & 0x7FFFFFFF) % 4
            assert latest.get(key, -1) < int(number)
            latest[key] = int(number)
            receipt = receipts.pop(record)
            assert (receipt.partition(), receipt.offset()) == (partition, offset)
    assert not receipts
    assert client.topic(parted).records == 5000


def test_records_without_a_key_go_to_all_partitions_batch_by_batch(client: rawline.Client, parted: str) -> None:
    with client.producer(parted, batch_records_max=10, linger=3600) as producer:
        producer.send_many(b"%d" % number for number in range(400))
    everything = read_all(client, parted)
    assert sorted(everything) == [0, 1, 2, 3]
    for records in everything.values():
        for first in range(0, len(records), 10):
            start = int(records[first])
            assert start % 10 == 0 and records[first : first + 10] == [b"%d" % (start + i) for i in range(10)]


def test_a_partition_can_be_chosen(client: rawline.Client, parted: str) -> None:
    with client.producer(parted) as producer:
        assert producer.send(b"x", partition=3).partition() == 3
        last = producer.send_many([b"y", b"z"], partition=2)
        assert last is not None and (last.partition(), last.offset()) == (2, 1)
        assert repr(last) == "<rawline.Receipt: stored at offset 1 of partition 2>"
        with pytest.raises(rawline.RefusedError, match="has 4 partition") as caught:
            producer.send(b"x", partition=4)
        assert caught.value.code == "partition_not_found" and caught.value.kind == "fix_request"
        with pytest.raises(rawline.ConfigError, match="one of them"):
            producer.send(b"x", partition_key="k", partition=1)
        with pytest.raises(rawline.ConfigError, match="partition is -1"):
            producer.send(b"x", partition=-1)
        # It continues, and uses partitions as soon as they are asked for.
        client.set_partitions(parted, 5)
        assert producer.send(b"x", partition=4).partition() == 4


def test_requests_name_a_partition(client: rawline.Client, parted: str) -> None:
    assert client.append(parted, [b"1", b"2", b"3"], partition=2) == (0, 3)
    assert client.append_records(parted, memoryview(b"\x01\0\0\0"), b"4", partition=2) == (3, 4)
    for batch in client.read(parted, 1, records_max=1, partition=2).batches:
        assert batch.partition == 2 and batch.to_list() == [b"2"]
        assert client.append_batches(parted, batch.wire, partition=1) == (0, 1)
        copy = pickle.loads(pickle.dumps(batch))
        assert (copy.partition, copy.first_offset) == (2, 1)
    assert client.trim(parted, 2, partition=2) == (2, 4)
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    assert client.offset_at(parted, tomorrow, partition=2) == 4 and client.offset_at(parted, tomorrow) == 0
    info = client.topic(parted)
    assert info.partitions == 4 and info.offsets == ((0, 0), (0, 1), (2, 4), (0, 0))
    assert info.records == 3 and info.offsets[2].records == 2
    listed = {each.name: each for each in client.topics()}[parted]
    assert listed.partitions == 4 and listed.offsets == ()
    requests: list[Callable[[], object]] = [
        lambda: client.append(parted, [b"x"], partition=4),
        lambda: client.read(parted, 0, partition=4),
        lambda: client.trim(parted, 0, partition=4),
        lambda: client.offset_at(parted, tomorrow, partition=4),
    ]
    for request in requests:
        with pytest.raises(rawline.RefusedError) as caught:
            request()
        assert caught.value.code == "partition_not_found" and caught.value.status == 404
    with pytest.raises(rawline.RefusedError) as caught:
        client.set_partitions(parted, 3)
    assert caught.value.code == "partitions_fewer" and caught.value.status == 409
    for number in [0, 1025]:
        with pytest.raises(rawline.ConfigError, match="from 1 to 1024"):
            client.create_topic(parted + "-new", partitions=number)


def test_a_consumer_reads_some_partitions_from_where_another_was(client: rawline.Client, parted: str) -> None:
    for partition in range(1, 4):
        client.append(parted, [b"%d" % number for number in range(10 * partition)], partition=partition)
    offsets: dict[int, int] = {}
    with client.consumer(parted, partitions=[1, 3]) as consumer:
        while sum(offsets.values()) < 40:
            for batch in (consumer.poll() or rawline.Batches()).batches:
                offsets[batch.partition] = batch.next_offset
    assert offsets == {1: 10, 3: 30}
    client.append(parted, [b"30"], partition=3)
    with client.consumer(parted, offsets, partitions=[1, 3], end={1: 10, 3: 31}) as consumer:
        assert [bytes(record) for record in consumer.records()] == [b"30"] and consumer.ended
    # The others are read from their beginning.
    with client.consumer(parted, offsets, end=client.topic(parted)) as consumer:
        taken = consumer.take(1000)
        assert len(taken) == 21 and {batch.partition for batch in taken.batches} == {2, 3}
    with client.consumer(parted, "latest") as consumer:
        assert consumer.poll(timeout=0.01) is None
        received: rawline.Batches | None = None
        # It may not know the ends yet when the first one is appended.
        while received is None:
            client.append(parted, [b"new"], partition=2)
            received = consumer.poll(timeout=0.5)
        assert received.batches[0].partition == 2 and set(received.to_list()) == {b"new"}
    for wrong in [{"partitions": [4]}, {"start": {4: 0}}, {"end": {4: 7}}]:
        with pytest.raises(rawline.RefusedError) as caught:
            client.consumer(parted, **wrong).poll()  # type: ignore[arg-type]
        assert caught.value.code == "partition_not_found"
    with pytest.raises(rawline.ConfigError, match="partitions is empty"):
        client.consumer(parted, partitions=[])
    with pytest.raises(rawline.ConfigError, match="the end has no partitions"):
        client.consumer(parted, end=next(each for each in client.topics() if each.name == parted))


def test_tables_have_the_partition(client: rawline.Client, parted: str) -> None:
    for partition in range(4):
        client.append(parted, [b"x"] * (partition + 1), partition=partition)
    frame = polars.DataFrame(client.consumer(parted, end=client.topic(parted)).take(10))
    assert frame.columns == ["partition", "offset", "timestamp", "key", "record", "headers"]
    counts = frame.group_by("partition").len().sort("partition")
    assert counts.rows() == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_consumer_continues_in_each_partition_after_a_crash(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    client.create_topic("t", partitions=2)
    client.append("t", [b"whole"], partition=1)
    consumer = client.consumer("t")
    first = consumer.poll()
    assert first is not None and first.batches[0].partition == 1
    broker.kill()
    broker.start()
    client.append("t", [b"more"], partition=0)
    client.append("t", [b"more"], partition=1)
    received = {(batch.partition, batch.first_offset) for batch in consumer.take(2).batches}
    assert received == {(0, 0), (1, 1)}


def test_damage_in_one_partition_hides_nothing_of_the_others(client: rawline.Client, parted: str) -> None:
    cases = json.loads((VECTORS / "batch/batches.json").read_text())["cases"]
    damaged = next(bytes.fromhex(case["hex"]) for case in cases if case.get("error") == "batch_decompress")
    good = rawline.build_batch([b"good"] * 3)
    for partition in [0, 2, 3]:
        client.append_batches(parted, good, partition=partition)
    client.append_batches(parted, good + damaged + good, partition=1)
    consumer, errors, read = client.consumer(parted), 0, list[tuple[int, int]]()
    while errors < 3 or len(read) < 5:
        try:
            received = consumer.poll() or rawline.Batches()
            read.extend((batch.partition, batch.first_offset) for batch in received.batches)
        except rawline.BatchError as error:
            errors += error.code == "batch_decompress"
            if errors == 2:
                client.append_batches(parted, good, partition=3)
    assert sorted(read) == [(0, 0), (1, 0), (2, 0), (3, 0), (3, 3)]


def test_asyncio_has_the_same(broker: Broker, parted: str) -> None:
    async def main() -> None:
        async with rawline.AsyncClient(broker.url) as client:
            assert (await client.set_partitions(parted, 6)).partitions == 6
            async with client.producer(parted) as producer:
                receipt = await producer.send(b"keyed", key="21")
                assert await receipt == 0 and receipt.partition() == (murmur2(b"21") & 0x7FFFFFFF) % 6
                chosen = await producer.send(b"chosen", partition=5)
                assert await chosen == 0 and chosen.partition() == 5
                last = await producer.send_many([b"many"] * 3000, partition=5)
                assert last is not None and await last == 3000
            end = await client.topic(parted)
            async with client.consumer(parted, {5: 2999}, end=end) as consumer:
                records = [bytes(record) async for record in consumer.records()]
            assert sorted(records) == [b"keyed", b"many", b"many"]
            assert await client.append(parted, [b"x"], partition=4) == (0, 1)
            assert (await client.read(parted, 0, partition=4)).to_list() == [b"x"]
            assert await client.trim(parted, 1, partition=4) == (1, 1)
            assert await client.offset_at(parted, datetime.now(timezone.utc), partition=4) == 1
            assert (await client.create_topic(parted + "-new", partitions=2)).partitions == 2

    asyncio.run(main())


def test_the_documented_example_is_the_tested_one(broker: Broker, tmp_path: Path) -> None:
    example = Path(__file__).parents[1] / "examples/partitions.py"
    printed = broker.run_example(example, tmp_path).splitlines()
    assert [line for line in printed if "ada" in line] == ["1/0  ada logged in", "1/1  ada logged in"]
    assert "2/0  grace logged in" in printed and len(printed) == 3
    page = (example.parents[2] / "docs/clients.md").read_text()
    assert f"```python\n{example.read_text()}```" in page
