"""Cost of waiting consumers for the broker: CPU seconds per second, of brokers in turns.

Each consumer is a connection that sends Fetch requests (version 12) for all of its partitions, and the next as soon as
it has the response, as Kafka's clients do. In the cases with records, one partition of the first consumer gets a record
every --every-ms milliseconds. The order of the partitions changes with every request, as that of Kafka's clients does.
"""

import argparse
import asyncio
import http.client
import json
import os
import socket
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
FETCH, VERSION = 1, 12
# As many orders of the partitions are sent in turn.
ORDERS = 8


@dataclass(frozen=True)
class Case:
    """Consumers, and what each of them fetches."""

    name: str
    consumers: int
    topics: int
    partitions: int
    has_records: bool = False


CASES = [
    Case("idle, 10,000 partitions", 1, 10, 1000),
    Case("records, 10,000 partitions", 1, 10, 1000, has_records=True),
    Case("idle, 16 consumers with 2,000 partitions each", 16, 2, 1000),
    Case("idle, 2,000 consumers with a partition each", 2000, 1, 1),
    Case("idle, 2,000 consumers with 100 partitions each", 2000, 1, 100),
]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte, at = data[at], at + 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def partition(number: int, offset: int) -> bytes:
    return struct.pack(">iiqiqib", number, -1, offset, -1, -1, 1 << 20, 0)


class Requests:
    """A consumer's requests: of its first partition from an offset on, of the others from 0 on."""

    def __init__(self, names: list[str], partitions: int, wait_ms: int) -> None:
        self.head = struct.pack(">iiiibii", -1, wait_ms, 1, 50 << 20, 0, 0, -1) + varint(len(names) + 1)
        name = names[0].encode()
        self.head += varint(len(name) + 1) + name + varint(partitions + 1)
        self.rests = []
        for order in range(ORDERS):
            rest = b"".join(partition(n, 0) for n in rotated(range(1, partitions), order)) + b"\0"
            for text in rotated(names[1:], order):
                name = text.encode()
                rest += varint(len(name) + 1) + name + varint(partitions + 1)
                rest += b"".join(partition(n, 0) for n in rotated(range(partitions), order)) + b"\0"
            self.rests.append(rest + b"\1\1\0")

    def frame(self, number: int, offset: int) -> bytes:
        header = struct.pack(">hhih", FETCH, VERSION, number, 4) + b"test\0"
        body = header + self.head + partition(0, offset) + self.rests[number % ORDERS]
        return struct.pack(">i", len(body)) + body


def rotated(items: range | list[str], order: int) -> list:
    items = list(items)
    at = len(items) * order // ORDERS
    return items[at:] + items[:at]


def next_offset(response: bytes) -> int:
    """The end of the first partition in a response."""
    at = 4 + 1 + 4 + 2 + 4
    _, at = read_varint(response, at)
    name, at = read_varint(response, at)
    _, at = read_varint(response, at + name - 1)
    number, error, offset = struct.unpack_from(">ihq", response, at)
    if number != 0 or error != 0:
        raise SystemExit(f"the first of the partitions is {number}, with error {error}")
    return int(offset)


class Consumer:
    def __init__(self) -> None:
        self.polls, self.offset = 0, 0

    async def run(self, port: int, requests: Requests) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
        while True:
            writer.write(requests.frame(self.polls, self.offset))
            length = struct.unpack(">i", await reader.readexactly(4))[0]
            self.offset = next_offset(await reader.readexactly(length))
            self.polls += 1


async def append(port: int, topic: str, every_s: float, appended: list[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"POST /records?topic-name={topic} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n"
    request += "content-type: application/octet-stream\r\ncontent-length: 100\r\n\r\n" + "-" * 100
    due = time.monotonic()
    while True:
        due += every_s
        await asyncio.sleep(max(0, due - time.monotonic()))
        writer.write(request.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        if not head.startswith("http/1.1 201"):
            raise SystemExit(head)
        await reader.readexactly(int(head.split("content-length: ")[1].split()[0]))
        appended[0] += 1


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ")[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


async def load(pid: int, http_port: int, kafka_port: int, case: Case, options: argparse.Namespace) -> str:
    consumers = [Consumer() for _ in range(case.consumers)]
    names = [f"topic-{number}" for number in range(case.topics)]
    requests = Requests(names, case.partitions, options.wait_ms)
    tasks = []
    for number, consumer in enumerate(consumers):
        tasks.append(asyncio.create_task(consumer.run(kafka_port, requests)))
        # Not all of them at the same time.
        if number % 20 == 19:
            await asyncio.sleep(options.wait_ms / 1000 / (case.consumers / 20))
    appended = [0]
    if case.has_records:
        tasks.append(asyncio.create_task(append(http_port, names[0], options.every_ms / 1000, appended)))
    await asyncio.sleep(2)
    cpu, polls, since = cpu_s(pid), sum(consumer.polls for consumer in consumers), time.monotonic()
    while time.monotonic() < since + options.seconds:
        await asyncio.sleep(0.2)
        for task in tasks:
            if task.done():
                task.result()
    took = time.monotonic() - since
    cpu, polls = (cpu_s(pid) - cpu) / took, (sum(consumer.polls for consumer in consumers) - polls) / took
    mib, lag = rss_mib(pid), appended[0] - consumers[0].offset
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return f"{cpu:.3f} CPU s/s, {polls:.1f} polls/s, {cpu / max(polls, 1e-9) * 1000:.2f} CPU ms/poll, {mib:.0f} MiB" + (
        f", {appended[0]} records, {lag} not fetched" if case.has_records else ""
    )


def measure(binary: str, case: Case, options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        http_port, kafka_port = free_port(), free_port()
        addresses = ["--listen", f"127.0.0.1:{http_port}", "--kafka", f"127.0.0.1:{kafka_port}"]
        command = [
            binary,
            "serve",
            *addresses,
            "--storage",
            folder,
            "--durability",
            "page-cache",
            "--connections-max",
            "5000",
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as broker:
            try:
                create(http_port, case)
                return asyncio.run(load(broker.pid, http_port, kafka_port, case, options))
            finally:
                broker.terminate()


def create(port: int, case: Case) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(case.topics):
        body = json.dumps({"partitions": case.partitions})
        connection.request("POST", f"/topic?topic-name=topic-{number}", body)
        response = connection.getresponse()
        text = response.read()
        if response.status != 201:
            raise SystemExit(f"{response.status}: {text[:200]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument(
        "--binary", action="append", help="a broker to measure; several take turns (default: target/release/rawline)"
    )
    parser.add_argument("--seconds", type=float, default=10, help="length of one measurement")
    parser.add_argument("--runs", type=int, default=1, help="number of measurements of each broker and case")
    parser.add_argument("--wait-ms", type=int, default=500, help="how long a Fetch waits")
    parser.add_argument(
        "--every-ms", type=float, default=10, help="time between two records, in the cases that have some"
    )
    parser.add_argument("--filter", default="", help="only cases whose name has this")
    options = parser.parse_args()
    binaries = options.binary or [str(REPOSITORY / "target/release/rawline")]
    for case in CASES:
        if options.filter in case.name:
            for _ in range(options.runs):
                for binary in binaries:
                    print(f"{case.name}: {binary}: {measure(binary, case, options)}", flush=True)


if __name__ == "__main__":
    main()
