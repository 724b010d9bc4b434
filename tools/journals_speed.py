"""How much several brokers with a journal each write, compared with one broker with one journal.

Both are on the same S3 server, in one run, in turns. A proxy adds a delay to each request, as a real bucket has it.
Small commits (--batch-bytes) keep this machine's CPU out of it: what limits a journal is that eight of its objects are
in flight at a time. Clients are connections with one append of --record-bytes in flight each, to the owner of their
topic.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtesttest"}
# In the journals 0, 1 and 2 of three.
TOPICS = ["b", "a", "c"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Forward(asyncio.Protocol):
    """One side of a connection: what arrives goes to the other side, so much later."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        self.transport: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()
        self.other: asyncio.Future[asyncio.Transport] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport.set_result(transport)

    def data_received(self, data: bytes) -> None:
        # Calls with one delay come in order, as do callbacks of one future.
        asyncio.get_running_loop().call_later(
            self.delay_s, lambda: self.other.add_done_callback(lambda other: other.result().write(data))
        )

    def connection_lost(self, _: Exception | None) -> None:
        self.other.add_done_callback(lambda other: other.result().close())


def proxy(port: int, to: int, delay_s: float) -> None:
    connecting: set[asyncio.Task[None]] = set()

    async def connect(client: Forward) -> None:
        server = Forward(0)
        await asyncio.get_running_loop().create_connection(lambda: server, "127.0.0.1", to)
        client.other.set_result(await server.transport)
        server.other.set_result(await client.transport)

    def accept() -> Forward:
        client = Forward(delay_s)
        connecting.add(task := asyncio.get_running_loop().create_task(connect(client)))
        task.add_done_callback(connecting.discard)
        return client

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(accept, "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


def wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)


class Service:
    """Brokers on a new prefix of the bucket."""

    def __init__(self, options: argparse.Namespace, brokers: int, endpoint: int, folder: Path, prefix: str) -> None:
        self.ports = [free_port() for _ in range(brokers)]
        self.processes = []
        for number, port in enumerate(self.ports):
            cache = folder / f"cache-{prefix}-{number}"
            flags = ["--storage", f"s3://bucket/{prefix}", "--listen", f"127.0.0.1:{port}", "--cache-dir", str(cache)]
            flags += ["--journals", str(brokers), "--batch-bytes", str(options.batch_bytes), "--batch-wait", "5ms"]
            environment = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{endpoint}"}
            process = subprocess.Popen(
                [options.program, "serve", *flags],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.processes.append(process)
            wait_for(port)

    def owners(self) -> dict[int, int]:
        """The port of each journal's owner, once each broker has one."""
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[0]}/brokers", timeout=5) as response:
                brokers = json.load(response)["brokers"]
            owned = {number: int(one["url"].rsplit(":", 1)[1]) for one in brokers for number in one["journals"]}
            if len(owned) == len(self.ports) == len(set(owned.values())):
                return owned
            time.sleep(0.1)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()


async def append(port: int, topic: str, record: bytes, until: float, counts: list[int], begin: float) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /records?topic-name={topic} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Type: application/octet-stream\r\nContent-Length: {len(record)}\r\n\r\n"
    request = head.encode() + record
    while time.monotonic() < until:
        writer.write(request)
        response = await reader.readuntil(b"\r\n\r\n")
        assert response.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")), response
        length = response.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
        await reader.readexactly(int(length))
        if begin <= time.monotonic() < until:
            counts[0] += 1
    writer.close()


async def load(options: argparse.Namespace, owners: dict[int, int]) -> float:
    """Appends for a while; returns how many per second are acknowledged."""
    begin = time.monotonic() + 2
    until = begin + options.seconds
    counts, record = [0], b"x" * options.record_bytes
    appends = [
        append(owners[number % len(owners)], topic, record, until, counts, begin)
        for number, topic in enumerate(TOPICS)
        for _ in range(options.connections // len(TOPICS))
    ]
    await asyncio.gather(*appends)
    return counts[0] / options.seconds


def busy() -> float:
    """Seconds of CPU that this machine has spent."""
    user, nice, system = (int(field) for field in Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay-ms", type=int, default=50, help="what the proxy adds to each request")
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--connections", type=int, default=192, help="of all clients")
    parser.add_argument("--record-bytes", type=int, default=4096)
    parser.add_argument("--batch-bytes", type=int, default=16384)
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target/release/rawline", help="the binary")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder, server_port, endpoint = Path(name), free_port(), free_port()
        (folder / "buckets/bucket").mkdir(parents=True)
        keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
        command = [REPOSITORY / ".tools/bin/versitygw", "--port", f"127.0.0.1:{server_port}", "--quiet"]
        server = subprocess.Popen(
            [*command, "posix", folder / "buckets"], env={**os.environ, **keys}, stdout=subprocess.DEVNULL
        )
        delaying = multiprocessing.Process(
            target=proxy, args=(endpoint, server_port, options.delay_ms / 1000), daemon=True
        )
        delaying.start()
        try:
            wait_for(server_port)
            wait_for(endpoint)
            one = Service(options, 1, endpoint, folder, "one")
            three = Service(options, 3, endpoint, folder, "three")
            try:
                for _ in range(options.runs):
                    rates = []
                    for name, service in [("one broker", one), ("three brokers", three)]:
                        owners, before, began = service.owners(), busy(), time.monotonic()
                        rates.append(asyncio.run(load(options, owners)))
                        cores = (busy() - before) / (time.monotonic() - began)
                        print(f"{name:14} {rates[-1]:7.0f} appends/s, {cores:.2f} cores busy", flush=True)
                    print(f"{'':14} {rates[1] / rates[0]:7.2f} times", flush=True)
            finally:
                one.stop()
                three.stop()
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
