"""Client and consumer against a real broker: appends, reads, topics, errors, timeouts."""

import array
import os
import pickle
import signal
import socketserver
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import polars
import pyarrow
import pytest
from conftest import Broker, address

import rawline


def test_records_come_back_as_they_were_sent(client: rawline.Client, topic: str) -> None:
    records = [b"x" * length for length in range(300)]
    assert client.append(topic, records) == (0, 300)
    assert client.append(topic, ["text", bytearray(b"bytes")], codec="zstd") == (300, 302)
    came = client.read(topic, 0)
    assert came.to_list() == [*records, b"text", b"bytes"] and came.next_offset == 302
    assert client.read(topic, 298, records_max=2).to_list() == records[298:]
    assert len(client.read(topic, 302)) == 0
    # A compressed batch comes whole; what was not asked for is left out.
    assert client.read(topic, 301).to_list() == [b"bytes"]


def test_small_appends_of_many_threads_are_stored_once(client: rawline.Client, topic: str) -> None:
    def append(number: int) -> int:
        return client.append(topic, [str(number)]).first_offset

    with ThreadPoolExecutor(16) as pool:
        offsets = list(pool.map(append, range(500)))
    stored = [bytes(record) for record in client.read(topic, 0)]
    assert sorted(offsets) == list(range(500)) and len(stored) == 500
    assert [stored[offset] for offset in offsets] == [str(number).encode() for number in range(500)]


