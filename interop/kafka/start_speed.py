"""Seconds until a broker stores its first record: Rawline and Kafka's own, in turns. `start_speed.py [RUNS]`."""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from speed import class_path, kafka, rawline

TOPIC = "start"


def first_record(address: str) -> None:
    """Appends by the same client for both; the broker creates the topic."""
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
    producer.produce(TOPIC, b"first", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0 and errors == [None], errors


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    # Maven is not measured.
    class_path()
    seconds: dict[str, list[tuple[float, float]]] = {"rawline": [], "kafka": []}
    for _ in range(runs + 1):
        for name, start in {"rawline": rawline, "kafka": kafka}.items():
            with tempfile.TemporaryDirectory() as folder:
                begin = time.perf_counter()
                with start(Path(folder), "page-cache") as side:
                    ready = time.perf_counter()
                    first_record(side.address)
                    seconds[name].append((ready - begin, time.perf_counter() - begin))
    for name, results in seconds.items():
        # The first run reads programs from the disk.
        medians = [statistics.median(values) for values in zip(*results[1:], strict=True)]
        print(f"{name:8} ready {medians[0]:.3f} s, first record {medians[1]:.3f} s")


if __name__ == "__main__":
    main()
