"""The producer against a real broker: order, back-pressure, retries, a broker that is killed meanwhile."""

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable

import pyarrow
import pytest
from conftest import Broker

import rawline


def test_receipts_give_the_offsets(client: rawline.Client, topic: str) -> None:
    with client.producer(topic) as producer:
        receipts = [producer.send(b"%d" % index) for index in range(100)]
        assert [receipt.offset(timeout=30) for receipt in receipts] == list(range(100))
        last = producer.send_many(b"%d" % index for index in range(100, 5000))
        assert last is not None and last.offset() == 4999
        last = producer.send_many(pyarrow.array([str(index) for index in range(5000, 6000)]))
        assert last is not None and last.offset() == 5999
        assert producer.send_many([]) is None
        producer.send("the last, not flushed")
    got = client.consumer(topic, end=6001).take(6001).to_list()
    assert got == [*(b"%d" % index for index in range(6000)), b"the last, not flushed"]
    with pytest.raises(rawline.ConfigError, match="the producer is closed"):
        producer.send(b"x")
    producer.close()


def test_a_failed_block_sends_nothing_more(client: rawline.Client, topic: str) -> None:
    client.set_payload(topic, "bytes")
    with pytest.raises(ZeroDivisionError), client.producer(topic, linger=60) as producer:  # noqa: PT012 - a block's exit
        producer.send(b"x")
        raise ZeroDivisionError
    assert client.topic(topic).records == 0


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_batches_are_made_as_asked_for(client: rawline.Client, topic: str, codec: str) -> None:
    with client.producer(topic, codec=codec, batch_records_max=100, linger=1) as producer:  # type: ignore[arg-type]
        producer.send_many([b"a record that can be compressed well " * 10] * 1000)
    batches = client.consumer(topic, end=1000).take(1000)
    assert {batch.codec for batch in batches.batches} == {codec} and {len(batch) for batch in batches.batches} == {100}


def test_batches_are_numbered_unless_asked_not_to_be(client: rawline.Client, topic: str) -> None:
    for number, exactly_once in enumerate([True, False]):
        with client.producer(topic, batch_records_max=3, linger=60, exactly_once=exactly_once) as producer:
            for record in range(10):
                producer.send(f"record {record}")
        batches = client.read(topic, number * 10, records_max=10).batches
        assert [batch.sequence for batch in batches] == [0, 3, 6, 9]
        assert len({batch.producer_id for batch in batches}) == 1
        assert (batches[0].producer_id != 0) == exactly_once


def test_records_that_no_batch_can_hold_harm_no_others(client: rawline.Client, topic: str) -> None:
    with client.producer(topic) as producer:
        producer.send(b"before")
        with pytest.raises(rawline.BatchError) as caught:
            producer.send(bytes(33 << 20))
        assert caught.value.code == "batch_limit" and caught.value.kind == "fix_request"
        producer.send(b"after")
    assert client.read(topic, 0).to_list() == [b"before", b"after"]