class _Held(socketserver.StreamRequestHandler):
    """A broker that stores nothing before so many appends have arrived, on any connections."""

    all_arrived = threading.Barrier(128)

    def handle(self) -> None:
        answers: list[threading.Thread] = []
        while request := self.rfile.readline():
            assert request.startswith(b"POST /records?")
            length = 0
            while (line := self.rfile.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length: "):
                    length = int(line.split()[1])
            self.rfile.read(length)
            before = answers[-1] if answers else None
            answers.append(threading.Thread(target=self._answer, args=(before,), daemon=True))
            answers[-1].start()

    def _answer(self, before: threading.Thread | None) -> None:
        self.all_arrived.wait(60)
        if before:
            before.join()
        body = b'{"first_offset":0,"next_offset":1}'
        self.wfile.write(b"HTTP/1.1 201 Created\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))


class _HeldServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = _Held.all_arrived.parties


def test_appends_do_not_wait_for_responses_to_earlier_ones() -> None:
    with _HeldServer(("127.0.0.1", 0), _Held) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = rawline.Client(f"http://127.0.0.1:{server.server_address[1]}")
        with ThreadPoolExecutor(_Held.all_arrived.parties) as pool:
            appended = pool.map(lambda number: client.append("t", [str(number)]), range(_Held.all_arrived.parties))
            assert list(appended) == [(0, 1)] * _Held.all_arrived.parties
        server.shutdown()


def test_arrow_arrays_are_appended(client: rawline.Client, topic: str) -> None:
    texts = ["one", "two", "a longer text that no view holds inside"]
    for data in [
        pyarrow.array(texts),
        pyarrow.array(texts, pyarrow.large_string()),
        pyarrow.array([text.encode() for text in texts]),
        pyarrow.array(texts, pyarrow.string_view()),
        pyarrow.chunked_array([texts[:1], texts[1:]]),
        polars.Series(texts),
        polars.DataFrame({"record": texts, "other": [1, 2, 3]}),
        pyarrow.table({"whatever": texts}),
    ]:
        offset = client.append(topic, data).first_offset
        assert [bytes(record).decode() for record in client.read(topic, offset)] == texts
    for bad, why in [
        (pyarrow.array([1, 2]), "cast it"),
        (pyarrow.array(["a", None]), "nulls"),
        (pyarrow.table({"a": texts, "b": texts}), "pass the column with the records"),
    ]:
        with pytest.raises(rawline.ConfigError, match=why):
            client.append(topic, bad)
    with pytest.raises(TypeError, match="put it in a list"):
        client.append(topic, b"record")


def test_a_topic_is_copied_batch_by_batch(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"a" * 100] * 50, codec="lz4")
    client.append(topic, [b"b", b"c"])
    for batch in client.read(topic, 0).batches:
        client.append_batches(f"{topic}-copy", batch.wire)
    came = client.read(f"{topic}-copy", 0)
    assert [batch.codec for batch in came.batches] == ["lz4", "none"] and len(came) == 52
    sizes, data = array.array("I", [1, 0, 2]), b"xyz"
    assert client.append_records(f"{topic}-copy", sizes, data) == (52, 55)
    assert client.read(f"{topic}-copy", 52).to_list() == [b"x", b"", b"yz"]
    with pytest.raises(rawline.BatchError) as caught:
        client.append_records(topic, sizes, b"xy")
    assert caught.value.code == "batch_sizes_sum"


def test_topics_are_described(client: rawline.Client, topic: str) -> None:
    before = datetime.now(timezone.utc) - timedelta(minutes=1)
    client.append(topic, [b"1", b"2"])
    info = client.topic(topic)
    assert (info.name, info.first_offset, info.next_offset, info.records) == (topic, 0, 2, 2)
    assert info.latest_commit_at is not None and info.latest_commit_at > before and info.payload == "bytes"
    assert topic in [each.name for each in client.topics()]
    assert client.offset_at(topic, before) == 0
    assert client.offset_at(topic, datetime.now(timezone.utc) + timedelta(days=1)) == 2
    assert client.set_payload(topic, "value").payload == "value"
    with pytest.raises(rawline.ConfigError, match="without a zone"):
        client.offset_at(topic, datetime.now())


def test_topics_are_created_and_deleted(client: rawline.Client, topic: str) -> None:
    topic += "-new"
    info = client.create_topic(topic, payload="value", retain_hours=24, retain_bytes=1 << 40)
    assert (info.payload, info.retain_hours, info.retain_bytes, info.next_offset) == ("value", 24, 1 << 40, 0)
    with pytest.raises(rawline.RefusedError) as refused:
        client.create_topic(topic)
    assert (refused.value.status, refused.value.code) == (409, "topic_exists")
    client.append(topic, [b"1", b"2", b"3"])
    assert client.delete_topic(topic) is None
    for use in [lambda: client.topic(topic), lambda: client.read(topic, 0), lambda: client.delete_topic(topic)]:
        with pytest.raises(rawline.RefusedError) as refused:
            use()
        assert refused.value.code == "topic_not_found"
    assert client.append(topic, [b"new"]) == (0, 1)
    assert client.topic(topic).payload == "bytes"
    client.delete_topic(topic)
    assert client.create_topic(topic).retain_hours is None
    with pytest.raises(rawline.ConfigError, match="retain_hours"):
        client.create_topic(topic, retain_hours=0)
    with pytest.raises(rawline.ConfigError, match="payload"):
        client.create_topic(topic, payload="text")  # type: ignore[arg-type]


def test_records_without_keys_are_refused_in_compacted_topics(client: rawline.Client, topic: str) -> None:
    topic += "-compacted"
    assert client.create_topic(topic, cleanup_policy="compact", partitions=2).cleanup_policy == "compact"
    with pytest.raises(rawline.RefusedError) as refused:
        client.append(topic, [b"no key"])
    assert refused.value.code == "key_missing"
    assert client.set_cleanup_policy(topic, "compact,delete").cleanup_policy == "compact,delete"
    assert client.set_retention(topic, retain_hours=1).cleanup_policy == "compact,delete"
    assert client.set_cleanup_policy(topic, "delete") == client.topic(topic)
    assert client.topic(topic).cleanup_policy == "delete"
    assert client.append(topic, [b"no key"]) == (0, 1)
    with pytest.raises(rawline.ConfigError, match="cleanup_policy: unknown policy"):
        client.create_topic(topic, cleanup_policy="none")  # type: ignore[arg-type]
    with pytest.raises(rawline.ConfigError, match="cleanup_policy: unknown policy"):
        client.set_cleanup_policy(topic, "")  # type: ignore[arg-type]


def test_a_consumer_of_a_topic_that_is_deleted_says_so(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"1"])
    with client.consumer(topic) as consumer:
        assert bytes(next(iter(consumer.records()))) == b"1"
        client.delete_topic(topic)
        with pytest.raises(rawline.RefusedError) as refused:
            for _ in consumer.records():
                pass
        assert refused.value.code == "topic_not_found"


