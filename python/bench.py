"""The work of `rawline bench write` and `rawline bench read` from one Python process, against a running broker.

    rawline serve --storage DIR
    python bench.py write -r 3 -w 16
    python bench.py write -r 3 -w 64 --asyncio -b 1 --record-size 100 --batches 100000
    rawline bench write --local-broker=false --remote-broker-address http://127.0.0.1:51313 -r 3 -w 16
    python bench.py read -r 3 -w 16 --requests 20000

Records are random bytes of a seed; batches exist before the clock starts, and their header, sizes and checksum are made
in the timed part. What was written is read back, and each answer read is checked: offsets, sizes, the first and last
record of each batch, one record byte for byte (the checksums are the client's own work).
"""

import argparse
import array
import asyncio
import itertools
import json
import random
import statistics
import struct
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import rawline

DISTINCT = 16
"""Different batches, sent in turn, as the Rust benchmark has them."""


class Workload:
    """Batches of equal size."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.records: int = arguments.records_per_batch
        self.record_size: int = arguments.record_size
        self.sizes = array.array("I", [self.record_size]) * self.records
        source = random.Random(arguments.seed)
        self.batches = [source.randbytes(self.records * self.record_size) for _ in range(DISTINCT)]
        self.checks = [zlib.crc32(batch) for batch in self.batches]

    def stamped(self, number: int) -> bytearray:
        """A batch whose records begin with their place among all records sent."""
        data = bytearray(self.batches[number % DISTINCT])
        for index in range(self.records):
            start = index * self.record_size
            data[start : start + 8] = (number * self.records + index).to_bytes(8, "little")
        return data


def in_threads(workers: int, count: int, work: Any) -> tuple[list[Any], float]:
    """What `work` gives for the numbers below `count`, which the threads take from one counter, and the seconds."""
    numbers = itertools.count()
    begin = threading.Barrier(workers + 1)

    def run() -> list[Any]:
        begin.wait()
        done = []
        while (number := next(numbers)) < count:
            done.append(work(number))
        return done

    with ThreadPoolExecutor(workers) as pool:
        threads = [pool.submit(run) for _ in range(workers)]
        begin.wait()
        began = time.perf_counter()
        done = [each for thread in threads for each in thread.result()]
        return done, time.perf_counter() - began


def in_tasks(workers: int, count: int, work: Any) -> tuple[list[Any], float]:
    """Like `in_threads`, with tasks of one event loop."""
    numbers = itertools.count()

    async def run() -> list[Any]:
        done = []
        while (number := next(numbers)) < count:
            done.append(await work(number))
        return done

    async def run_all() -> list[list[Any]]:
        return await asyncio.gather(*(run() for _ in range(workers)))

    began = time.perf_counter()
    done = [each for task in asyncio.run(run_all()) for each in task]
    return done, time.perf_counter() - began


def check_dense(answered: list[tuple[int, int, int]], records: int) -> None:
    """The answers' offsets have no gap and no overlap."""
    expected = 0
    for _, first, next_offset in sorted(answered, key=lambda answer: answer[1]):
        assert (first, next_offset) == (expected, expected + records), "the broker loses or repeats records"
        expected = next_offset


def append_all(
    client: rawline.Client, topic: str, workload: Workload, arguments: argparse.Namespace, stamp: bool
) -> tuple[list[tuple[int, int, int]], float]:
    """Appends every batch, each answer awaited; gives number, first and next offset of each."""

    def append(number: int) -> tuple[int, int, int]:
        data = workload.stamped(number) if stamp else workload.batches[number % DISTINCT]
        return (number, *client.append_records(topic, workload.sizes, data))

    if arguments.asyncio:
        # One loop for each run.
        tasks = rawline.AsyncClient(arguments.broker)

        async def append_async(number: int) -> tuple[int, int, int]:
            return (number, *await tasks.append_records(topic, workload.sizes, workload.batches[number % DISTINCT]))

        answered, seconds = in_tasks(arguments.workers, arguments.batches, append_async)
    else:
        answered, seconds = in_threads(arguments.workers, arguments.batches, append)
    check_dense(answered, workload.records)
    return answered, seconds


def topic_name(what: str, run: int) -> str:
    return f"bench-python-{what}-{time.time_ns()}-{run}"


