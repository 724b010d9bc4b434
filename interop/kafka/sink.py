"""An upper bound for brokers: acknowledges Produce requests as soon as they have arrived, and does nothing else.

A process between a Kafka client and a broker. The broker gets all requests but Produce. Of those it gets the first of
each connection; the others get a copy of its response at once. With `fsync`, what has arrived together is written to
a file and synced first. The rate that a client reaches with it is the client's own limit on this machine.
"""

import os
import socket
import struct
import sys
import threading
from pathlib import Path

PRODUCE = 0
# The size of a frame, its kind and version, and its correlation id. A response has its size and that id.
REQUEST = struct.Struct(">iHHi")
RESPONSE = struct.Struct(">ii")


def receive(client: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = client.recv(length - len(parts))
        if not part:
            raise ConnectionError("the broker has closed the connection")
        parts += part
    return bytes(parts)


def ask(broker: socket.socket, frame: bytes) -> bytes:
    """The broker's response."""
    broker.sendall(frame)
    head = receive(broker, RESPONSE.size)
    return head + receive(broker, RESPONSE.unpack(head)[0] - 4)


def serve(client: socket.socket, address: tuple[str, int], file: int | None) -> None:
    broker = socket.create_connection(address)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    acknowledged = b""
    arrived = bytearray()
    while part := client.recv(1 << 20):
        arrived += part
        at = 0
        responses = []
        while len(arrived) - at >= REQUEST.size:
            size, kind, _version, correlation = REQUEST.unpack_from(arrived, at)
            if len(arrived) - at < 4 + size:
                break
            if kind == PRODUCE and acknowledged:
                responses.append(RESPONSE.pack(len(acknowledged) + 4, correlation) + acknowledged)
            else:
                responses.append(ask(broker, bytes(arrived[at : at + 4 + size])))
                if kind == PRODUCE:
                    acknowledged = responses[-1][RESPONSE.size :]
            at += 4 + size
        if not responses:
            continue
        if file is not None:
            os.write(file, memoryview(arrived)[:at].tobytes())
            os.fdatasync(file)
        del arrived[:at]
        client.sendall(b"".join(responses))


def main() -> None:
    port, host, broker_port, folder, durability = sys.argv[1:]
    file = None
    if durability == "fsync":
        # A file that already has its length and its blocks, as a segment of the broker's does.
        path = Path(folder) / "sink"
        path.write_bytes(bytes(1 << 30))
        file = os.open(path, os.O_WRONLY)
    with socket.create_server(("127.0.0.1", int(port))) as listener:
        print("listening", flush=True)
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, (host, int(broker_port)), file), daemon=True).start()


if __name__ == "__main__":
    main()
