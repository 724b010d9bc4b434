"""Kafka's consumers in Java and C read from a broker of their zone."""

import json
import os
import re
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import Broker, s3_server, wait_until
from confluent_kafka import Consumer, TopicPartition
from engines import rawline
from speed import java

ZONES = ("a", "b")
RECORDS = 2_000
# Random, so that no compression makes fewer of them.
LINES = [os.urandom(500).hex() for _ in range(RECORDS)]


@pytest.fixture(name="brokers")
def two_brokers(tmp_path: Path) -> Iterator[dict[str, Broker]]:
    """By zone. The topic `t` has all lines."""
    with s3_server(tmp_path) as variables:
        brokers = {}
        for zone in ZONES:
            flags = ["--kafka", "127.0.0.1:0", "--zone", zone, "--cache-dir", str(tmp_path / zone)]
            brokers[zone] = Broker("s3://bucket", *flags, variables=variables)
        try:
            wait_until(lambda: all(seen(brokers, zone).keys() == set(ZONES) for zone in ZONES))
            rawline(brokers["a"], "produce", "t", text="".join(f"{line}\n" for line in LINES))
            yield brokers
        finally:
            for broker in brokers.values():
                broker.stop()


def seen(brokers: dict[str, Broker], zone: str) -> dict[str, bool]:
    """The zones that a broker knows, each with whether its broker is the owner."""
    listed = json.loads(rawline(brokers[zone], "brokers", "--json"))
    return {broker["zone"]: broker["is_owner"] for broker in listed if broker["state"] == "live"}


def downloaded(broker: Broker) -> int:
    """Number of bytes that a broker has received from the bucket."""
    with urllib.request.urlopen(f"{broker.url}/metrics") as response:
        found = re.search(r"^rawline_bucket_received_bytes_total (\d+)", response.read().decode(), re.MULTILINE)
    assert found
    return int(found[1])


def consume_with_java(broker: Broker, zone: str) -> list[str]:
    settings = {"client.rack": zone, "auto.offset.reset": "earliest", "group.id": f"java-{uuid.uuid4()}"}
    flags = [flag for name, value in settings.items() for flag in ("--command-property", f"{name}={value}")]
    flags += ["--topic", "t", "--max-messages", str(RECORDS), "--timeout-ms", "60000"]
    command = java("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", broker.kafka, *flags)
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=120).stdout.decode().splitlines()


def consume_with_librdkafka(broker: Broker, zone: str) -> list[str]:
    settings = {"bootstrap.servers": broker.kafka, "group.id": "none", "client.rack": zone}
    consumer = Consumer(settings | {"enable.auto.commit": False})
    consumer.assign([TopicPartition("t", 0, 0)])
    values = []
    while len(values) < RECORDS and (message := consumer.poll(30)) is not None:
        assert message.error() is None, message.error()
        values.append((message.value() or b"").decode())
    consumer.close()
    return values


@pytest.mark.parametrize("consume", [consume_with_java, consume_with_librdkafka])
def test_a_consumer_reads_from_the_broker_of_its_zone(brokers: dict[str, Broker], consume) -> None:
    owner = next(zone for zone, is_owner in seen(brokers, "a").items() if is_owner)
    other = next(zone for zone in ZONES if zone != owner)
    size = sum(map(len, LINES))
    # The owner has what it has stored; the other broker reads it from the bucket, for a consumer of its zone only.
    for zone, is_read in [(owner, False), (other, True), (other, False)]:
        before = {zone: downloaded(broker) for zone, broker in brokers.items()}
        assert consume(brokers[owner], zone) == LINES
        assert (downloaded(brokers[other]) - before[other] >= size) == is_read
        assert downloaded(brokers[owner]) - before[owner] < size