def write(client: rawline.Client, arguments: argparse.Namespace) -> Any:
    workload = Workload(arguments)
    total: int = arguments.batches * workload.records
    for run in itertools.count():
        topic = topic_name("write", run)
        answered, seconds = append_all(client, topic, workload, arguments, stamp=False)
        sent = {first: workload.checks[number % DISTINCT] for number, first, _ in answered}
        for batch in client.consumer(topic, end=total):
            for first in range(batch.first_offset, batch.next_offset, workload.records):
                start = first - batch.first_offset
                data = batch[start : start + workload.records].data
                assert zlib.crc32(data) == sent.pop(first), "the broker's bytes are not those that were sent"
        assert not sent
        yield total, total * workload.record_size, seconds


def read(client: rawline.Client, arguments: argparse.Namespace) -> Any:
    workload = Workload(arguments)
    topic = topic_name("read", 0)
    answered, seconds = append_all(client, topic, workload, arguments, stamp=True)
    total: int = arguments.batches * workload.records
    print(f"filled topic {topic} with {total} records in {seconds:.2f} s", file=sys.stderr)
    number_at = [number for number, _, _ in sorted(answered, key=lambda answer: answer[1])]
    records, record_size = workload.records, workload.record_size

    def place(offset: int) -> int:
        return number_at[offset // records] * records + offset % records

    stamp = struct.Struct("<Q").unpack_from
    sizes = workload.sizes.tobytes()

    def check(answer: rawline.Batches, offset: int, count: int) -> None:
        assert (answer.first_offset, answer.next_offset) == (offset, offset + count), "other records than asked for"
        chosen = offset + (offset * 0x9E3779B97F4A7C15 & (1 << 64) - 1 >> 32) % count
        for batch in answer.batches:
            first, next_offset, data = batch.first_offset, batch.next_offset, batch.data
            assert bytes(batch.sizes) == sizes[: 4 * len(batch)], "a size is wrong"
            assert stamp(data, 0)[0] == place(first), "another record"
            assert stamp(data, len(data) - record_size)[0] == place(next_offset - 1), "another record"
            if first <= chosen < next_offset:
                at = place(chosen)
                start = at % records * record_size
                body = workload.batches[at // records % DISTINCT][start + 8 : start + record_size]
                assert bytes(batch[chosen - first]) == at.to_bytes(8, "little") + body, "other bytes"

    for run in itertools.count():
        source = random.Random(arguments.seed + (run << 32))
        asked: list[tuple[int, int]] = []
        for _ in range(arguments.requests):
            offset = source.randrange(total - 1)
            asked.append((offset, min(arguments.records_per_request, total - 1 - offset)))

        def request(number: int, asked: list[tuple[int, int]] = asked) -> int:
            offset, count = asked[number]
            check(client.read(topic, offset, records_max=count, wait=5.0), offset, count)
            return count

        counts, seconds = in_threads(arguments.workers, arguments.requests, request)
        yield sum(counts), sum(counts) * record_size, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=["write", "read"])
    parser.add_argument("--broker", help="its address [default: RAWLINE_BROKER, else http://127.0.0.1:51313]")
    parser.add_argument("-r", "--runs", type=int, default=1)
    parser.add_argument("-w", "--workers", type=int, default=16)
    parser.add_argument("--batches", type=int, default=4096)
    parser.add_argument("-b", "--records-per-batch", type=int, help="[default: 1024 to write, 256 to read]")
    parser.add_argument("--record-size", type=int, default=1024)
    parser.add_argument("--requests", type=int, default=20_000, help="read: requests in each run")
    parser.add_argument("--records-per-request", type=int, default=1024)
    parser.add_argument("--asyncio", action="store_true", help="write: with tasks of one event loop, not threads")
    parser.add_argument("--warmup-runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.records_per_batch = arguments.records_per_batch or (1024 if arguments.work == "write" else 256)
    client = rawline.Client(arguments.broker)
    runs = (write if arguments.work == "write" else read)(client, arguments)
    rates = []
    for number, (records, size, seconds) in enumerate(itertools.islice(runs, arguments.warmup_runs + arguments.runs)):
        rate = size / seconds / 1e6
        kind = "warm-up" if number < arguments.warmup_runs else "run"
        print(f"{kind:8} {rate:8.1f} MB/s {records / seconds:12.0f} records/s {seconds:7.2f} s", file=sys.stderr)
        rates += [] if kind == "warm-up" else [rate]
    settings = {name: given for name, given in vars(arguments).items() if given is not None}
    print(json.dumps({"mb_per_s": round(statistics.mean(rates), 1), **settings, "python": sys.version.split()[0]}))


if __name__ == "__main__":
    main()
