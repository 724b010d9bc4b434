"""Several brokers on one bucket, with Kafka's clients: one leads, and another one when that is killed."""

import json
import urllib.request
from collections.abc import Callable

from brokers import Broker, wait_until
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

import rawline


def members(broker: Broker) -> list[dict[str, object]]:
    with urllib.request.urlopen(f"{broker.url}/brokers") as response:
        found: list[dict[str, object]] = json.load(response)["brokers"]
        return [member for member in found if member["state"] == "live"]


def owner(brokers: list[Broker]) -> Broker:
    """The one that all agree on, once each sees all."""
    wait_until(lambda: all(len(members(broker)) == len(brokers) for broker in brokers))
    urls = {member["url"] for broker in brokers for member in members(broker) if member["is_owner"]}
    (found,) = [broker for broker in brokers if broker.url in urls]
    assert urls == {found.url}
    return found


def test_kafkas_clients_continue_when_the_broker_that_leads_is_killed(
    brokers_on_bucket: Callable[..., Broker],
) -> None:
    brokers = [brokers_on_bucket("--kafka", "127.0.0.1:0") for _ in range(3)]
    leading = owner(brokers)
    servers = ",".join(broker.kafka for broker in brokers)

    # Whichever broker is asked names all of them, and the one that leads.
    for broker in brokers:
        metadata = AdminClient({"bootstrap.servers": broker.kafka}).list_topics(timeout=10)
        addresses = {f"{node.host}:{node.port}": node.id for node in metadata.brokers.values()}
        assert set(addresses) == {broker.kafka for broker in brokers}
        assert metadata.controller_id == addresses[leading.kafka]

    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("numbers", 1)])["numbers"].result(60)
    acknowledged: list[bytes | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        acknowledged.append(message.value())

    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    group = {"bootstrap.servers": servers, "group.id": "readers", "auto.offset.reset": "earliest"}
    consumer = Consumer({**group, "enable.auto.commit": False})
    consumer.subscribe(["numbers"])
    # Once each: what was not committed when another broker took over is read again.
    read: dict[int, int] = {}

    def go_on(count: int) -> None:
        """Appends so many more, and reads them in the group."""
        until = len(read) + count
        for number in range(len(read), until):
            producer.produce("numbers", str(number), on_delivery=delivered)
        assert producer.flush(60) == 0

        def has_read() -> bool:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                number, offset = int(message.value() or b""), message.offset()
                assert read.setdefault(number, offset) == offset == number
            return len(read) == until

        wait_until(has_read, 120)
        consumer.commit(asynchronous=False)

    go_on(500)
    leading.kill()
    go_on(500)
    assert owner([broker for broker in brokers if broker is not leading]) is not leading
    consumer.close()
    assert list(read) == list(range(1000)) and len(acknowledged) == 1000

    # A new member of the group begins where it has committed.
    again = Consumer({**group, "bootstrap.servers": servers})
    again.subscribe(["numbers"])
    producer.produce("numbers", "1000")
    assert producer.flush(60) == 0
    message = None
    while message is None or message.error() is not None:
        message = again.poll(1)
    assert (message.value(), message.offset()) == (b"1000", 1000)
    again.close()


def test_a_client_of_several_brokers_continues_when_the_one_that_it_uses_is_killed(
    brokers_on_bucket: Callable[..., Broker],
) -> None:
    brokers = [brokers_on_bucket() for _ in range(2)]
    leading = owner(brokers)
    other = next(broker for broker in brokers if broker is not leading)
    client = rawline.Client(f"{leading.url},{other.url}")
    with client.producer("numbers") as producer:
        producer.send(b"before").offset(timeout=60)
        leading.kill()
        producer.send(b"after").offset(timeout=60)
    assert client.consumer("numbers", end=2).take(2).to_list() == [b"before", b"after"]
