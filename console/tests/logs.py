"""Logs as Zeek's JSON writer makes them, of a network that doesn't exist: the same in every run."""

import json
import random

NAMES = ["example.com", "www.example.com", "mail.example.org", "cdn.example.net", "ntp.example.com", "db.internal"]
WEIRDS = ["bad_TCP_checksum", "dns_unmatched_reply", "truncated_header", "window_recision", "data_before_established"]


def dns(number: int, time: float) -> list[str]:
    chance = random.Random(number)
    lines = []
    for index in range(number):
        query = chance.choice(NAMES)
        event = {
            "ts": round(time + index * 0.011, 6),
            "uid": f"C{chance.getrandbits(64):016x}",
            "id.orig_h": f"10.0.{chance.randrange(4)}.{chance.randrange(250)}",
            "id.orig_p": chance.randrange(1024, 65536),
            "id.resp_h": "10.0.0.53",
            "id.resp_p": 53,
            "proto": "udp",
            "rtt": round(chance.random() / 50, 6),
            "query": query,
            "qtype_name": chance.choice(["A", "AAAA", "MX"]),
            "rcode_name": chance.choice(["NOERROR"] * 9 + ["NXDOMAIN"]),
            "answers": [f"192.0.2.{chance.randrange(250)}" for _ in range(chance.randrange(3))],
            "rejected": False,
        }
        lines.append(json.dumps(event))
    return lines


def conn(number: int, time: float) -> list[str]:
    chance = random.Random(number)
    lines = []
    for index in range(number):
        event = {
            "ts": round(time + index * 0.013, 6),
            "uid": f"C{chance.getrandbits(64):016x}",
            "id.orig_h": f"10.0.{chance.randrange(4)}.{chance.randrange(250)}",
            "id.orig_p": chance.randrange(1024, 65536),
            "id.resp_h": f"198.51.100.{chance.randrange(250)}",
            "id.resp_p": chance.choice([22, 80, 443, 443, 443, 5432]),
            "proto": "tcp",
            "service": chance.choice(["ssl", "http", "ssh", "-"]),
            "duration": round(chance.expovariate(1), 6),
            "orig_bytes": chance.randrange(100_000),
            "resp_bytes": chance.randrange(2_000_000),
            "conn_state": chance.choice(["SF", "SF", "SF", "S0", "REJ"]),
        }
        lines.append(json.dumps(event))
    return lines


def weird(number: int, time: float) -> list[str]:
    chance = random.Random(number)
    lines = []
    for index in range(number):
        event = {
            "ts": round(time + index * 1.7, 6),
            "uid": f"C{chance.getrandbits(64):016x}",
            "id.orig_h": f"10.0.{chance.randrange(4)}.{chance.randrange(250)}",
            "name": chance.choice(WEIRDS),
            "notice": False,
            "peer": "zeek",
        }
        lines.append(json.dumps(event))
    return lines
