"""Members of a group share the partitions of a topic, and continue where the group has committed."""

import asyncio
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer as KafkaConsumer
from conftest import Broker

import rawline

PARTITIONS = 4


@pytest.fixture
def partitioned(client: rawline.Client, topic: str) -> str:
    client.set_partitions(topic, PARTITIONS)
    return topic


def append(client: rawline.Client, topic: str, numbers: range) -> None:
    for number in numbers:
        client.append(topic, [b"%d" % number], partition=number % PARTITIONS)


def values(batches: rawline.Batches | None) -> list[int]:
    return [int(bytes(record)) for record in batches or []]


def lags(client: rawline.Client, group: str) -> list[int]:
    return [offset.lag for offset in client.group(group).offsets]


def shares(client: rawline.Client, group: str) -> list[int]:
    """Each member's number of partitions; none before the first one has joined."""
    if all(found.name != group for found in client.groups()):
        return []
    return [len(member.partitions) for member in client.group(group).members]


def poll_until(members: list[rawline.Consumer], done: Callable[[list[list[int]]], bool]) -> list[list[int]]:
    """The records that each has read, once `done` accepts them."""
    read: list[list[int]] = [[] for _ in members]
    for _ in range(600):
        if done(read):
            return read
        for member, numbers in zip(members, read, strict=True):
            numbers += values(member.poll(timeout=0.05))
    raise AssertionError(read)


def test_members_share_partitions(client: rawline.Client, partitioned: str) -> None:
    group = f"of {partitioned}"
    one = client.consumer(partitioned, group=group, session=6)
    two = client.consumer(partitioned, group=group, session=6)

    def are_divided(_: list[list[int]]) -> bool:
        return shares(client, group) == [2, 2]

    poll_until([one, two], are_divided)
    append(client, partitioned, range(40))
    of_one, of_two = poll_until([one, two], lambda read: sum(map(len, read)) >= 40)
    assert sorted(of_one + of_two) == list(range(40))
    first, second = ({number % PARTITIONS for number in numbers} for numbers in (of_one, of_two))
    assert (len(first), len(second)) == (2, 2) and not first & second
    one.close()
    with two:
        append(client, partitioned, range(40, 60))
        rest = poll_until([two], lambda read: len(read[0]) >= 20)
        assert sorted(rest[0]) == list(range(40, 60))
        two.commit()
        found = client.group(group)
        assert (found.state, found.strategy, found.lag) == ("stable", "range", 0)
        assert [(member.client, member.address) for member in found.members] == [("rawline-python", "127.0.0.1")]
        with pytest.raises(rawline.RefusedError) as refused:
            client.delete_group(group)
        assert refused.value.code == "group_not_empty"
    assert client.group(group).members == ()
    client.set_group_offsets(group, partitioned, {1: 0, 2: 3})
    assert lags(client, group) == [0, 15, 12, 0]
    assert (group, "empty", 0) in client.groups()
    client.delete_group(group)
    with pytest.raises(rawline.RefusedError) as unknown:
        client.group(group)
    assert unknown.value.code == "group_not_found"


def test_what_the_loop_has_taken_is_committed(client: rawline.Client, topic: str) -> None:
    group = f"of {topic}"
    client.append(topic, [b"%d" % number for number in range(10)])
    with client.consumer(topic, group=group, commit_interval=None) as consumer:
        for message in consumer.messages():
            if message.offset == 3:
                # 4 records of a batch of 10.
                consumer.commit()
            if message.offset == 5:
                break
    # Nothing else was committed.
    assert client.group(group).offsets == ((topic, 0, 4, 10, 6, ""),)
    with client.consumer(topic, group=group) as consumer:
        records = consumer.records()
        assert bytes(next(records)) == b"4"
    assert lags(client, group) == [5]

    def fail() -> None:
        with client.consumer(topic, group=group) as consumer:
            assert values(consumer.poll()) == [5, 6, 7, 8, 9]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    # Records of a block that an exception ended aren't processed.
    assert lags(client, group) == [5]
    consumer = client.consumer(topic, group=group)
    assert values(consumer.poll()) == [5, 6, 7, 8, 9]
    # Asking for more says that these are processed.
    assert consumer.poll(timeout=0.05) is None
    consumer.close()
    consumer.close()
    assert lags(client, group) == [0]
    with pytest.raises(rawline.ConfigError, match="closed"):
        consumer.commit()


