"""Measurements of machines that don't exist, as lines for `rawline produce --format avro`: the same in every run."""

import json
import math
import random
from collections.abc import Iterator

REGIONS = {"eu-west-1": ["a1", "a2", "a3"], "ap-southeast-1": ["b1", "b2"], "us-east-1": ["c1"]}
MINUTE_MS = 60_000


def line(metric: str, tags: dict[str, str], time_ms: int, value: float) -> str:
    return json.dumps({"metric": metric, "tags": tags, "logtime": time_ms, "value": value})


def machines(begin_ms: int, minutes: int, step: int = 1) -> Iterator[str]:
    """Load, memory and requests of six machines."""
    chance = random.Random(7)
    hosts = [(region, host) for region, hosts in REGIONS.items() for host in hosts]
    requests = dict.fromkeys(hosts, 0)
    for minute in range(0, minutes, step):
        time_ms = begin_ms + minute * MINUTE_MS
        for number, (region, host) in enumerate(hosts):
            tags = {"region": region, "host": host}
            day = math.sin((minute / 1440 + list(REGIONS).index(region) / 3) * 2 * math.pi)
            # One machine is down for a while.
            if host == "b2" and 600 < minute < 700:
                continue
            load = 42 + 24 * day + 3 * number + chance.gauss(0, 2.5)
            yield line("cpu.load", tags, time_ms, round(max(load, 0), 2))
            yield line("memory.free", tags, time_ms, (9 - number + day) * 1e9)
            requests[(region, host)] += max(0, int(900 + 700 * day + chance.gauss(0, 60)))
            yield line("requests", tags, time_ms, requests[(region, host)])
            yield line("temperature", tags, time_ms, round(-3 + 6 * day + number + chance.gauss(0, 0.3), 1))
