"""A consumer that is interrupted, closed, left within a batch, or meets damage and restarts: nothing is lost."""

import contextlib
import json
import os
import signal
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import islice

import pytest
from conftest import VECTORS, Broker

import rawline
from rawline.consumer import Start


def append_batches_of_five(client: rawline.Client, topic: str, batches: int) -> list[bytes]:
    records = [b"%d" % number for number in range(5 * batches)]
    for first in range(0, len(records), 5):
        client.append(topic, records[first : first + 5])
    return records


def test_who_leaves_off_within_a_batch_continues_there(client: rawline.Client, topic: str) -> None:
    records = append_batches_of_five(client, topic, 5)
    with client.consumer(topic, end=25) as consumer:
        # Generators that are kept, as by the traceback of a notebook's cell, change nothing.
        first, second = consumer.records(), consumer.records()
        assert list(islice(first, 2)) + list(islice(second, 2)) == records[:4]
        assert list(next(iter(consumer))) == [records[4]]
        assert list(islice(consumer.records(), 3)) == records[5:8]
        assert consumer.take(3).to_list() == records[8:11]
    with client.consumer(topic, end=25) as consumer:
        next(consumer.records())
        assert not consumer.ended
        assert [bytes(record) for record in consumer.records()] == records[1:] and consumer.ended


def test_the_end_is_known_with_the_last_record(client: rawline.Client, topic: str) -> None:
    append_batches_of_five(client, topic, 1)
    consumer = client.consumer(topic, end=5)
    assert not consumer.ended
    assert len(consumer.take(5)) == 5 and consumer.ended and consumer.poll() is None
    assert repr(consumer) == f"<rawline.Consumer of '{topic}', ended>"


def test_what_came_before_ctrl_c_comes_again(client: rawline.Client, topic: str) -> None:
    records = append_batches_of_five(client, topic, 2)
    consumer = client.consumer(topic)
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        consumer.take(11, timeout=30)
    client.append(topic, [b"the eleventh"])
    assert consumer.take(11, timeout=30).to_list() == [*records, b"the eleventh"]


def test_closing_ends_another_threads_wait(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"x"])
    consumer, came, ended = client.consumer(topic), threading.Event(), threading.Event()

    def follow() -> None:
        for batch in consumer:
            assert batch.to_list() == [b"x"]
            came.set()
        ended.set()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    assert came.wait(30)
    consumer.close()
    assert ended.wait(10)
    follower.join(10)
    assert repr(consumer) == f"<rawline.Consumer of '{topic}', closed>"


def damaged_inside() -> tuple[bytes, int]:
    """A batch whose data can't be decompressed though its checksum is right, and its number of records."""
    cases = json.loads((VECTORS / "batch/batches.json").read_text())["cases"]
    damaged = next(bytes.fromhex(case["hex"]) for case in cases if case.get("error") == "batch_decompress")
    return damaged, int.from_bytes(damaged[12:16], "little")


def test_records_before_and_behind_damage_are_read(client: rawline.Client, topic: str) -> None:
    good, (bad, bad_records) = [b"good"] * 3, damaged_inside()
    client.append_batches(topic, rawline.build_batch(good) + bad + rawline.build_batch(good))
    end = 3 + bad_records + 3
    consumer = client.consumer(topic, end=end)
    assert consumer.take(3).to_list() == good
    # It continues where it was, which is where the damage is.
    for _ in range(2):
        with pytest.raises(rawline.BatchError) as caught:
            consumer.poll()
        assert caught.value.code == "batch_decompress"
    assert not consumer.ended
    assert client.consumer(topic, end - 3, end=end).take(3).to_list() == good
    assert client.read(topic, 0).to_list() == good
    with pytest.raises(rawline.BatchError):
        client.read(topic, 3)
    # Records taken before an error are returned again.
    consumer = client.consumer(topic, end=end)
    for _ in range(2):
        with pytest.raises(rawline.BatchError):
            consumer.take(end)
    assert consumer.poll().to_list() == good  # type: ignore[union-attr]


def test_a_broker_that_is_restarted_is_read_on(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url)
    records = append_batches_of_five(client, "t", 2)
    patient, hasty = client.consumer("t"), client.consumer("t", retry_for=0)
    assert patient.take(10).to_list() == hasty.take(10).to_list() == records
    broker.kill()
    with pytest.raises(rawline.RawlineError) as caught:
        hasty.poll(timeout=30)
    assert isinstance(caught.value, ConnectionError) and caught.value.kind in ("wait", "try_again")
    broker.start()
    client.append("t", [b"new"])
    assert patient.take(1, timeout=30).to_list() == hasty.take(1, timeout=30).to_list() == [b"new"]


def test_records_and_arrays_outlive_all_that_made_them(broker: Broker, topic: str) -> None:
    import pyarrow

    client = rawline.Client(broker.url)
    client.append(topic, [b"a" * 1000, b"b" * 1000])
    with client.consumer(topic, end=2) as consumer:
        batches = consumer.take(2)
    view, array, table = batches[1], pyarrow.array(batches.batches[0]), pyarrow.table(batches)
    del batches, consumer, client
    other = rawline.Client(broker.url)
    for _ in range(5):
        other.read(topic, 0)
    assert view == b"b" * 1000 and array.to_pylist() == table["record"].to_pylist() == [b"a" * 1000, b"b" * 1000]


def test_a_topic_that_does_not_exist_is_an_error_unless_waited_for(start_broker: Callable[..., Broker]) -> None:
    client = rawline.Client(start_broker("--no-create-topics").url)
    for start in ("earliest", "latest", 0, datetime.now(timezone.utc)):
        with pytest.raises(rawline.RefusedError) as refused:
            client.consumer("typo", start).poll()
        assert refused.value.code == "topic_not_found"
        assert client.consumer("typo", start, wait_for_topic=True).poll(timeout=0.2) is None


@pytest.mark.parametrize("start", ["earliest", "latest", 0])
def test_a_consumer_that_waits_for_its_topic_reads_it_from_its_first_record(
    start_broker: Callable[..., Broker], start: Start
) -> None:
    broker = start_broker("--no-create-topics")
    consumer = rawline.Client(broker.url).consumer("later", start, wait_for_topic=True)
    assert consumer.poll(timeout=0.2) is None
    broker.kill()
    broker.flags = ()
    broker.start()
    rawline.Client(broker.url).append("later", ["a", "b"])
    assert consumer.take(2, timeout=60).to_list() == [b"a", b"b"]


@pytest.fixture
def slow_url(broker: Broker) -> Iterator[str]:
    """The broker on the other side of a network on which every response takes 0.1 s."""

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            host, port = broker.url.removeprefix("http://").rsplit(":", 1)
            with socket.create_connection((host, int(port))) as upstream:
                threading.Thread(target=self.requests, args=(upstream,), daemon=True).start()
                while received := upstream.recv(65536):
                    time.sleep(0.1)
                    self.request.sendall(received)

        def requests(self, upstream: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while received := self.request.recv(65536):
                    upstream.sendall(received)
                upstream.shutdown(socket.SHUT_RDWR)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_polls_that_are_shorter_than_a_round_trip_receive_records(
    client: rawline.Client, topic: str, slow_url: str
) -> None:
    client.append(topic, ["a", "b"])
    deadline = time.monotonic() + 60
    with rawline.Client(slow_url).consumer(topic) as consumer:
        while (received := consumer.poll(timeout=0.01)) is None:
            assert time.monotonic() < deadline, "each poll begins again"
    assert received.to_list() == [b"a", b"b"]