def test_a_full_buffer_makes_senders_wait(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    producer = client.producer("t", buffer_bytes=10_000, batch_bytes=5_000)
    client.health()
    broker.signal(signal.SIGSTOP)
    sent = 0
    with pytest.raises(rawline.WaitTimeoutError, match="buffer stayed full") as caught:  # noqa: PT012 - some send fails
        while sent < 100:
            producer.send(b"x" * 1000, timeout=0.1)
            sent += 1
    assert caught.value.kind == "wait" and 5 <= sent < 12
    with pytest.raises(rawline.WaitTimeoutError, match="buffer stayed full"):
        producer.send_many([b"x" * 1000] * 50, timeout=0.1)
    with pytest.raises(rawline.WaitTimeoutError, match="not all records are stored yet"):
        producer.flush(timeout=0.05)
    # A sender that waits continues when there is room.
    waiter = threading.Thread(target=producer.send, args=(b"waited",))
    waiter.start()
    broker.signal(signal.SIGCONT)
    waiter.join(30)
    producer.close()
    assert client.consumer("t").take(sent + 1).to_list()[-1] == b"waited"


def test_a_refused_producer_stops(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker("--no-create-topics")
    producer = rawline.Client(broker.url).producer("t")
    receipt = producer.send(b"x")
    with pytest.raises(rawline.RefusedError) as refused:
        receipt.offset()
    assert refused.value.code == "topic_not_found"
    with pytest.raises(rawline.RawlineError):
        producer.send(b"y")
    with pytest.raises(rawline.RawlineError):
        producer.close()


def test_ctrl_c_ends_a_send_that_waits(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    made = rawline.Client(broker.url).producer("t", buffer_bytes=10_000)
    with pytest.raises(KeyboardInterrupt), made as producer:  # noqa: PT012 - the signal must arrive inside
        broker.signal(signal.SIGSTOP)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        producer.send_many(b"x" * 1000 for _ in range(1000))
    broker.signal(signal.SIGCONT)


def test_a_close_that_was_not_awaited_continues(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    producer = client.producer("t")
    receipt = producer.send(b"x")
    receipt.offset(timeout=30)
    broker.signal(signal.SIGSTOP)
    late = producer.send(b"late")
    with pytest.raises(rawline.WaitTimeoutError, match="not all records are stored yet"):
        producer.close(timeout=0.05)
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        producer.close()
    with pytest.raises(rawline.ConfigError, match="the producer is closed"):
        producer.send(b"y")
    assert "not stored yet" in repr(late)
    broker.signal(signal.SIGCONT)
    producer.close()
    assert late.offset(timeout=0) == 1 and "stored at offset 1" in repr(late)
    assert client.read("t", 0).to_list() == [b"x", b"late"]


def test_a_close_that_failed_fails_again(start_broker: Callable[..., Broker]) -> None:
    producer = rawline.Client(start_broker("--no-create-topics").url).producer("t")
    receipt = producer.send(b"x")
    for _ in range(2):
        with pytest.raises(rawline.RefusedError, match="t"):
            producer.close()
    assert "not stored" in repr(receipt) and repr(producer) == "<rawline.Producer of 't', closed>"


def test_records_lost_with_their_producer_are_reported(client: rawline.Client, topic: str) -> None:
    producer = client.producer(topic, linger=60)
    receipt = producer.send(b"x")
    with pytest.warns(RuntimeWarning, match="dropped with records that are not stored: close it"):
        del producer
    with pytest.raises(rawline.StoppedError):
        receipt.offset()
    # One that is done needs no closing.
    producer = client.producer(topic, linger=0)
    producer.send(b"y").offset(timeout=30)


def test_many_threads_share_a_producer(client: rawline.Client, topic: str) -> None:
    offsets: dict[int, list[int]] = {}
    with client.producer(topic, buffer_bytes=20_000, batch_bytes=5_000) as producer:

        def produce(thread: int) -> None:
            receipts = [producer.send(b"%d %d" % (thread, number)) for number in range(1000)]
            offsets[thread] = [receipt.offset(timeout=30) for receipt in receipts]

        threads = [threading.Thread(target=produce, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    stored = client.consumer(topic, end=8000).take(8000).to_list()
    for thread, places in offsets.items():
        assert places == sorted(places)
        assert [stored[place] for place in places] == [b"%d %d" % (thread, number) for number in range(1000)]


def test_slips_are_refused(client: rawline.Client, topic: str) -> None:
    client.set_payload(topic, "bytes")
    with client.producer(topic) as producer:
        for one in (b"x", "x", bytearray(b"x"), memoryview(b"x")):
            with pytest.raises(TypeError, match="put it in a list"):
                producer.send_many(one)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a dict is not a sequence of records"):
            producer.send_many({"a": 1})  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="dict holds no bytes"):
            producer.send({"a": 1})  # type: ignore[arg-type]
    assert client.topic(topic).records == 0


def test_nothing_acknowledged_is_lost_when_the_broker_is_killed(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    acknowledged: dict[int, int] = {}
    receipts: list[tuple[int, rawline.Receipt]] = []
    stop = threading.Event()

    def produce() -> None:
        with client.producer("t", linger=0.001, batch_records_max=50, retry_for=60) as producer:
            number = 0
            while not stop.is_set():
                receipts.append((number, producer.send(b"%d" % number)))
                number += 1
                time.sleep(0.0002)

    thread = threading.Thread(target=produce)
    thread.start()
    for _ in range(3):
        sent = len(receipts)
        while len(receipts) < sent + 300:
            time.sleep(0.01)
        broker.kill()
        broker.start()
    stop.set()
    thread.join(60)
    assert not thread.is_alive()
    for number, receipt in receipts:
        acknowledged[receipt.offset(timeout=30)] = number
    assert len(acknowledged) == len(receipts)
    end = client.topic("t").next_offset
    stored = [int(bytes(record)) for record in client.consumer("t", end=end).records()]
    # Every acknowledged record is where its receipt said.
    assert all(stored[offset] == number for offset, number in acknowledged.items())
    # In order; a request whose response was lost may be duplicate.
    first_seen = list(dict.fromkeys(stored))
    assert first_seen == list(range(len(receipts)))


def texts(client: rawline.Client, partition: int) -> list[str]:
    """The records of a partition."""
    consumer = client.consumer("t", partitions=[partition], end=client.topic("t"))
    return [bytes(record).decode() for batch in consumer for record in batch]


def test_a_named_producer_takes_over_from_the_one_before_it(bucket_broker: Broker) -> None:
    """Records that the older one had in flight are stored before the first record of the newer one, or never."""
    client = rawline.Client(bucket_broker.url)
    client.create_topic("t", partitions=2)
    older = client.producer("t", name="orders 1", batch_records_max=3, in_flight_max=4)
    for number in range(100):
        older.send(f"older {number // 2}", partition=number % 2)
    with client.producer("t", name="orders 1") as newer:
        for number in range(100):
            newer.send(f"newer {number // 2}", partition=number % 2)
    with contextlib.suppress(rawline.FencedError):
        # At the latest this one shows that it is fenced.
        older.send("late", partition=0)
    with pytest.raises(rawline.FencedError) as raised:
        older.flush()
    assert (raised.value.code, raised.value.status, raised.value.kind) == ("producer_fenced", 409, "fix_request")
    with pytest.raises(rawline.FencedError):
        older.send("late")
    older._core.abandon()

    async def take_over() -> None:
        async with rawline.AsyncClient(bucket_broker.url) as client, client.producer("t", name="orders 1") as newest:
            await (await newest.send("newest", partition=0))
            await client.producer("t", name="orders 1").ready()
            receipt = await newest.send("late", partition=0)
            with pytest.raises(rawline.FencedError):
                await receipt
            newest._core.abandon()

    asyncio.run(take_over())
    for partition, last in [(0, ["newest"]), (1, [])]:
        records = texts(client, partition)
        before = len(records) - 50 - len(last)
        assert records == [*(f"older {n}" for n in range(before)), *(f"newer {n}" for n in range(50)), *last]


def test_a_named_producer_is_exactly_once(client: rawline.Client) -> None:
    with pytest.raises(rawline.ConfigError, match="exactly once"):
        client.producer("t", name="p", exactly_once=False)