def test_records_that_are_collected_are_not_processed(client: rawline.Client, topic: str) -> None:
    group = f"of {topic}"
    client.append(topic, [b"%d" % number for number in range(10)])

    def fail() -> None:
        # A read returns one record.
        with client.consumer(topic, group=group, bytes_max=1) as consumer:
            assert values(consumer.take(1)) == [0]
            assert values(consumer.take(6)) == [1, 2, 3, 4, 5, 6]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    # The second call has said that the record of the first is processed.
    assert lags(client, group) == [9]
    with client.consumer(topic, group=group, bytes_max=1) as consumer:
        assert values(consumer.take(6)) == [1, 2, 3, 4, 5, 6]
    assert lags(client, group) == [3]


def test_a_member_is_closed_while_a_thread_waits(client: rawline.Client, topic: str) -> None:
    consumer = client.consumer(topic, group=f"of {topic}")
    assert consumer.poll(timeout=1) is None
    waiting = threading.Thread(target=lambda: list(consumer))
    waiting.start()
    consumer.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert client.group(f"of {topic}").members == ()


def test_an_instance_has_one_process(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"0"])
    member = {"group": f"of {topic}", "instance": "one", "session": 6}
    first = client.consumer(topic, **member)
    assert values(first.poll()) == [0]
    with client.consumer(topic, **member) as second:
        # The first one hasn't committed.
        assert values(second.poll()) == [0]
        for _ in range(2):
            with pytest.raises(rawline.RefusedError) as fenced:
                first.poll(timeout=30)
            assert fenced.value.code == "member_fenced"
    # It may come back.
    assert [found.instance for found in client.group(f"of {topic}").members] == ["one"]


def test_wrong_members_are_refused(client: rawline.Client, topic: str) -> None:
    for wrong in ({"partitions": [1]}, {"end": 5}, {"start": {0: 5}}):
        with pytest.raises(rawline.ConfigError, match="gets its partitions from the group"):
            client.consumer(topic, group="g", **wrong)
    with pytest.raises(rawline.ConfigError, match="name the group"):
        client.consumer(topic, instance="i")
    with pytest.raises(rawline.ConfigError, match="no member of a group"):
        client.consumer(topic).commit()
    with client.consumer(topic, group="g", session=1) as consumer, pytest.raises(rawline.RefusedError) as refused:
        consumer.poll()
    assert refused.value.code == "group_invalid"


def test_tasks_are_members(client: rawline.Client, broker: Broker, partitioned: str) -> None:
    group = f"of {partitioned}"
    append(client, partitioned, range(20))

    async def read() -> None:
        others = rawline.AsyncClient(broker.url)
        numbers: list[int] = []
        async with others.consumer(partitioned, group=group, commit_interval=None) as consumer:
            async for message in consumer.messages():
                numbers.append(int(bytes(message.value or b"")))
                if len(numbers) == 12:
                    await consumer.commit()
                    break
        assert sum(offset.lag for offset in (await others.group(group)).offsets) == 8
        async with others.consumer(partitioned, group=group) as consumer:
            # A cancelled wait loses neither records nor the place in the group.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.take(9), 1.5)
            numbers += values(await consumer.take(8))
        assert sorted(numbers) == list(range(20))
        assert [summary.state for summary in await others.groups() if summary.name == group] == ["empty"]
        await others.set_group_offsets(group, partitioned, {0: 0})
        assert (await others.group(group)).lag == 5
        await others.delete_group(group)

    asyncio.run(read())


def test_kafkas_consumers_and_ours_are_in_one_group(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker("--kafka", "127.0.0.1:0")
    client = rawline.Client(broker.url)
    client.create_topic("t", partitions=PARTITIONS)
    kafkas = KafkaConsumer(
        {
            "bootstrap.servers": broker.kafka,
            "group.id": "both",
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
            "session.timeout.ms": 6000,
            "fetch.wait.max.ms": 100,
        }
    )
    kafkas.subscribe(["t"])
    ours = client.consumer("t", group="both", session=6)
    of_kafkas: list[int] = []

    def poll() -> None:
        messages = kafkas.consume(1000, timeout=0.05)
        of_kafkas.extend(int(message.value() or b"") for message in messages if message.error() is None)

    def are_divided(_: list[list[int]]) -> bool:
        poll()
        return shares(client, "both") == [2, 2]

    poll_until([ours], are_divided)
    append(client, "t", range(40))

    def is_read(read: list[list[int]]) -> bool:
        poll()
        return len(of_kafkas) + len(read[0]) >= 40

    (of_ours,) = poll_until([ours], is_read)
    assert sorted(of_kafkas + of_ours) == list(range(40)) and len(of_ours) == 20
    kafkas.close()
    append(client, "t", range(40, 60))
    (rest,) = poll_until([ours], lambda read: len(read[0]) >= 20)
    assert sorted(rest) == list(range(40, 60))
    ours.close()
    assert lags(client, "both") == [0] * PARTITIONS
