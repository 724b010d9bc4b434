"""Clients that name their zone read from a broker there, and from another one while none lives there."""

import json
import re
import urllib.request
from collections.abc import Callable

import pytest
from brokers import Broker, wait_until
from confluent_kafka import Consumer, TopicPartition

import rawline


def get(broker: Broker, path: str) -> str:
    with urllib.request.urlopen(broker.url + path) as response:
        text: str = response.read().decode()
        return text


def metric(broker: Broker, name: str) -> int:
    found = re.search(rf"^{re.escape(name)} (\d+)$", get(broker, "/metrics"), re.MULTILINE)
    assert found is not None
    return int(found.group(1))


def sent(broker: Broker, zone: str) -> int:
    return metric(broker, f'rawline_zone_sent_bytes_total{{zone="{zone}"}}')


def served(broker: Broker) -> int:
    return metric(broker, 'rawline_read_records_total{protocol="http"}')


def both_live(broker: Broker) -> bool:
    return [member["state"] for member in json.loads(get(broker, "/brokers"))["brokers"]].count("live") == 2


@pytest.fixture
def brokers(brokers_on_bucket: Callable[..., Broker]) -> tuple[Broker, Broker]:
    """One in zone a, which clients are given, and one in zone b."""
    home, near = [brokers_on_bucket("--zone", zone) for zone in "ab"]
    wait_until(lambda: both_live(home))
    return home, near


def append(home: Broker, numbers: range) -> None:
    with rawline.Client(home.url).producer("t", batch_records_max=1) as producer:
        for number in numbers:
            producer.send(str(number))


def test_a_consumer_reads_in_its_zone_and_elsewhere_while_no_broker_lives_there(
    brokers: tuple[Broker, Broker], brokers_on_bucket: Callable[..., Broker]
) -> None:
    home, near = brokers
    append(home, range(40))
    # Reads of one record each, of which the first says where the others go.
    consumer = rawline.Client(home.url, zone="b").consumer("t", end=40, bytes_max=1, retry_for=60)
    batches = iter(consumer)
    assert [next(batches).first_offset for _ in range(10)] == list(range(10))
    assert served(home) == 1 and served(near) >= 9
    near.kill()
    assert [next(batches).first_offset for _ in range(10)] == list(range(10, 20))
    assert served(home) >= 8
    again = brokers_on_bucket("--zone", "b")
    wait_until(lambda: both_live(home))
    before = served(home)
    assert [batch.first_offset for batch in batches] == list(range(20, 40))
    assert served(home) <= before + 3 and served(again) >= 17
    before = served(home)
    assert rawline.Client(home.url, zone="c").consumer("t", end=40).take(40).to_list()[-1] == b"39"
    assert served(home) == before + 40


def test_a_subscription_is_served_in_its_zone_and_returns_to_it(
    brokers: tuple[Broker, Broker], brokers_on_bucket: Callable[..., Broker]
) -> None:
    home, near = brokers
    append(home, range(1))
    for broker in brokers:
        assert rawline.Client(broker.url).consumer("t", end=1, wait_for_topic=True).take(1).to_list() == [b"0"]
    with rawline.Client(home.url, zone="b").subscribe("t", retry_for=60) as subscription:
        records = iter(subscription.records())
        append(home, range(1, 2))
        assert next(records) == b"1"
        assert metric(near, "rawline_subscriptions") == 1
        near.kill()
        append(home, range(2, 3))
        assert next(records) == b"2"
        again = brokers_on_bucket("--zone", "b")
        wait_until(lambda: both_live(home))
        append(home, range(3, 4))
        assert next(records) == b"3"
        append(home, range(4, 5))
        assert next(records) == b"4"
        assert metric(again, "rawline_subscriptions") == 1


def test_the_zone_is_a_setting_and_a_variable(brokers: tuple[Broker, Broker], monkeypatch: pytest.MonkeyPatch) -> None:
    home, near = brokers
    append(home, range(1))
    with pytest.raises(rawline.ConfigError, match="control characters"):
        rawline.Client(home.url, zone="a\nb")
    with pytest.raises(rawline.ConfigError, match="control characters"):
        rawline.AsyncClient(home.url, zone="a\nb")
    monkeypatch.setenv("RAWLINE_ZONE", "b")
    client = rawline.Client(home.url)
    for _ in range(2):
        assert client.consumer("t", end=1).take(1).to_list() == [b"0"]
    assert (served(home), served(near)) == (1, 1)


def test_bytes_to_kafkas_consumers_are_counted_by_their_racks(brokers_on_bucket: Callable[..., Broker]) -> None:
    home, near = [brokers_on_bucket("--zone", zone, "--kafka", "127.0.0.1:0") for zone in "ab"]
    wait_until(lambda: both_live(home) and both_live(near))
    with rawline.Client(home.url).producer("t") as producer:
        producer.send(bytes(100_000))
    leads = {member["url"]: member["is_owner"] for member in json.loads(get(home, "/brokers"))["brokers"]}
    # In the zone of the one that doesn't lead.
    reader, zone = (near, "b") if leads[home.url] else (home, "a")
    settings = {"bootstrap.servers": home.kafka, "group.id": "g", "auto.offset.reset": "earliest"}
    for rack, counted in [(zone, "same"), ("c", "other")]:
        before = [sent(broker, counted) for broker in (home, near)]
        consumer = Consumer({**settings, "client.rack": rack})
        consumer.assign([TopicPartition("t", 0, 0)])
        message = None
        while message is None or message.error() is not None:
            message = consumer.poll(1)
        assert len(message.value() or b"") == 100_000
        consumer.close()
        grown = [sent(broker, counted) - old for broker, old in zip((home, near), before, strict=True)]
        assert grown[reader is near] >= 100_000 if rack == zone else sum(grown) >= 100_000