def test_limits_are_set_and_records_trimmed(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"1", b"2", b"3"])
    info = client.set_retention(topic, retain_hours=0.5, retain_bytes=1 << 40)
    assert (info.retain_hours, info.retain_bytes) == (0.5, 1 << 40)
    assert client.set_payload(topic, "value").retain_hours == 0.5
    info = client.set_retention(topic, retain_hours=24)
    assert (info.payload, info.retain_hours, info.retain_bytes) == ("value", 24, None)
    assert client.set_retention(topic) == client.topic(topic)
    assert client.topic(topic).retain_hours is None
    for wrong in [{"retain_hours": 0}, {"retain_hours": -1}, {"retain_bytes": 0}, {"retain_bytes": -1}]:
        with pytest.raises(rawline.ConfigError, match="retain_"):
            client.set_retention(topic, **wrong)  # type: ignore[arg-type]
    assert client.trim(topic, 2) == (2, 3)
    assert client.trim(topic, 1).first_offset == 2
    with pytest.raises(rawline.RefusedError, match="next offset is 3") as refused:
        client.trim(topic, 4)
    assert refused.value.code == "offset_out_of_bounds"
    with pytest.raises(rawline.RefusedError, match="first offset 2"):
        client.read(topic, 1)
    assert client.read(topic, 2).to_list() == [b"3"]


def test_a_consumer_begins_and_ends_as_requested(client: rawline.Client, topic: str) -> None:
    for first in range(0, 100, 10):
        client.append(
            topic, [b"%d" % index for index in range(first, first + 10)], codec="zstd" if first % 20 else "none"
        )
    numbers = [b"%d" % index for index in range(100)]
    assert list(client.consumer(topic, end=100).records()) == numbers
    # Inside of batches, compressed or not.
    for start, end in [(0, 5), (3, 97), (15, 25), (99, 100), (50, 50)]:
        consumer = client.consumer(topic, start, end=end)
        assert list(consumer.records()) == numbers[start:end] and consumer.ended
    assert client.consumer(topic, end=100, bytes_max=1).take(100).to_list() == numbers
    assert client.consumer(topic, end=100).take(15).to_list() == numbers[:15]
    latest = client.consumer(topic, "latest")
    assert latest.poll(timeout=0.05) is None and not latest.ended
    came: rawline.Batches | None = None
    # It may not know the end yet when the first one is appended.
    while came is None:
        client.append(topic, [b"new"])
        came = latest.poll(timeout=0.5)
    assert set(came.to_list()) == {b"new"} and came.first_offset >= 100
    since = client.consumer(topic, datetime.now(timezone.utc) - timedelta(hours=1), end=101)
    assert len(since.take(1000)) == 101
    with pytest.raises(rawline.ConfigError, match='"earliest", "latest", an offset or a datetime'):
        client.consumer(topic, "newest")


def test_batch_by_batch_and_all_at_once_give_the_same(client: rawline.Client, topic: str) -> None:
    for _ in range(5):
        client.append(topic, [b"a", b"b"])
    with client.consumer(topic, end=10) as consumer:
        first = next(iter(consumer))
        rest = consumer.take(100)
    assert [first.first_offset, *(batch.first_offset for batch in rest.batches)] == [0, 2, 4, 6, 8]
    with pytest.raises(rawline.ConfigError, match="closed"):
        consumer.poll()


def test_a_number_of_records_is_taken(client: rawline.Client, topic: str) -> None:
    for first in range(0, 100, 10):
        client.append(topic, [b"%d" % number for number in range(first, first + 10)])
    numbers = [b"%d" % number for number in range(100)]
    with client.consumer(topic, end=100) as consumer:
        for first, count in [(0, 1), (1, 14), (15, 0), (15, 5), (20, 30)]:
            taken = consumer.take(count)
            assert taken.to_list() == numbers[first : first + count] and not consumer.ended
        # The other ways to read continue there.
        assert bytes(next(consumer.records())) == b"50" and consumer.take(3).to_list() == numbers[51:54]
        assert next(iter(consumer)).to_list() == numbers[54:60]
        assert consumer.take(1000).to_list() == numbers[60:] and consumer.ended and len(consumer.take(1)) == 0


