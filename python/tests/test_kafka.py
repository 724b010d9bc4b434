"""librdkafka, the library of most of Kafka's clients, with nothing configured but the address."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from brokers import binary, documented
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from conftest import Broker

import rawline

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
MESSAGES = 20_000


@pytest.fixture
def kafka(start_broker: Callable[..., Broker]) -> Broker:
    return start_broker("--kafka", "127.0.0.1:0")


def produce(broker: Broker, topic: str, count: int, **settings: object) -> list[int]:
    """Messages with keys and headers; their offsets, in order."""
    producer = Producer({"bootstrap.servers": broker.kafka, **settings})
    offsets: list[int] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offsets.append(message.offset())

    for number in range(count):
        producer.produce(
            topic,
            key=f"key {number}",
            value=f"value {number} " + "-" * (number % 50),
            headers=[("number", str(number)), ("empty", None)],
            timestamp=1_700_000_000_000 + number,
            on_delivery=delivered,
        )
        producer.poll(0)
    assert producer.flush(60) == 0
    return offsets


def consume(broker: Broker, topic: str, offset: int, count: int) -> list[Message]:
    """Messages from an offset on, without a group."""
    settings = {"bootstrap.servers": broker.kafka, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, offset)])
    messages: list[Message] = []
    while len(messages) < count:
        some = consumer.consume(min(1000, count - len(messages)), timeout=30)
        assert some, f"{len(messages)} of {count} messages arrived"
        for message in some:
            assert message.error() is None, message.error()
        messages += some
    consumer.close()
    return messages


@pytest.mark.parametrize("codec", CODECS)
def test_messages_arrive_as_they_were_sent(kafka: Broker, codec: str) -> None:
    offsets = produce(kafka, "t", MESSAGES, **{"compression.type": codec, "enable.idempotence": True})
    assert offsets == list(range(MESSAGES))
    for message, number in zip(consume(kafka, "t", 0, MESSAGES), range(MESSAGES), strict=True):
        assert (message.offset(), message.key()) == (number, b"key %d" % number)
        assert message.value() == b"value %d " % number + b"-" * (number % 50)
        assert message.headers() == [("number", b"%d" % number), ("empty", None)]
        assert message.timestamp()[1] == 1_700_000_000_000 + number
    assert consume(kafka, "t", 12_345, 1)[0].key() == b"key 12345"


def test_our_clients_and_kafkas_read_each_others_records(kafka: Broker) -> None:
    with rawline.Client(kafka.url) as client:
        client.append("t", [b"one", b"two"])
        produce(kafka, "t", 100, **{"compression.type": "zstd"})
        client.append("t", [b"last"])
        with client.consumer("t", end=103) as consumer:
            records = [bytes(record) for record in consumer.records()]
    values = [message.value() for message in consume(kafka, "t", 0, 103)]
    assert records == values
    assert records[:3] == [b"one", b"two", b"value 0 "] and records[-1] == b"last"
    request = urllib.request.Request(
        f"{kafka.url}/records?topic-name=t&offset=3", headers={"Accept": "application/json"}
    )
    with urllib.request.urlopen(request) as response:
        first = json.load(response)[0]
    assert (first["key"], first["headers"][0]) == ("key 1", {"key": "number", "value": "1"})


def test_keys_headers_and_times_are_the_same_for_our_clients_and_kafkas(kafka: Broker) -> None:
    headers = [("number", b"7"), ("empty", None), ("number", b"")]
    with rawline.Client(kafka.url) as client:
        client.append("t", [b"plain"])
        with client.producer("t", codec="zstd") as producer:
            for number in range(1000):
                producer.send(b"value %d" % number, key=f"key {number}", headers=headers, timestamp=number)
            producer.send(None, key=b"gone")
        for codec in CODECS:
            produce(kafka, "t", 100, **{"compression.type": codec})
        with client.consumer("t", end=1502) as consumer:
            ours = list(consumer.messages())
    theirs = consume(kafka, "t", 0, 1502)
    assert (theirs[1].key(), theirs[1].headers(), theirs[1].timestamp()[1]) == (b"key 0", headers, 0)
    assert (theirs[1001].key(), theirs[1001].value()) == (b"gone", None)
    for message, other in zip(ours, theirs, strict=True):
        value = None if message.value is None else bytes(message.value)
        assert (message.offset, message.key, value) == (other.offset(), other.key(), other.value())
        assert message.headers == (other.headers() or [])
        # Without a timestamp, a record has that of its batch for Kafka's clients.
        assert message.timestamp in (other.timestamp()[1], None if message.offset == 0 else -1)
    assert (ours[0].timestamp, ours[-1].headers[0], ours[-1].timestamp) == (None, ("number", b"99"), 1_700_000_000_099)


def test_what_was_acknowledged_survives_a_crash(kafka: Broker) -> None:
    offsets = produce(kafka, "t", 1000, **{"compression.type": "lz4"})
    kafka.kill()
    kafka.start()
    assert [message.offset() for message in consume(kafka, "t", 0, 1000)] == offsets


def test_offsets_are_found_by_position_and_time(kafka: Broker) -> None:
    produce(kafka, "t", 10)
    consumer = Consumer({"bootstrap.servers": kafka.kafka, "group.id": "none"})
    assert consumer.get_watermark_offsets(TopicPartition("t", 0), timeout=30) == (0, 10)
    found = consumer.offsets_for_times([TopicPartition("t", 0, 1)], timeout=30)
    assert [partition.offset for partition in found] == [0]
    consumer.close()


def test_a_topic_that_must_not_be_created_is_an_error(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker("--kafka", "127.0.0.1:0", "--no-create-topics")
    errors: list[KafkaError | None] = []
    settings = {"message.timeout.ms": 5000, "topic.metadata.propagation.max.ms": 0}
    producer = Producer({"bootstrap.servers": broker.kafka, **settings})
    producer.produce("t", b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    assert [error.code() for error in errors if error] == [KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_transactions_of_the_older_kind_are_refused(kafka: Broker) -> None:
    """librdkafka doesn't have those of KIP-890 yet: the producer gets an error at once, and idempotent ones work."""
    producer = Producer({"bootstrap.servers": kafka.kafka, "transactional.id": "orders"})
    with pytest.raises(KafkaException) as raised:
        producer.init_transactions(30)
    error = raised.value.args[0]
    assert (error.code(), error.fatal()) == (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, True)


