"""Grants of keys for Kafka's clients, with librdkafka: each kind of refusal, and allowed requests."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brokers import Broker, binary

pytest.importorskip("confluent_kafka")
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic


class Keys:
    """A keys file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "keys.toml"

    def add(self, name: str, *flags: str) -> dict[str, Any]:
        """A client's settings with a new key: with SCRAM, the user is the key's name."""
        command = [binary(), "key", "add", name, "--keys", self.path, *flags]
        key = subprocess.check_output(command, text=True).strip()
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": name,
            "sasl.password": key,
        }


def produce(settings: dict[str, Any], topic: str) -> KafkaError | None:
    """Produces one record; what the broker says about it."""
    results: list[KafkaError | None] = []
    producer = Producer(settings)
    producer.produce(topic, b"value", on_delivery=lambda error, _: results.append(error))
    producer.flush(30)
    (result,) = results
    return result


def first(settings: dict[str, Any], topic: str, group: str) -> bytes | int | None:
    """The first record's value, or the code of the error that a consumer gets instead."""
    consumer = Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        for _ in range(60):
            message = consumer.poll(1)
            if message is not None:
                error = message.error()
                return message.value() if error is None else error.code()
        return None
    finally:
        consumer.close()


def create(settings: dict[str, Any], topic: str) -> None:
    client = AdminClient(settings)
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


def test_grants_decide_what_kafkas_clients_may_do(start_broker: Callable[..., Broker], tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    admin = keys.add("admin", "--all")
    writer = keys.add("writer", "--write", "zeek.*")
    reader = keys.add("reader", "--read", "zeek.*", "--groups", "dash-*")
    broker = start_broker("--kafka", "127.0.0.1:0", "--keys", str(keys.path))
    for settings in (admin, writer, reader):
        settings["bootstrap.servers"] = broker.kafka

    assert produce(writer, "zeek.dns") is None
    for settings, topic in [(writer, "other"), (reader, "zeek.dns")]:
        refused = produce(settings, topic)
        assert refused is not None and refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED, refused
    assert produce(admin, "other") is None

    assert first(reader, "zeek.dns", "dash-1") == b"value"
    assert first(reader, "zeek.dns", "ops") == KafkaError.GROUP_AUTHORIZATION_FAILED
    assert first(reader, "other", "dash-2") == KafkaError.TOPIC_AUTHORIZATION_FAILED

    assert set(AdminClient(reader).list_topics(timeout=30).topics) == {"zeek.dns"}
    assert set(AdminClient(admin).list_topics(timeout=30).topics) == {"zeek.dns", "other"}
    with pytest.raises(KafkaException) as raised:
        create(writer, "zeek.new")
    assert raised.value.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    create(admin, "zeek.new")

    transactional = Producer({**writer, "transactional.id": "p"})
    with pytest.raises(KafkaException) as raised:
        transactional.init_transactions(30)
    assert raised.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_the_name_of_another_key_does_not_help(start_broker: Callable[..., Broker], tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    one, two = keys.add("one", "--all"), keys.add("two", "--all")
    broker = start_broker("--kafka", "127.0.0.1:0", "--keys", str(keys.path))
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        right = {**one, "bootstrap.servers": broker.kafka, "sasl.mechanism": mechanism}
        assert AdminClient(right).list_topics(timeout=30).cluster_id
        errors: list[KafkaError] = []
        password = two["sasl.password"] if mechanism.startswith("SCRAM") else "one.wrong"
        wrong = AdminClient({**right, "sasl.password": password, "error_cb": errors.append})
        wrong.poll(30)
        assert KafkaError._AUTHENTICATION in [error.code() for error in errors], errors