def test_a_reader_waits_for_what_comes(client: rawline.Client, topic: str) -> None:
    client.set_payload(topic, "bytes")
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.extend(client.read(topic, 0, wait=30).to_list()))
    reader.start()
    client.append(topic, [b"awaited"])
    reader.join(30)
    assert came == [b"awaited"]


def test_memory_of_answers_is_used_again(client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"x" * 1000] * 1000)
    places = set()
    for _ in range(20):
        places.add(address(client.read(topic, 0).batches[0].data))
    assert len(places) < 20
    # A view that is kept keeps its memory.
    kept = client.read(topic, 0)[0]
    client.append(f"{topic}-other", [b"y" * 1000] * 1000)
    for _ in range(5):
        client.read(f"{topic}-other", 0)
    assert kept == b"x" * 1000


def test_errors_say_what_to_do(broker: Broker, client: rawline.Client, start_broker: Callable[..., Broker]) -> None:
    with pytest.raises(rawline.ConnectError, match="is the broker running there") as connect:
        rawline.Client("http://127.0.0.1:1", retry_for=0).health()
    assert connect.value.kind == "wait" and isinstance(connect.value, ConnectionError)
    with pytest.raises(rawline.TlsError):
        rawline.Client(broker.url.replace("http", "https"), retry_for=0).health()
    with pytest.raises(rawline.RefusedError) as refused:
        client.topic("no such name")
    error = refused.value
    assert (error.kind, error.code, error.status) == ("fix_request", "topic_name", 400) and str(error)
    for url in ["nonsense", "ftp://host", "http://a@b"]:
        with pytest.raises(rawline.ConfigError):
            rawline.Client(url)
    with pytest.raises(rawline.ConfigError, match="codec"):
        client.append("t", [b"x"], codec="gzip")  # type: ignore[arg-type]
    with pytest.raises(rawline.ConfigError, match="seconds from 0 on"):
        rawline.Client(request_timeout=-1)
    locked = start_broker("--api-key", "secret")
    for key in [None, "wrong"]:
        with pytest.raises(rawline.RefusedError) as unauthorized:
            rawline.Client(locked.url, api_key=key).topics()
        assert (unauthorized.value.code, unauthorized.value.status) == ("unauthorized", 401)
    rawline.Client(locked.url, api_key="secret").append("t", [b"x"])


def test_errors_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(rawline.RefusedError("m", "wait", "c", 503, 1.5)))
    assert (str(error), error.kind, error.code, error.status, error.retry_after) == ("m", "wait", "c", 503, 1.5)


def test_a_broker_that_does_not_answer_is_given_up(start_broker: Callable[..., Broker]) -> None:
    broker = start_broker()
    client = rawline.Client(broker.url, request_timeout=0.2, retry_for=0)
    client.health()
    broker.signal(signal.SIGSTOP)
    with pytest.raises(rawline.RequestTimeoutError) as caught:
        client.append("t", [b"x"])
    assert caught.value.kind == "try_again" and isinstance(caught.value, TimeoutError)
    broker.signal(signal.SIGCONT)


def test_ctrl_c_ends_a_wait(client: rawline.Client, topic: str) -> None:
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        client.consumer(topic, wait_for_topic=True).poll(timeout=30)


def test_other_threads_run_while_one_waits(client: rawline.Client, topic: str) -> None:
    counted = 0

    def poll() -> None:
        client.consumer(topic, wait_for_topic=True).poll(timeout=0.3)

    waiter = threading.Thread(target=poll)
    waiter.start()
    while waiter.is_alive():
        counted += 1
        time.sleep(0)
    assert counted > 100


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_needs_a_client_of_its_own(broker: Broker, client: rawline.Client, topic: str) -> None:
    client.append(topic, [b"parent"])
    with client.producer(f"{topic}-other") as producer:
        receipt = producer.send(b"x")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            try:
                with pytest.raises(rawline.ConfigError, match="before the process was forked"):
                    receipt.offset()
                client.health()
            except rawline.ConfigError:
                rawline.Client(broker.url).append(topic, [b"child"])
                status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.read(topic, 0).to_list() == [b"parent", b"child"]
