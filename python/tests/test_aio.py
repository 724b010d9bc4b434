"""The asyncio twins: the same behaviour, in a running loop."""

import asyncio
import gc
import signal
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from pathlib import Path

import pyarrow
import pytest
from conftest import Broker

import rawline


def run(main: Awaitable[None]) -> None:
    asyncio.run(main)  # type: ignore[arg-type]


def test_everything_is_awaited(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with rawline.AsyncClient(broker.url) as client:
            await client.health()
            assert await client.append(topic, [b"one", "two"]) == (0, 2)
            assert (await client.read(topic, 0)).to_list() == [b"one", b"two"]
            assert (await client.topic(topic)).records == 2
            assert topic in [info.name for info in await client.topics()]
            assert await client.offset_at(topic, datetime(2020, 1, 1, tzinfo=timezone.utc)) == 0
            assert (await client.set_payload(topic, "value")).payload == "value"
            assert (await client.set_retention(topic, retain_hours=100)).retain_hours == 100
            assert (await client.set_cleanup_policy(topic, "compact")).cleanup_policy == "compact"
            assert (await client.set_cleanup_policy(topic, "delete")).cleanup_policy == "delete"
            assert await client.trim(topic, 0) == (0, 2)
            assert (await client.create_topic(topic + "-new", retain_bytes=7)).retain_bytes == 7
            assert await client.delete_topic(topic + "-new") is None
            for batch in (await client.read(topic, 0)).batches:
                assert await client.append_batches(topic, batch.wire) == (2, 4)
            async with client.producer(topic) as producer:
                receipt = await producer.send(b"three")
                assert await receipt == 4
                last = await producer.send_many(b"%d" % index for index in range(5, 5000))
                assert last is not None and await last == 4999
                last = await producer.send_many(pyarrow.array(["a", "b"]))
                await producer.flush()
                assert last is not None and await last == 5001
            async with client.consumer(topic, 4, end=5002) as consumer:
                records = [bytes(record) async for record in consumer.records()]
            assert records == [b"three", *(b"%d" % index for index in range(5, 5000)), b"a", b"b"]
            assert len(await client.consumer(topic, end=5002).take(100_000)) == 5002
            with pytest.raises(rawline.RefusedError):
                await client.topic("no such name")

    run(main())


def test_the_loop_continues_meanwhile(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        consumers = [client.consumer(topic, wait_for_topic=True) for _ in range(50)]
        polls = [asyncio.ensure_future(consumer.poll()) for consumer in consumers]
        await asyncio.sleep(0.05)
        assert not any(poll.done() for poll in polls)
        await client.append(topic, [b"for all"])
        for came in await asyncio.gather(*polls):
            assert came is not None and came.to_list() == [b"for all"]

    run(main())


def test_a_cancelled_wait_loses_nothing(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        consumer = client.consumer(topic, wait_for_topic=True)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(consumer.poll(), 0.05)
        assert await consumer.poll(timeout=0.05) is None
        await client.append(topic, [b"later"])
        came = await asyncio.wait_for(consumer.poll(), 30)
        assert came is not None and came.to_list() == [b"later"]

    run(main())


def test_what_came_while_a_wait_was_cancelled_comes_again(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        consumer = client.consumer(topic)
        await client.append(topic, [b"first"])
        poll = asyncio.ensure_future(consumer.poll())
        await asyncio.sleep(0)
        # The answer comes while the loop is busy, and the cancellation gets to the task before it.
        time.sleep(0.2)
        poll.cancel()
        with pytest.raises(asyncio.CancelledError):
            await poll
        take = asyncio.ensure_future(consumer.take(2))
        await asyncio.sleep(0.1)
        take.cancel()
        with pytest.raises(asyncio.CancelledError):
            await take
        await client.append(topic, [b"second"])
        assert (await consumer.take(2, timeout=30)).to_list() == [b"first", b"second"]

    run(main())


def test_an_async_for_that_is_left_within_a_batch_continues_there(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        await client.append(topic, [b"0", b"1", b"2", b"3"])
        consumer = client.consumer(topic, end=4)
        async for record in consumer.records():
            assert record == b"0"
            break
        rest = await consumer.take(3)
        assert rest.to_list() == [b"1", b"2", b"3"] and consumer.ended and await consumer.poll() is None

    run(main())


def test_closing_ends_another_tasks_wait(broker: Broker, topic: str) -> None:
    async def main() -> None:
        consumer = rawline.AsyncClient(broker.url).consumer(topic, "latest", wait_for_topic=True)

        async def follow() -> list[rawline.Batch]:
            return [batch async for batch in consumer]

        follower = asyncio.ensure_future(follow())
        await asyncio.sleep(0.1)
        await consumer.close()
        assert await asyncio.wait_for(follower, 10) == []
        with pytest.raises(rawline.ConfigError, match="closed"):
            await consumer.poll()

    run(main())


def test_a_close_that_is_cancelled_continues(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()

    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        producer = client.producer("t")
        await (await producer.send(b"first"))
        broker.signal(signal.SIGSTOP)
        await producer.send(b"late")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(producer.close(), 0.05)
        broker.signal(signal.SIGCONT)
        await producer.close()
        assert (await client.read("t", 0)).to_list() == [b"first", b"late"]

    run(main())


def test_many_tasks_share_a_producer(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        async with client.producer(topic, buffer_bytes=2_000, batch_bytes=500) as producer:

            async def send(number: int) -> tuple[int, int]:
                return await (await producer.send(b"%d" % number)), number

            places = await asyncio.gather(*(send(number) for number in range(2000)))
        stored = (await client.consumer(topic, end=2000).take(2000)).to_list()
        assert all(stored[place] == b"%d" % number for place, number in places)

    run(main())


def test_a_full_buffer_is_awaited(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()

    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        producer = client.producer("t", buffer_bytes=10_000, batch_bytes=5_000)
        broker.signal(signal.SIGSTOP)
        sent = 0
        with pytest.raises(asyncio.TimeoutError):  # noqa: PT012 - which send fails depends on the buffer
            while sent < 100:
                await asyncio.wait_for(producer.send(b"x" * 1000), 0.1)
                sent += 1
        assert 5 <= sent < 12
        broker.signal(signal.SIGCONT)
        await producer.send(b"last")
        await producer.close()
        assert (await client.consumer("t").take(sent + 1)).to_list()[-1] == b"last"

    run(main())


def test_a_loop_that_was_closed_meanwhile_is_left_alone(broker: Broker, topic: str) -> None:
    client = rawline.AsyncClient(broker.url)

    async def begin() -> None:
        # Nothing keeps the task: the loop is closed while it waits.
        asyncio.ensure_future(client.consumer(topic, wait_for_topic=True).poll(timeout=0.05))  # noqa: RUF006
        await asyncio.sleep(0.01)

    run(begin())
    gc.collect()
    run(client.health())


ENDS_WHILE_A_LOOP_IS_TOLD = """
import asyncio, sys, time, types, rawline

class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

# Where nothing but the interpreter's end deletes it.
sys.modules["slow"] = types.ModuleType("slow")
sys.modules["slow"].slow = Slow()

async def main():
    loop = asyncio.get_running_loop()
    tell = loop.call_soon_threadsafe
    def tell_slowly(*arguments):
        tell(*arguments)
        time.sleep(0.1)
    loop.call_soon_threadsafe = tell_slowly
    await rawline.AsyncClient().health()
    print("healthy")

asyncio.run(main())
"""


def test_the_interpreter_ends_cleanly_while_a_loop_gets_results(broker: Broker, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ENDS_WHILE_A_LOOP_IS_TOLD)
    assert broker.run_example(script, tmp_path) == "healthy\n"


def test_results_that_arrive_together_wake_the_loop_up_once(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)
        await client.append(topic, ["first"])
        loop, wakes = asyncio.get_running_loop(), 0
        wake = loop.call_soon_threadsafe

        def count(*arguments: object) -> asyncio.Handle:
            nonlocal wakes
            wakes += 1
            return wake(*arguments)  # type: ignore[arg-type]

        loop.call_soon_threadsafe = count  # type: ignore[method-assign,assignment]
        appends = [asyncio.ensure_future(client.append(topic, [str(number)])) for number in range(64)]
        await asyncio.sleep(0)
        # All are in flight. The results come while the loop is busy.
        time.sleep(0.5)
        offsets = {(await append).first_offset for append in appends}
        assert offsets == set(range(1, 65))
        assert 1 <= wakes < 8, wakes

    run(main())


def test_small_appends_together_keep_their_results(broker: Broker, topic: str) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(broker.url)

        async def append(number: int) -> int | None:
            # Every third one is refused.
            if number % 3 == 0:
                with pytest.raises(rawline.RefusedError, match="partition"):
                    await client.append(topic, [str(number)], partition=7)
                return None
            return (await client.append(topic, [str(number)])).first_offset

        await client.append(topic, ["first"])
        offsets = await asyncio.gather(*(append(number) for number in range(300)))
        assert [offset is None for offset in offsets] == [number % 3 == 0 for number in range(300)]
        stored = [bytes(record) for record in await client.read(topic, 0)]
        assert len(stored) == 201
        for number, offset in enumerate(offsets):
            assert offset is None or stored[offset] == str(number).encode()

    run(main())


def test_the_sync_client_works_inside_a_running_loop(broker: Broker, topic: str) -> None:
    # As in a notebook, whose cells run inside of a loop.
    async def cell() -> None:
        client = rawline.Client(broker.url)
        with client.producer(topic) as producer:
            producer.send_many([b"a", b"b"])
        assert client.consumer(topic, end=2).take(2).to_list() == [b"a", b"b"]

    run(cell())


def test_a_missing_topic_is_an_error_unless_waited_for(start_broker: Callable[..., Broker]) -> None:
    async def main() -> None:
        client = rawline.AsyncClient(start_broker("--no-create-topics").url)
        with pytest.raises(rawline.RefusedError) as refused:
            await client.consumer("typo").poll()
        assert refused.value.code == "topic_not_found"
        assert await client.consumer("typo", wait_for_topic=True).poll(timeout=0.2) is None

    run(main())
