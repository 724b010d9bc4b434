"""Kafka Connect: a distributed worker, with a source and a sink of lines in files."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from brokers import Broker, documented, wait_until
from conftest import free_port
from engines import Engine, Writer, lag, rawline, records_count, values, wait_for_lines

LINES = [f"line {number}" for number in range(6000)]
INTERNAL = ["connect-configs", "connect-offsets", "connect-status"]


class Worker:
    """The worker of docs/kafka.md and its REST interface."""

    def __init__(self, start_engine: Callable[..., Engine], broker: Broker, folder: Path) -> None:
        self.start_engine = start_engine
        self.url = f"http://127.0.0.1:{free_port()}"
        self.places = {"127.0.0.1:9092": broker.kafka, "http://127.0.0.1:8083": self.url, "/tmp/": f"{folder}/"}
        (worker,) = documented("properties", "Connect")
        self.properties = folder / "worker.properties"
        # A restart finds offsets that are a second old, not a minute.
        self.properties.write_text(self.placed(worker) + "offset.flush.interval.ms=1000\n")
        self.start()

    def placed(self, text: str) -> str:
        for documented_place, place in self.places.items():
            text = text.replace(documented_place, place)
        return text

    def start(self) -> None:
        self.engine = self.start_engine("connect", "org.apache.kafka.connect.cli.ConnectDistributed", self.properties)

        def listens() -> bool:
            try:
                return bool(self.ask("GET", "/connectors") is not None)
            except (urllib.error.URLError, ConnectionError):
                return False

        self.engine.wait_until(listens)

    def ask(self, method: str, path: str) -> Any:
        request = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
            return json.loads(body) if body else None

    def create_connectors(self) -> None:
        (commands,) = documented("sh", "Connect")
        subprocess.run(["bash", "-ec", self.placed(commands)], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def await_state(self, connector: str, state: str) -> None:
        def is_in_it() -> bool:
            try:
                status = self.ask("GET", f"/connectors/{connector}/status")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                # Its first state has not come through the topic yet.
                return False
            states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
            assert "FAILED" not in states, status
            return states == [state, state]

        self.engine.wait_until(is_in_it)


@pytest.fixture
def worker(start_engine: Callable[..., Engine], lasting_broker: Broker, tmp_path: Path) -> Worker:
    return Worker(start_engine, lasting_broker, tmp_path)


def test_lines_go_from_file_to_file(worker: Worker, lasting_broker: Broker, tmp_path: Path) -> None:
    """Through a restart of the worker, a pause, and a crash of the broker, while lines are written."""
    source, sink = tmp_path / "in.txt", tmp_path / "out.txt"
    source.touch()
    worker.create_connectors()
    for connector in ["lines-in", "lines-out"]:
        worker.await_state(connector, "RUNNING")
    writer = Writer(source, LINES[:4000], 10)
    wait_for_lines(sink, 500, worker.engine)
    worker.engine.terminate()
    assert writer.thread.is_alive()
    worker.start()
    writer.thread.join()
    wait_for_lines(sink, 4000, worker.engine)
    # A stopping worker commits its offsets, so there are no duplicate lines.
    assert sink.read_text().splitlines() == LINES[:4000]

    worker.ask("PUT", "/connectors/lines-out/pause")
    worker.await_state("lines-out", "PAUSED")
    Writer(source, LINES[4000:4500], 100).thread.join()
    wait_until(lambda: records_count(lasting_broker, "lines") == 4500)
    assert sink.read_text().splitlines() == LINES[:4000]
    worker.ask("PUT", "/connectors/lines-out/resume")
    wait_for_lines(sink, 4500, worker.engine)

    writer = Writer(source, LINES[4500:], 10)
    wait_for_lines(sink, 4600, worker.engine)
    lasting_broker.kill()
    assert writer.thread.is_alive()
    lasting_broker.start()
    writer.thread.join()
    wait_until(lambda: set(sink.read_text().splitlines()) == set(LINES))
    # The sink begins at its last commit; the source's producer is idempotent.
    assert rawline(lasting_broker, "consume", "lines").splitlines() == LINES
    assert values(lasting_broker, "lines") == LINES

    for topic in INTERNAL:
        assert "cleanup policy compact\n" in rawline(lasting_broker, "topic", topic)
    wait_until(lambda: lag(lasting_broker, "connect-lines-out") == 0)
    for connector in ["lines-in", "lines-out"]:
        worker.ask("DELETE", f"/connectors/{connector}")
    wait_until(lambda: worker.ask("GET", "/connectors") == [])
    worker.engine.terminate()
    worker.start()
    assert worker.ask("GET", "/connectors") == []
