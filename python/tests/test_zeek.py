"""The WebSocket of Zeek's Broker, with the package websockets: a recorded session, and events in both directions."""

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from brokers import REPOSITORY, Broker
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import rawline
from rawline import value

# Nothing arrives for this long where nothing is expected, in seconds.
SILENCE = 0.3
DEADLINE = 30

# One session with the original: who says what, and what it answers. Recorded with Broker 2.8.0-dev.
TRANSCRIPT = REPOSITORY / "vectors/zeek/websocket-transcript.json"

# Real logs, where there are some: dns.json.gz and others, one event a line.
DATA = os.environ.get("RAWLINE_ZEEK_DATA")


@pytest.fixture
def zeek(start_broker: Any) -> Iterator[Broker]:
    return start_broker()


@contextmanager
def open_session(broker: Broker, *prefixes: str) -> Iterator[ClientConnection]:
    with connect(f"ws://{broker.address}/v1/messages/json", compression=None) as socket:
        socket.send(json.dumps(prefixes))
        ack = json.loads(socket.recv(DEADLINE))
        assert ack["type"] == "ack" and len(ack["endpoint"]) == 36
        yield socket


def silent(socket: ClientConnection) -> bool:
    try:
        socket.recv(SILENCE)
    except TimeoutError:
        return True
    return False


def same(ours: str, original: str) -> None:
    """The same answer, except where ours differs on purpose (docs/zeek.md)."""
    answer, expected = json.loads(ours), json.loads(original)
    if expected["type"] == "ack":
        assert answer.keys() == expected.keys() and answer["version"].startswith("rawline-")
    elif expected["type"] == "error":
        assert answer.pop("detail")
        assert answer == expected
    else:
        # Also the bytes: the order of the fields, and no white space.
        assert ours == original


def test_recorded_session(zeek: Broker) -> None:
    with ExitStack() as open_sockets:
        sockets: dict[str, ClientConnection] = {}
        for step in json.loads(TRANSCRIPT.read_text()):
            direction, text = step["dir"], step.get("text")
            if direction.startswith("connect "):
                # The original answers 400.
                with pytest.raises(InvalidStatus) as refused, connect(f"ws://{zeek.address}/v1/nope"):
                    pass
                assert refused.value.response.status_code == 404
            elif direction == "server closes B":
                # The original drops the connection without a close frame.
                with pytest.raises(ConnectionClosed) as closed:
                    sockets["B"].recv(DEADLINE)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1003 and "text" in closed.value.rcvd.reason
            elif direction.startswith("server->"):
                same(str(sockets[direction[-1]].recv(DEADLINE)), text)
            else:
                name = direction[0]
                if name not in sockets:
                    sockets[name] = open_sockets.enter_context(connect(f"ws://{zeek.address}/v1/messages/json"))
                sockets[name].send(b"\x00\x01" if text.startswith("<binary") else text)
                if name == "C":
                    # The original says nothing to a malformed first frame.
                    error = json.loads(sockets[name].recv(DEADLINE))
                    assert error["code"] == "deserialization_failed" and "array of strings" in error["context"]
        assert silent(sockets["A"])


def events() -> list[dict[str, Any]]:
    """Lines of a network monitor's logs: real ones where there are some."""
    if DATA:
        lines = []
        for file in sorted(Path(DATA).glob("*.json.gz")):
            with gzip.open(file, "rt") as log:
                lines += [json.loads(line) for line, _ in zip(log, range(300), strict=False)]
        return lines
    return [
        {
            "_path": ["dns", "weird"][number % 2],
            "ts": f"2018-03-24T17:15:20.{number:06}Z",
            "uid": f"C{number}",
            "id.orig_h": f"10.47.1.{number % 256}",
            "id.resp_p": 53,
            "rtt": number / 7,
            "query": ["größer.example", 'a"b\\c\u0001', "", "x" * 300][number % 4],
            "AA": number % 3 == 0,
            "answers": [f"192.0.2.{number % 256}"] * (number % 5),
        }
        for number in range(600)
    ]


def typed(event: Any) -> dict[str, Any]:
    """JSON with types, made without our library."""
    match event:
        case bool():
            return {"@data-type": "boolean", "data": event}
        case int():
            return {"@data-type": "integer", "data": event}
        case float():
            return {"@data-type": "real", "data": event}
        case str():
            return {"@data-type": "string", "data": event}
        case list():
            return {"@data-type": "vector", "data": [typed(element) for element in event]}
        case dict():
            pairs = sorted(event.items(), key=lambda pair: pair[0].encode())
            return {"@data-type": "table", "data": [{"key": typed(key), "value": typed(item)} for key, item in pairs]}
        case _:
            return {"@data-type": "none", "data": {}}


def test_events_from_and_to_our_client(zeek: Broker) -> None:
    sent = [(f"/zeek/event/{event['_path']}", typed(event)) for event in events()]
    assert len(sent) >= 600
    with (
        open_session(zeek) as publisher,
        open_session(zeek, "/zeek/event/") as subscriber,
        rawline.Client(f"http://{zeek.address}") as client,
    ):
        received: dict[str, list[dict[str, Any]]] = {}
        for topic, event in sent:
            publisher.send(json.dumps({"type": "data-message", "topic": topic, **event}))
        for _ in sent:
            message = json.loads(subscriber.recv(DEADLINE))
            assert message.pop("type") == "data-message"
            received.setdefault(message.pop("topic"), []).append(message)
        expected: dict[str, list[dict[str, Any]]] = {}
        for topic, event in sent:
            expected.setdefault(topic, []).append(event)
        assert received == expected
        # Our client reads what was published, and what it appends is delivered.
        for topic, wanted in expected.items():
            name = topic[1:].replace("/", ".")
            records = [bytes(record) for record in client.read(name, 0)]
            assert records == [value.from_json(json.dumps(event), typed=True) for event in wanted]
            client.append(name, records)
            for event in wanted:
                message = json.loads(subscriber.recv(DEADLINE))
                assert message == {"type": "data-message", "topic": topic, **event}
        assert silent(subscriber) and silent(publisher)
