"""Brokers that speak TLS: our client and librdkafka, with an own authority and with certificates of clients."""

from collections.abc import Callable
from pathlib import Path

import pytest
from certificates import Authority
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from conftest import Broker

import rawline
from rawline.aio import AsyncClient

KEY = "a-key-of-this-test"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def flags(authority: Authority) -> list[str]:
    pair = authority.issue("broker")
    return ["--kafka", "127.0.0.1:0", "--tls-cert", str(pair.certificate), "--tls-key", str(pair.key)]


def test_records_go_over_tls_and_come_back(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str]
) -> None:
    broker = start_broker(*flags)
    assert broker.url.startswith("https://")
    client = rawline.Client(broker.url, ca_file=authority.file)
    records = [b"small", b"", b"x" * 3_000_000]
    for record in records:
        client.append("t", [record])
    assert client.read("t", 0).to_list() == records


def test_an_authority_from_the_environment_is_trusted(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = start_broker(*flags)
    with pytest.raises(rawline.TlsError, match="ca_file"):
        rawline.Client(broker.url).health()
    monkeypatch.setenv("RAWLINE_CA", str(authority.file))
    rawline.Client(broker.url).health()


def test_a_client_presents_its_certificate(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str]
) -> None:
    broker = start_broker(*flags, "--tls-client-ca", str(authority.file))
    with pytest.raises(rawline.TlsError, match="certificate_file"):
        rawline.Client(broker.url, ca_file=authority.file).health()
    pair = authority.issue("client")
    rawline.Client(broker.url, ca_file=authority.file, certificate_file=pair.certificate, key_file=pair.key).health()
    with pytest.raises(rawline.ConfigError, match="key_file"):
        rawline.Client(broker.url, certificate_file=str(pair.certificate))


async def health(url: str, authority: Authority) -> None:
    async with AsyncClient(url, ca_file=authority.file) as client:
        await client.health()


def test_the_asynchronous_client_speaks_tls(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str]
) -> None:
    import asyncio

    asyncio.run(health(start_broker(*flags).url, authority))


def exchange(settings: dict[str, object], count: int, value: bytes) -> None:
    """Produces messages with librdkafka and consumes them."""
    producer = Producer(settings)
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    for number in range(count):
        producer.produce("t", key=str(number), value=value, on_delivery=delivered)
        producer.poll(0)
    assert producer.flush(60) == 0
    assert failed == []
    consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    keys = []
    while len(keys) < count:
        message = consumer.poll(60)
        assert message is not None
        assert message.error() is None, message.error()
        assert message.value() == value
        keys.append(message.key())
    consumer.close()
    assert keys == [str(number).encode() for number in range(count)]


@pytest.mark.parametrize(("count", "value"), [(3000, b"small"), (40, b"x" * 500_000)], ids=["small", "large"])
def test_kafkas_clients_speak_tls(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str], count: int, value: bytes
) -> None:
    broker = start_broker(*flags)
    settings: dict[str, object] = {
        "bootstrap.servers": broker.kafka,
        "security.protocol": "SSL",
        "ssl.ca.location": str(authority.file),
    }
    exchange(settings, count, value)


def test_kafkas_clients_authenticate_over_tls(
    start_broker: Callable[..., Broker], authority: Authority, flags: list[str]
) -> None:
    broker = start_broker(*flags, "--api-key", KEY, "--tls-client-ca", str(authority.file))
    pair = authority.issue("client")
    settings: dict[str, object] = {
        "bootstrap.servers": broker.kafka,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "anyone",
        "sasl.password": KEY,
        "ssl.ca.location": str(authority.file),
        "ssl.certificate.location": str(pair.certificate),
        "ssl.key.location": str(pair.key),
    }
    exchange(settings, 100, b"value")
    # Without a certificate, and without the authority.
    for missing in ("ssl.certificate.location", "ssl.ca.location"):
        partial = {name: value for name, value in settings.items() if name != missing}
        if missing == "ssl.certificate.location":
            del partial["ssl.key.location"]
        admin = AdminClient(partial)
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=2)