def settings_of(admin: AdminClient, kind: ResourceType, name: str) -> dict[str, str]:
    (described,) = admin.describe_configs([ConfigResource(kind, name)]).values()
    return {entry.name: entry.value for entry in described.result(30).values()}


def refusal(future: Future[None]) -> KafkaError:
    with pytest.raises(KafkaException) as raised:
        future.result(30)
    error = raised.value.args[0]
    assert isinstance(error, KafkaError)
    return error


def test_compacted_topics_keep_the_newest_of_each_key(kafka: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.kafka})
    config = {"cleanup.policy": "compact"}
    admin.create_topics([NewTopic("c", num_partitions=1, replication_factor=1, config=config)])["c"].result(30)
    assert settings_of(admin, ResourceType.TOPIC, "c")["cleanup.policy"] == "compact"
    producer = Producer({"bootstrap.servers": kafka.kafka, "batch.size": 200_000, "compression.type": "none"})
    sent: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None and message.offset() == len(sent)
        sent.append(str(message.key(), "ascii"))

    left: list[tuple[int, str]] = []
    deadline = time.monotonic() + 60
    with rawline.Client(kafka.url) as client:
        # Until a compaction has removed the second record. It waits for some MiB.
        while not left or left[1][0] == 1:
            assert time.monotonic() < deadline, "nothing is compacted"
            for number in range(len(sent), len(sent) + 500):
                value = os.urandom(2_000) if number % 50 else None
                producer.produce("c", key=f"key {number % 23}", value=value, on_delivery=delivered)
                producer.poll(0)
            assert producer.flush(60) == 0
            left = [(message.offset, str(message.key or b"", "ascii")) for message in messages(client, 0, len(sent))]
        newest = {key: offset for offset, key in enumerate(sent)}
        assert set(newest.items()) <= {(key, offset) for offset, key in left}
        assert len(left) < len(sent) / 2 and all(sent[offset] == key for offset, key in left)
        offsets = [offset for offset, _ in left]
        # From the start, and from offsets whose records are gone.
        gone = sorted(set(range(len(sent))) - set(offsets))
        for start in [0, 1, *gone[:: len(gone) // 8], offsets[1]]:
            expected = [offset for offset in offsets if offset >= start]
            found = [message.offset() for message in consume(kafka, "c", start, len(expected))]
            assert found == expected, start
            assert [message.offset for message in messages(client, start, len(sent))] == expected

    error = None

    def refused(found: KafkaError | None, _: Message) -> None:
        nonlocal error
        error = found

    producer.produce("c", value=b"without a key", on_delivery=refused)
    producer.flush(60)
    assert error is not None and error.code() == KafkaError.INVALID_RECORD


def messages(client: rawline.Client, start: int, end: int) -> list[rawline.Message]:
    """The records of a compacted topic that our client reads."""
    with client.consumer("c", start=start, end=end) as consumer:
        return list(consumer.messages())


def test_topics_are_administered(kafka: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.kafka})
    # Librdkafka wants a number of replicas.
    new = NewTopic("t", num_partitions=3, replication_factor=1, config={"retention.ms": "7200000"})
    unknown = NewTopic("c", num_partitions=1, replication_factor=1, config={"cleanup.policy": "keep"})
    created = admin.create_topics([new, unknown])
    created["t"].result(30)
    error = refusal(created["c"])
    assert error.code() == KafkaError.INVALID_CONFIG and "compact,delete" in error.str()
    assert refusal(admin.create_topics([new])["t"]).code() == KafkaError.TOPIC_ALREADY_EXISTS
    listed = admin.list_topics(timeout=30)
    assert {name: len(topic.partitions) for name, topic in listed.topics.items()} == {"t": 3}

    settings = settings_of(admin, ResourceType.TOPIC, "t")
    assert (settings["retention.ms"], settings["retention.bytes"]) == ("7200000", "-1")
    assert settings_of(admin, ResourceType.BROKER, "1")["num.partitions"] == "1"
    change = ConfigEntry("retention.bytes", "1000000000", incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ResourceType.TOPIC, "t", incremental_configs=[change])
    (altered,) = admin.incremental_alter_configs([topic]).values()
    altered.result(30)
    settings = settings_of(admin, ResourceType.TOPIC, "t")
    assert (settings["retention.ms"], settings["retention.bytes"]) == ("7200000", "1000000000")
    with rawline.Client(kafka.url) as client:
        info = client.topic("t")
        assert (info.retain_hours, info.retain_bytes) == (2, 1_000_000_000)

    admin.create_partitions([NewPartitions("t", 5)])["t"].result(30)
    assert refusal(admin.create_partitions([NewPartitions("t", 4)])["t"]).code() == KafkaError.INVALID_PARTITIONS
    described = admin.describe_topics(TopicCollection(["t"]), include_authorized_operations=True)["t"].result(30)
    assert [partition.id for partition in described.partitions] == [0, 1, 2, 3, 4]
    assert len(described.authorized_operations) == 8
    cluster = admin.describe_cluster(include_authorized_operations=True).result(30)
    assert (len(cluster.cluster_id), cluster.controller.id, len(cluster.nodes)) == (32, 1, 1)

    with rawline.Client(kafka.url) as client:
        client.append("t", [b"one", b"two", b"three"])
    (deleted,) = admin.delete_records([TopicPartition("t", 0, 2)]).values()
    assert deleted.result(30).low_watermark == 2
    deletions = admin.delete_topics(["t", "none"])
    deletions["t"].result(30)
    assert refusal(deletions["none"]).code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert admin.list_topics(timeout=30).topics == {}


def test_a_new_topic_of_the_same_name_is_another(kafka: Broker) -> None:
    """librdkafka fetches by topic id, and a topic that was deleted has lost its id."""
    admin = AdminClient({"bootstrap.servers": kafka.kafka})

    def topic_id() -> str:
        return str(admin.describe_topics(TopicCollection(["t"]))["t"].result(30).topic_id)

    produce(kafka, "t", 10)
    first = topic_id()
    assert topic_id() == first
    assert len(consume(kafka, "t", 0, 10)) == 10
    admin.delete_topics(["t"])["t"].result(30)
    admin.create_topics([NewTopic("t", 2)])["t"].result(30)
    assert topic_id() != first
    produce(kafka, "t", 5)


def test_offsets_are_found_by_the_times_of_records(kafka: Broker) -> None:
    offsets = produce(kafka, "t", 1000, **{"linger.ms": 5, "compression.type": "zstd"})
    assert offsets == list(range(1000))
    consumer = Consumer({"bootstrap.servers": kafka.kafka, "group.id": "g"})
    wanted = {1_700_000_000_000: 0, 1_700_000_000_777: 777, 1_700_000_001_000: -1}
    for time_ms, offset in wanted.items():
        (found,) = consumer.offsets_for_times([TopicPartition("t", 0, time_ms)], timeout=30)
        assert found.offset == offset, time_ms
    consumer.close()


def test_the_documented_commands_work(kafka: Broker, start_broker: Callable[..., Broker]) -> None:
    if not shutil.which("kcat"):
        pytest.skip("no kcat: apt-get install kcat")
    start, numbers, pairs, start_with_key, secured, compacted, group, _connect = documented("sh")
    assert start == "rawline serve --kafka 127.0.0.1:9092\n"
    assert start_with_key == "rawline serve --kafka 127.0.0.1:9092 --api-key SECRET\n"

    def run(commands: str, broker: Broker = kafka) -> list[str]:
        commands = commands.replace("127.0.0.1:9092", broker.kafka).replace("http://127.0.0.1:51313", broker.url)
        path = f"{binary().parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "RAWLINE_BROKER": broker.url}
        return subprocess.check_output(["bash", "-ec", commands], env=environment, text=True).splitlines()

    with_key = start_broker("--kafka", "127.0.0.1:0", "--api-key", "SECRET")
    assert run(secured, with_key) == [str(number) for number in range(1, 11)]
    assert run(numbers) == [str(number) for number in [*range(1, 1001), 1, 2, 3]]
    (record,) = json.loads("".join(run(pairs)))
    assert (record["key"], record["record"], record["headers"]) == ("k1", "v1", [{"key": "source", "value": "shell"}])
    assert "cleanup policy compact" in run(compacted)
    assert run(group) == [str(number) for number in range(1, 1001)]
    assert run(group) == []


def test_clients_authenticate_with_an_api_key(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker("--kafka", "127.0.0.1:0", "--api-key", "SECRET,other")
    snippet, _consumer = documented("python")
    settings: dict[str, Any] = {}
    exec(snippet, None, settings)
    settings = {**settings["settings"], "bootstrap.servers": broker.kafka}
    for mechanism, key in [("PLAIN", "SECRET"), ("SCRAM-SHA-256", "other"), ("SCRAM-SHA-512", "SECRET")]:
        with_key = {**settings, "sasl.mechanism": mechanism, "sasl.password": key}
        assert AdminClient(with_key).list_topics(timeout=30).cluster_id
    errors: list[KafkaError] = []
    wrong = AdminClient({**settings, "sasl.password": "wrong", "error_cb": errors.append})
    wrong.poll(30)
    assert KafkaError._AUTHENTICATION in [error.code() for error in errors], errors
