"""Measures how fast a broker for a test starts, acknowledges its first record, and ends: `start_times.py [RUNS]`.

Brokers in memory and on a directory alternate. The program is the one at RAWLINE_BIN, as in `rawline.testing`.
"""

import statistics
import sys
import time
from pathlib import Path

from rawline.testing import Broker

# Programs and libraries are read from the disk at first.
WARM_UP = 2


def measure(storage: str) -> dict[str, float]:
    """Milliseconds of each step, and the broker's memory in MB."""
    begin = time.perf_counter()
    with Broker(storage) as broker:
        ready = time.perf_counter()
        client = broker.client()
        client.append("events", [b"first"])
        assert client.read("events", 0).to_list() == [b"first"]
        stored = time.perf_counter()
        status = Path(f"/proc/{broker.pid}/status").read_text()
    ended = time.perf_counter()
    memory = next(int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS"))
    steps = {"ready ms": ready - begin, "first record ms": stored - begin}
    return {name: 1000 * seconds for name, seconds in steps.items()} | {
        "memory MB": memory,
        "all ms": 1000 * (ended - begin),
    }


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    measured: dict[str, list[dict[str, float]]] = {"memory": [], "directory": []}
    for _ in range(runs + WARM_UP):
        for storage, results in measured.items():
            results.append(measure(storage))
    for storage, results in measured.items():
        for name in results[0]:
            values = sorted(result[name] for result in results[WARM_UP:])
            tail = values[len(values) * 9 // 10]
            print(
                f"{storage:9} {name:15} median {statistics.median(values):6.1f}  p90 {tail:6.1f}  max {values[-1]:6.1f}"
            )


if __name__ == "__main__":
    main()
