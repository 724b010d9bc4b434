"""Groups of librdkafka's consumers: who gets which partitions, what is committed, and what administrators do."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

import pytest
from brokers import documented
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import Broker

import rawline

PARTITIONS = 6
TOPIC = "events"


@pytest.fixture
def kafka(start_broker: Callable[..., Broker]) -> Broker:
    """A broker with a topic that is produced to in all partitions. It restarts on the same port."""
    broker = start_broker("--kafka", "127.0.0.1:0", "--group-session", "6s")
    broker.flags = ("--kafka", broker.kafka, "--group-session", "6s")
    client = admin(broker)
    client.create_topics([NewTopic(TOPIC, num_partitions=PARTITIONS)])[TOPIC].result(timeout=30)
    return broker


def admin(broker: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.kafka})


def produce(broker: Broker, numbers: Iterable[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.kafka})
    for number in numbers:
        producer.produce(TOPIC, str(number), partition=number % PARTITIONS)
    assert producer.flush(30) == 0


# Of a group in which the broker divides the partitions; there it also decides about sessions.
CONSUMER = {"group.protocol": "consumer", "heartbeat.interval.ms": None, "session.timeout.ms": None}
PROTOCOLS = pytest.mark.parametrize("protocol", [{}, CONSUMER], ids=["classic", "consumer"])


class Member:
    """A consumer that commits what it has got: from time to time, before it loses partitions, and when it is closed."""

    def __init__(self, broker: Broker, **settings: object) -> None:
        defaults = {
            "bootstrap.servers": broker.kafka,
            "group.id": "group",
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
            "session.timeout.ms": 6000,
            "reconnect.backoff.max.ms": 500,
            "fetch.wait.max.ms": 100,
        }
        topics = settings.pop("topics", [TOPIC])
        merged = {**defaults, **settings}
        self.consumer = Consumer({name: value for name, value in merged.items() if value is not None})
        self.got: list[int] = []
        self.consumer.subscribe(topics)

    def poll(self) -> None:
        for message in self.consumer.consume(1000, timeout=0.1):
            if message.error() is None:
                self.got.append(int(message.value() or b""))

    def partitions(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def close(self) -> None:
        self.consumer.close()


def poll_until(members: list[Member], done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, [(member.partitions(), len(member.got)) for member in members]
        for member in members:
            member.poll()


def are_divided(members: list[Member]) -> bool:
    """Whether all members have partitions, each of which has one member."""
    shares = [member.partitions() for member in members]
    return all(shares) and sorted(one for share in shares for one in share) == list(range(PARTITIONS))


def numbers(members: list[Member]) -> list[int]:
    return sorted(number for member in members for number in member.got)


@pytest.mark.parametrize(
    "settings",
    [
        {"partition.assignment.strategy": "range"},
        {"partition.assignment.strategy": "cooperative-sticky"},
        CONSUMER,
        {**CONSUMER, "group.remote.assignor": "range"},
    ],
    ids=["range", "cooperative-sticky", "consumer", "consumer-range"],
)
def test_members_share_the_partitions(kafka: Broker, settings: dict[str, object]) -> None:
    produce(kafka, range(3000))
    members = [Member(kafka, **settings) for _ in range(3)]
    poll_until(members, lambda: are_divided(members) and len(set(numbers(members))) == 3000)
    assert all(len(member.partitions()) == 2 for member in members)
    leaver, *rest = members
    leaver.close()
    poll_until(rest, lambda: are_divided(rest))
    before = [len(member.got) for member in rest]
    produce(kafka, range(3000, 3060))
    poll_until(rest, lambda: set(numbers(members)) == set(range(3060)))
    # Records committed by the member that left are not delivered again.
    assert sum(len(member.got) for member in rest) - sum(before) == 60
    for member in rest:
        member.close()
    produce(kafka, range(3060, 3070))
    late = Member(kafka, **settings)
    poll_until([late], lambda: len(late.got) >= 10)
    assert numbers([late]) == list(range(3060, 3070))
    late.close()


KILLED = """
import json, sys
from confluent_kafka import Consumer
consumer = Consumer(json.loads(sys.argv[1]))
consumer.subscribe(["events"])
while True:
    consumer.poll(0.1)
    if consumer.assignment():
        print("has partitions", flush=True)
