"""Events per second through Zeek's WebSocket: one client publishes, another receives, over raw sockets.

Usage: zeek_events.py PORT EVENTS. The client library is left out on purpose: it would be what is measured.
"""

import json
import socket
import struct
import sys
import threading
import time

UPGRADE = (
    b"GET /v1/messages/json HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
BLOCK_EVENTS = 500


def typed(kind: str, data: object) -> dict[str, object]:
    return {"@data-type": kind, "data": data}


def header(length: int, mask: int) -> bytes:
    if length < 126:
        return struct.pack("!BB", 0x81, mask | length)
    return struct.pack("!BBH", 0x81, mask | 126, length)


def frame(payload: bytes) -> bytes:
    """A client's frame, with a mask of zeros."""
    return header(len(payload), 0x80) + bytes(4) + payload


def connect(port: int, prefixes: list[str]) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(UPGRADE + frame(json.dumps(prefixes).encode()))
    received = b""
    while b'"ack"' not in received:
        received += connection.recv(4096)
    return connection


def main() -> None:
    port, events = int(sys.argv[1]), int(sys.argv[2]) // BLOCK_EVENTS * BLOCK_EVENTS
    args = typed("vector", [typed("integer", 42), typed("string", "test")])
    event = typed("vector", [typed("string", "event_1"), args])
    value = typed("vector", [typed("count", 1), typed("count", 1), event])
    message = {"type": "data-message", "topic": "/bench/event", **value}
    text = json.dumps(message, separators=(",", ":")).encode()
    delivered = header(len(text), 0) + text
    subscriber, publisher = connect(port, ["/bench"]), connect(port, [])

    def receive() -> None:
        left, rest = events * len(delivered), b""
        while left:
            piece = subscriber.recv(1 << 20)
            assert piece, f"closed with {left} bytes missing"
            left -= len(piece)
            # Every event is the same, so every byte is known.
            whole, rest = divmod(len(rest + piece), len(delivered))[0], rest + piece
            assert rest[: whole * len(delivered)] == delivered * whole
            rest = rest[whole * len(delivered) :]

    receiving = threading.Thread(target=receive)
    block = frame(text) * BLOCK_EVENTS
    started = time.perf_counter()
    receiving.start()
    for _ in range(events // BLOCK_EVENTS):
        publisher.sendall(block)
    receiving.join()
    seconds = time.perf_counter() - started
    print(f"{events} events of {len(text)} bytes of JSON in {seconds:.2f} s: {events / seconds:.0f} events/s")


main()
