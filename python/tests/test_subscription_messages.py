"""The golden messages in vectors/subscribe, which all languages share, from a server that sends them."""

import json
import threading
from typing import Any

import pytest
from conftest import VECTORS
from websockets.sync.server import ServerConnection, serve

import rawline

CASES: list[dict[str, Any]] = json.loads((VECTORS / "subscribe/messages.json").read_text())["cases"]


def name(case: dict[str, Any]) -> str:
    return str(case["name"])


def receive(case: dict[str, Any]) -> list[rawline.Message]:
    """A message as a subscription delivers it."""
    topic, partition = case.get("topic", "dns"), case.get("partition", 0)

    def send(socket: ServerConnection) -> None:
        cursor = f"5;{topic}/{partition}={case['position']}"
        socket.send(json.dumps({"type": "subscribed", "cursor": cursor}))
        socket.send(bytes.fromhex(case["hex"]))
        # Follows the records, of which there may be none.
        skipped = {"type": "skipped", "topic": "other", "partition": 0, "records": 1, "next_offset": 1}
        socket.send(json.dumps(skipped))
        # Until the client closes the connection.
        for _ in socket:
            pass

    with serve(send, "127.0.0.1", 0, compression=None) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = rawline.Client(f"http://127.0.0.1:{server.socket.getsockname()[1]}")
        messages: list[rawline.Message] = []
        with client.subscribe(prefixes=[""], retry_for=0) as subscription:
            while True:
                event = subscription.poll(30)
                if isinstance(event, rawline.Skipped):
                    assert event.topic == "other"
                    return messages
                assert isinstance(event, rawline.Batch), event
                messages += event.messages()


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case], ids=name)
def test_records_of_messages(case: dict[str, Any]) -> None:
    messages = receive(case)
    assert [str(message.offset) for message in messages] == [record["offset"] for record in case["records"]]
    for message, record in zip(messages, case["records"], strict=True):
        assert (message.topic, message.partition) == (case["topic"], case["partition"])
        is_null = record.get("null", False)
        assert (None if message.value is None else message.value.hex()) == (None if is_null else record["hex"])
        key = record.get("key")
        assert message.key == (None if key is None else bytes.fromhex(key))
        headers = [
            (bytes.fromhex(field).decode(), None if content is None else bytes.fromhex(content))
            for field, content in record.get("headers", [])
        ]
        assert message.headers == headers


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case], ids=name)
def test_wrong_messages(case: dict[str, Any]) -> None:
    with pytest.raises(rawline.RawlineError):
        receive(case)
