"""Fixtures of the tests with Kafka's clients and engines."""

import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from brokers import Broker
from engines import MODULES, Engine


@pytest.fixture(scope="session", name="_built_engines")
def built_engines() -> None:
    """Maven compiles the programs and says which jars they need."""
    command = ["mvn", "--batch-mode", "--no-transfer-progress", "--quiet", "-f", str(MODULES), "process-classes"]
    subprocess.run(command, check=True, timeout=600)


@pytest.fixture
def start_engine(_built_engines: None, tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Starts a module's program, in the test's folder."""
    started: list[Engine] = []

    def start(module: str, program: str, *arguments: object) -> Engine:
        started.append(Engine(module, program, tmp_path / f"{module}-{len(started)}.log", *arguments))
        return started[-1]

    yield start
    for engine in started:
        engine.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def lasting_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker that Kafka's clients find at the same address after a restart."""
    broker = Broker(tmp_path / "broker", "--kafka", f"127.0.0.1:{free_port()}")
    yield broker
    broker.stop()
