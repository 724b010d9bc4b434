"""Subscriptions of a real broker: topics and prefixes, cursors, filters, breaks, and what is skipped or deleted."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import islice

import pytest
from conftest import Broker

import rawline
from rawline import value


def texts(batch: object) -> list[str]:
    assert isinstance(batch, rawline.Batch), batch
    return [bytes(record).decode() for record in batch]


def test_topics_and_prefixes_also_those_that_are_created_later(client: rawline.Client, topic: str) -> None:
    for name in [topic, f"{topic}.a.old", f"{topic}.b"]:
        client.append(name, ["before"])
    with client.subscribe(topic, prefixes=[f"{topic}.a."]) as subscription:
        assert repr(subscription) == f"<rawline.Subscription of '{topic}', '{topic}.a.'*>"
        client.append(f"{topic}.b", ["not this"])
        client.append(topic, ["1", "2"])
        client.append(f"{topic}.a.old", ["3"])
        client.append(f"{topic}.a.new", ["4", "5"], codec="zstd")
        received = defaultdict(list)
        while sum(map(len, received.values())) < 5:
            batch = subscription.poll(10)
            assert isinstance(batch, rawline.Batch)
            received[batch.topic] += [(offset, text) for offset, text in enumerate(texts(batch), batch.first_offset)]
        assert received == {
            topic: [(1, "1"), (2, "2")],
            f"{topic}.a.old": [(1, "3")],
            f"{topic}.a.new": [(0, "4"), (1, "5")],
        }
        assert subscription.poll(0.05) is None and subscription.skipped == 0
    with pytest.raises(rawline.ConfigError, match="closed"):
        subscription.poll(0)


def test_a_cursor_continues_in_another_process_at_the_record_that_a_loop_has_taken(
    client: rawline.Client, broker: Broker, topic: str
) -> None:
    client.append(topic, [b"%d" % number for number in range(10)])
    with client.subscribe(topic, start="earliest") as subscription:
        assert [bytes(record) for record in islice(subscription.records(), 3)] == [b"0", b"1", b"2"]
        assert re.search(f";{topic}~[0-9a-f]{{8}}/0=3$", subscription.cursor or "")
        program = (
            "import rawline, sys\n"
            "client = rawline.Client(sys.argv[1])\n"
            "with client.subscribe(sys.argv[2], cursor=sys.argv[3]) as subscription:\n"
            "    for message in subscription.messages():\n"
            "        print(message.topic, message.offset, bytes(message.value).decode(), flush=True)\n"
            "        if message.offset == 9: break\n"
        )
        command = [sys.executable, "-c", program, broker.url, topic, subscription.cursor]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        assert printed.splitlines() == [f"{topic} {number} {number}" for number in range(3, 10)]
        # The same one continues as well, with the rest of its batch.
        assert texts(subscription.poll(10)) == [str(number) for number in range(3, 10)]


def test_messages_have_keys_headers_and_times(client: rawline.Client, topic: str) -> None:
    client.append(topic, ["old"])
    with client.subscribe(topic) as subscription, client.producer(topic) as producer:
        producer.send("value", key="key", headers={"a": b"1", "b": None}, timestamp=1000)
        producer.flush()
        message = next(subscription.messages())
        assert (message.topic, message.offset, message.key, message.timestamp) == (topic, 1, b"key", 1000)
        assert message.headers == [("a", b"1"), ("b", None)] and bytes(message.value or b"") == b"value"


def test_a_filter_selects_values(client: rawline.Client, topic: str) -> None:
    client.set_payload(topic, "value")
    records = [
        value.encode({"id": {"resp_p": value.Port(53 if number % 10 in (3, 4) else 80, "udp")}, "number": number})
        for number in range(100)
    ]
    client.append(topic, records)
    with client.subscribe(topic, start="earliest", where="id.resp_p=53/udp") as subscription:
        selected = list(islice(subscription.messages(), 20))
        assert [message.offset for message in selected] == [n for n in range(100) if n % 10 in (3, 4)]
        assert all(bytes(message.value or b"") == records[message.offset] for message in selected)
    client.append(f"{topic}.plain", ["x"])
    with pytest.raises(rawline.RefusedError) as refused:
        client.subscribe(f"{topic}.plain", where="id.resp_p=53/udp")
    assert refused.value.kind == "fix_request"


def test_kill_9_under_a_producer_loses_and_duplicates_nothing(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    client.create_topic("dns")
    count = 1500

    def produce() -> None:
        with client.producer("dns", batch_bytes=200, linger=0.0) as producer:
            for number in range(count):
                receipt = producer.send(str(number))
                if number % 50 == 0:
                    receipt.offset()

    with client.subscribe("dns") as subscription:
        producing = threading.Thread(target=produce)
        producing.start()
        received: list[str] = []
        while len(received) < count:
            received += texts(subscription.poll(60))
            if len(received) // 400 != (len(received) - 1) // 400 and len(received) < count:
                broker.kill()
                broker.start()
        producing.join()
        assert received == [str(number) for number in range(count)]
        assert subscription.poll(0.2) is None


def test_what_is_skipped_or_deleted_is_reported(client: rawline.Client, topic: str) -> None:
    client.append(topic, [str(number) for number in range(100)])
    with client.subscribe(topic, start="earliest", slow="skip", max_lag=10) as subscription:
        skipped = records = 0
        events = subscription.events()
        while skipped + records < 100:
            event = next(events)
            if isinstance(event, rawline.Skipped):
                assert (event.topic, event.partition) == (
                    topic,
                    0,
                ) and event.next_offset == skipped + records + event.records
                skipped += event.records
            else:
                records += len(texts(event))
        assert skipped > 0 and subscription.skipped == skipped
        client.delete_topic(topic)
        assert next(events) == rawline.Deleted(topic)
        with pytest.raises(rawline.RefusedError) as refused:
            next(events)
        assert refused.value.code == "topic_not_found"


def test_wrong_settings_and_keys(client: rawline.Client, topic: str, start_broker: Callable[..., Broker]) -> None:
    for wrong in [
        lambda: client.subscribe(),
        lambda: client.subscribe(prefixes="zeek."),
        lambda: client.subscribe(topic, cursor="now"),
        lambda: client.subscribe(topic, slow="fast"),  # type: ignore[arg-type]
    ]:
        with pytest.raises(rawline.ConfigError):
            wrong()
    with pytest.raises(rawline.RefusedError) as refused:
        client.subscribe(f"{topic}.missing")
    assert refused.value.code == "topic_not_found"
    broker = start_broker("--api-key", "0123456789abcdef0123456789abcdef")
    with rawline.Client(broker.url, api_key="0123456789abcdef0123456789abcdef") as right:
        right.append("dns", ["1"])
        for key in [None, "wrong"]:
            with pytest.raises(rawline.RefusedError) as refused:
                rawline.Client(broker.url, api_key=key).subscribe("dns")
            assert refused.value.code == "unauthorized"
        with right.subscribe("dns", start="earliest") as subscription:
            assert texts(subscription.poll(10)) == ["1"]


def test_ctrl_c_and_close_end_a_wait(client: rawline.Client, topic: str) -> None:
    client.append(topic, ["old"])
    subscription = client.subscribe(topic)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        subscription.poll()
    client.append(topic, ["new"])
    assert texts(subscription.poll(10)) == ["new"]
    ended = threading.Event()

    def follow() -> None:
        assert list(subscription.records()) == []
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    time.sleep(0.05)
    subscription.close()
    assert ended.wait(30)
    thread.join()


def test_asyncio(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with rawline.AsyncClient(broker.url) as client:
            await client.append(topic, ["old"])
            async with client.subscribe(topic) as subscription:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(subscription.poll(), 0.1)
                await client.append(topic, ["1", "2"])
                await client.append(topic, ["3"])
                records = []
                async for record in subscription.records():
                    records.append(bytes(record).decode())
                    if len(records) == 3:
                        break
                assert records == ["1", "2", "3"]
                assert re.search(f";{topic}~[0-9a-f]{{8}}/0=4$", subscription.cursor or "")
                assert await subscription.poll(0.05) is None
            # Without a block, it begins with the first wait.
            later = client.subscribe(topic, start=2)
            assert later.cursor == ""
            batch = await later.poll(10)
            assert isinstance(batch, rawline.Batch) and batch.first_offset == 2
            later.close()

    asyncio.run(main())