"""


@PROTOCOLS
def test_a_killed_members_partitions_go_to_others(kafka: Broker, protocol: dict[str, object]) -> None:
    produce(kafka, range(600))
    settings = {
        "bootstrap.servers": kafka.kafka,
        "group.id": "group",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 200,
        **protocol,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, json.dumps(settings)], stdout=subprocess.PIPE, text=True
    ) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "has partitions\n"
        rest = [Member(kafka, **protocol), Member(kafka, **protocol)]
        poll_until(rest, lambda: len([member for member in rest if len(member.partitions()) == 2]) == 2)
        killed.kill()
    poll_until(rest, lambda: are_divided(rest) and len(set(numbers(rest))) == 600)
    assert all(len(member.partitions()) == 3 for member in rest)
    for member in rest:
        member.close()


@PROTOCOLS
def test_a_group_survives_the_brokers_crash(kafka: Broker, protocol: dict[str, object]) -> None:
    members = [Member(kafka, **{"enable.auto.commit": False}, **protocol) for _ in range(2)]
    # First: the first member's reads of partitions that it loses are never committed.
    poll_until(members, lambda: are_divided(members))
    produce(kafka, range(600))
    poll_until(members, lambda: are_divided(members) and len(set(numbers(members))) == 600)
    for member in members:
        # One that has got nothing has nothing to commit.
        if member.got:
            member.consumer.commit(asynchronous=False)
    kafka.kill()
    kafka.start()
    produce(kafka, range(600, 660))
    poll_until(members, lambda: are_divided(members) and set(numbers(members)) == set(range(660)))
    # Nothing that was committed is delivered again.
    assert [number for number in numbers(members) if number < 600] == list(range(600))
    for member in members:
        member.close()


@PROTOCOLS
def test_a_static_member_comes_back_to_its_partitions(kafka: Broker, protocol: dict[str, object]) -> None:
    members = [Member(kafka, **{"group.instance.id": f"instance-{n}"}, **protocol) for n in range(2)]
    poll_until(members, lambda: are_divided(members))
    first = members[0].partitions()
    # A static member doesn't leave when it is closed.
    members[0].close()
    members[0] = Member(kafka, **{"group.instance.id": "instance-0"}, **protocol)
    others = members[1].partitions()
    poll_until(members, lambda: bool(members[0].partitions()))
    assert (members[0].partitions(), members[1].partitions()) == (first, others)
    client = admin(kafka)
    described = client.describe_consumer_groups(["group"])["group"].result(timeout=30)
    assert sorted(member.group_instance_id for member in described.members) == ["instance-0", "instance-1"]
    for member in members:
        member.close()


def documented_settings(broker: Broker) -> dict[str, object]:
    """The settings of docs/kafka.md for a consumer of a group in which the broker assigns partitions."""
    _, snippet = documented("python")
    found: dict[str, dict[str, object]] = {}
    exec(snippet, None, found)
    return {**CONSUMER, **found["settings"], "bootstrap.servers": broker.kafka}


def test_topics_that_a_regular_expression_matches_are_read(kafka: Broker) -> None:
    produce(kafka, range(60))
    member = Member(kafka, topics=["^eve.*", "^late.*"], **documented_settings(kafka))
    poll_until([member], lambda: len(member.got) == 60)
    producer = Producer({"bootstrap.servers": kafka.kafka})
    for topic in ["later", "other"]:
        producer.produce(topic, "60")
    assert producer.flush(30) == 0
    poll_until([member], lambda: len(member.got) == 61)
    assert {partition.topic for partition in member.consumer.assignment()} == {TOPIC, "later"}
    member.close()


def test_members_of_another_protocol_are_refused(kafka: Broker) -> None:
    member = Member(kafka, **CONSUMER)
    poll_until([member], lambda: len(member.partitions()) == PARTITIONS)
    shown = rawline.Client(kafka.url).group("group")
    assert (shown.state, shown.strategy, len(shown.members[0].partitions)) == ("stable", "uniform", PARTITIONS)
    with pytest.raises(rawline.RawlineError, match=r"group\.protocol"):
        rawline.Client(kafka.url).consumer(TOPIC, group="group").poll(timeout=5)
    member.close()
    classic = Member(kafka)
    poll_until([classic], lambda: len(classic.partitions()) == PARTITIONS)
    classic.close()


@PROTOCOLS
def test_groups_are_administered(kafka: Broker, protocol: dict[str, object]) -> None:
    produce(kafka, range(60))
    member = Member(kafka, **{"enable.auto.commit": False}, **protocol)
    poll_until([member], lambda: len(member.got) == 60)
    member.consumer.commit(asynchronous=False)
    client = admin(kafka)
    listed = client.list_consumer_groups().result(timeout=30)
    assert [(group.group_id, group.state.name) for group in listed.valid] == [("group", "STABLE")]
    described = client.describe_consumer_groups(["group"])["group"].result(timeout=30)
    strategy = "uniform" if protocol else "range"
    assert (described.state.name, described.partition_assignor, len(described.members)) == ("STABLE", strategy, 1)
    assert len(described.members[0].assignment.topic_partitions) == PARTITIONS

    def committed() -> dict[int, int]:
        asked = [ConsumerGroupTopicPartitions("group")]
        found = client.list_consumer_group_offsets(asked)["group"].result(timeout=30)
        return {partition.partition: partition.offset for partition in found.topic_partitions}

    assert committed() == dict.fromkeys(range(PARTITIONS), 10)
    with pytest.raises(KafkaException, match="not empty"):
        client.delete_consumer_groups(["group"])["group"].result(timeout=30)
    member.close()

    back = ConsumerGroupTopicPartitions("group", [TopicPartition(TOPIC, 0, 4)])
    client.alter_consumer_group_offsets([back])["group"].result(timeout=30)
    assert committed() == {**dict.fromkeys(range(PARTITIONS), 10), 0: 4}
    again = Member(kafka, **protocol)
    poll_until([again], lambda: len(again.got) == 6)
    assert again.got == [number for number in range(60) if number % PARTITIONS == 0][4:]
    again.close()
    client.delete_consumer_groups(["group"])["group"].result(timeout=30)
    assert client.list_consumer_groups().result(timeout=30).valid == []
    assert committed() == {}
