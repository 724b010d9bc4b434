"""Records per second of a subscription and of a consumer, from the client in Python.

Usage: subscription_speed.py URL RECORDS BYTES [ROUNDS]. BYTES is the size of a record; 0 stands for the event of
zeek_events.py as a structured value. The topic is created. Both iterate over batches, in turns; records are views that
are never read.
"""

import sys
import time
from collections.abc import Iterable

import rawline
from rawline import value

BATCH_RECORDS = 1000


def count(batches: Iterable[rawline.Batch], records: int) -> float:
    """Seconds until this many records were received."""
    began = time.perf_counter()
    left = records
    for batch in batches:
        left -= len(batch)
        if left == 0:
            break
    assert left == 0, f"{left} records are missing"
    return time.perf_counter() - began


def main() -> None:
    url, records, size = sys.argv[1], int(sys.argv[2]) // BATCH_RECORDS * BATCH_RECORDS, int(sys.argv[3])
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    record = bytes(size) if size else value.encode([1, 1, ["event_1", [42, "test"]]])
    topic = f"speed-{size}-{time.time_ns()}"
    with rawline.Client(url) as client:
        with client.producer(topic) as producer:
            for _ in range(records // BATCH_RECORDS):
                producer.send_many([record] * BATCH_RECORDS)
        for _ in range(rounds):
            with client.consumer(topic) as consumer:
                consumed = count(consumer, records)
            with client.subscribe(topic, start="earliest") as subscription:
                subscribed = count(subscription, records)
            rates = f"consumer {records / consumed:,.0f}/s, subscription {records / subscribed:,.0f}/s"
            print(f"{records:,} records of {len(record)} bytes: {rates}, ratio {consumed / subscribed:.2f}")


if __name__ == "__main__":
    main()
