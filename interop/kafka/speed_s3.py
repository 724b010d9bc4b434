"""Measures Kafka's Java producer with its defaults on a bucket whose requests take a while.

A real S3 server keeps the bucket on this machine's disk. Between it and the broker, a proxy delays what the broker
sends.
"""

import argparse
import asyncio
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from speed import HERE, RECORD_BYTES, TOPIC, Broker, Side, java

SERVER = HERE.parents[1] / ".tools/bin/versitygw"
KEYS = ("test", "testtesttest")


async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float) -> None:
    """Passes bytes on, each so much later: in order, and any number at once."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def deliver() -> None:
        while (due := await queue.get())[1]:
            await asyncio.sleep(max(0, due[0] - loop.time()))
            writer.write(due[1])
            await writer.drain()
        writer.close()

    delivered = asyncio.create_task(deliver())
    while piece := await reader.read(1 << 16):
        queue.put_nowait((loop.time() + delay_s, piece))
    queue.put_nowait((0, b""))
    await delivered


def start_proxy(port: int, delay_s: float) -> int:
    """To the server at this port; returns its own."""
    ports: list[int] = []
    started = threading.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            forward(reader, to_server, delay_s), forward(from_server, writer, 0), return_exceptions=True
        )

    async def serve() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    started.wait()
    return ports[0]


def run(folder: Path, delay_s: float, records: int) -> str:
    """The rate of requests that the producer reports, and of its records."""
    (folder / "buckets/bucket").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    keys = {"ROOT_ACCESS_KEY": KEYS[0], "ROOT_SECRET_KEY": KEYS[1]}
    command = [SERVER, "--port", f"127.0.0.1:{port}", "--quiet", "posix", folder / "buckets"]
    server = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
        address = f"http://127.0.0.1:{start_proxy(port, delay_s)}"
        variables = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}
        cache = ["--cache-dir", str(folder / "cache")]
        broker = Broker("s3://bucket", "--kafka", "127.0.0.1:0", *cache, variables=variables)
        try:
            Side(broker.kafka, broker.process.pid).create(1)
            sent = ["--topic", TOPIC, "--num-records", str(records), "--record-size", str(RECORD_BYTES)]
            sent += ["--throughput", "-1", "--print-metrics", "--command-property", f"bootstrap.servers={broker.kafka}"]
            done = subprocess.run(
                java("org.apache.kafka.tools.ProducerPerformance", *sent), stdout=subprocess.PIPE, check=True
            )
        finally:
            broker.stop()
    finally:
        server.kill()
        server.wait()
    said = done.stdout.decode()
    metric = r"producer-metrics:{}:\{{client-id=[^}}]*\}}\s*:\s*([\d.]+)"
    found = [re.search(metric.format(name), said) for name in ("request-total", "request-latency-avg")]
    # The last line is about the whole run, those before it about five seconds each.
    rates = re.findall(r"records sent, ([\d.]+) records/sec", said)
    assert rates and all(found), said
    rate = float(rates[-1])
    return f"{float(found[0][1]) / (records / rate):.0f} requests/s  {rate:.0f} records/s  {found[1][1]} ms a request"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay-ms", type=int, default=50, help="what the proxy adds to each request")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as folder:
            print(run(Path(folder), arguments.delay_ms / 1000, arguments.records), flush=True)


if __name__ == "__main__":
    main()
