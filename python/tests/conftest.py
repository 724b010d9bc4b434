"""Fixtures: brokers, topics, and what several tests look at."""

import re
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
from brokers import REPOSITORY, Broker, s3_server, s3_server_program

import rawline

# A shell that runs its jobs in the background has them ignore Ctrl-C, which Python then leaves as it is.
signal.signal(signal.SIGINT, signal.default_int_handler)

VECTORS = REPOSITORY / "vectors"


def address(view: memoryview) -> int:
    """Where a view's first byte lies."""
    return numpy.frombuffer(view, "u1").ctypes.data


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for the tests that leave it as it is."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts brokers of a test's own."""
    started: list[Broker] = []

    def start(*flags: str) -> Broker:
        started.append(Broker(tmp_path / f"broker-{len(started)}", *flags))
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A new bucket, `s3://bucket`, of a real S3 server: the variables that lead a broker to it."""
    if not s3_server_program().exists():
        pytest.skip("no S3 server: run `make tools`, or set RAWLINE_S3_SERVER")
    with s3_server(tmp_path) as variables:
        yield variables


@pytest.fixture
def brokers_on_bucket(bucket: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts brokers on the bucket; none shares its cache."""
    started: list[Broker] = []

    def start(*flags: str) -> Broker:
        cache = tmp_path / f"cache-{len(started)}"
        flags = ("--cache-dir", str(cache), "--batch-wait", "1ms", *flags)
        started.append(Broker("s3://bucket", *flags, variables=bucket))
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture
def bucket_broker(brokers_on_bucket: Callable[..., Broker]) -> Broker:
    """A broker on a new bucket of a real S3 server, with a journal."""
    return brokers_on_bucket()


@pytest.fixture
def client(broker: Broker) -> rawline.Client:
    return rawline.Client(broker.url)


@pytest.fixture
def topic(request: pytest.FixtureRequest, broker: Broker) -> str:
    """An empty topic of a name that no other test has."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.nodeid)
    put = urllib.request.Request(f"{broker.url}/topic?topic-name={name}", b'{"payload":"bytes"}', method="PUT")
    with urllib.request.urlopen(put) as response:
        assert response.status == 200
    return name
