#!/usr/bin/env python3
"""Writes the laboratory's messages: for each case and size a file of JSON lines, the same bytes on every machine.

    python3 lab/cases/generate.py [--out lab/out/cases] [--case NAME]...

Only `random.Random(text).random()` is drawn from: its sequence is the one that Python promises to keep.
Floats have at most 15 significant digits and lie between 0.001 and 10,000,000 (or are whole): every language's shortest
text for such a float is the same, and reading it gives the same bits.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIZES_BYTES = {"1k": 1_000, "10k": 10_000, "100k": 100_000, "1m": 1_000_000}
# SBE counts the elements of a group in 16 bits, the highest value meaning none.
LIST_ELEMENTS_MAX = 65_534

FIRST_NAMES = "John Anna Wei Fatima Łukasz Zoë Kenji Olu Marta Iván Priya Noah Chloé Søren Aiko Tomás".split()
LAST_NAMES = "Smith Kowalska Zhang Núñez Müller Okafor Tanaka Rossi Ivanova Sato Dubois Ødegård Singh Novák".split()
WORDS = "maybe some reasonably long string with just a few plain words of text that say nothing much at all".split()


class Draw:
    """Random choices, all made of one stream of floats."""

    def __init__(self, seed: str):
        self.unit = random.Random(seed).random

    def below(self, end: int) -> int:
        return int(self.unit() * end)

    def between(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return low + int(self.unit() * (high - low + 1))

    def chance(self, part: float) -> bool:
        return self.unit() < part

    def pick(self, choices):
        return choices[int(self.unit() * len(choices))]

    def skewed(self, choices):
        """The first choices often, the last ones seldom, as names and hosts are in logs."""
        return choices[int(self.unit() ** 3 * len(choices))]

    def weighed(self, choices):
        """One of (weight, choice): the weights sum to 1."""
        left = self.unit()
        for weight, choice in choices:
            left -= weight
            if left < 0:
                return choice
        return choices[-1][1]

    def digits(self, count: int) -> str:
        return f"{self.below(10**count):0{count}d}"

    def letters(self, alphabet: str, count: int) -> str:
        return "".join(self.pick(alphabet) for _ in range(count))


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def grow(message: dict, target_bytes: int | None, count: int, add) -> None:
    """Adds elements by `add`, which says how many bytes of JSON each took: `count` of them, or until the target."""
    if target_bytes is None:
        for _ in range(count):
            add()
        return
    size_bytes = len(compact(message).encode())
    while size_bytes < target_bytes:
        size_bytes += add()


def target(draw: Draw, size: str) -> int | None:
    """The bytes that a grown message has; None at its base size. They differ by up to 3 % between messages."""
    if size not in SIZES_BYTES:
        return None
    return int(SIZES_BYTES[size] * (0.97 + 0.06 * draw.unit()))


# pingpong, doubles, strings


def pingpong(draw: Draw, size: str, index: int) -> dict:
    message = {
        "id": draw.below(10 ** draw.between(1, 12)),
        "version": draw.between(1, 9),
        "message": f"Random message - {1_600_000_000_000 + index * 1000 + draw.below(1000)}",
        "is_important": draw.chance(0.5),
        "names": [],
        "ints": [],
        "doubles": [],
    }
    base = size == "base"

    def add() -> int:
        name = f"{draw.pick(FIRST_NAMES)}-{draw.below(100)}"
        integer = draw.below(10 ** draw.between(1, 9))
        double = round(draw.unit() * 9 + 0.5, draw.between(6, 9))
        message["names"].append(name)
        message["ints"].append(integer)
        message["doubles"].append(double)
        return len(name.encode()) + 3 + len(str(integer)) + 1 + len(repr(double)) + 1

    grow(message, target(draw, size), draw.between(2, 5) if base else 0, add)
    return message


def doubles(draw: Draw, size: str, _index: int) -> dict:
    places = 1 if size == "100" else 10
    message = {f"single_{i}": round(draw.unit() * 9 + 0.5, places) for i in range(1, 6)}
    message["list"] = []
    base = size == "base"

    def add() -> int:
        double = round(draw.unit() * 9 + 0.5, draw.between(6, 9) if base else 14)
        message["list"].append(double)
        return len(repr(double)) + 1

    grow(message, target(draw, size), draw.between(3, 7) if base else 0, add)
    return message


def strings(draw: Draw, size: str, _index: int) -> dict:
    words = 1 if size == "100" else None
    message = {f"string_{i}": sentence(draw, words or draw.between(7, 12)) for i in range(1, 6)}
    message["names"] = []
    base = size == "base"

    def add() -> int:
        if base:
            name = f"{draw.pick(FIRST_NAMES)}-{draw.below(100)}"
        else:
            name = f"{draw.pick(FIRST_NAMES)} {draw.pick(LAST_NAMES)}-{draw.digits(6)}"
        message["names"].append(name)
        return len(name.encode()) + 3

    grow(message, target(draw, size), draw.between(2, 5) if base else 0, add)
    return message


def sentence(draw: Draw, words: int) -> str:
    return " ".join(draw.pick(WORDS) for _ in range(words)).capitalize()


# zeek: the shares of types, answers, hosts and ports are those of a real network's dns.log, its names and addresses not

BASE62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
QUERY_TYPES = [(0.663, (1, "A")), (0.235, (28, "AAAA")), (0.072, (33, "NBSTAT")), (0.025, (12, "PTR"))]
QUERY_TYPES += [(0.003, (33, "SRV")), (0.001, (6, "SOA")), (0.001, (16, "TXT"))]
ANSWER_COUNTS = [(0.20, 1), (0.70, 2), (0.03, 3), (0.04, 4), (0.01, 6), (0.01, 9), (0.01, 11)]
HOSTS = "idp www videos mail docs api search.services cdn-edge ntp updates telemetry.assets login static-2 ocsp".split()
DOMAINS = "example.org campus.example example.net shop.example cdn.example.com in.test video.example time.test".split()
RESOLVERS = ["10.0.0.100", "10.0.0.1", "10.10.5.1", "10.10.2.1", "10.10.6.1", "10.10.8.1", "10.47.3.10", "fd00::35"]


def zeek(draw: Draw, size: str, index: int) -> dict:
    small = size == "100"
    qtype, qtype_name = (1, "A") if size != "base" else draw.weighed(QUERY_TYPES)
    netbios = qtype_name == "NBSTAT"
    outcome = "none" if small or netbios else "answers"
    if size == "base" and not netbios:
        outcome = draw.weighed([(0.80, "answers"), (0.05, "no data"), (0.05, "no such name"), (0.10, "none")])
    subnet = draw.between(1, 8)
    message = {
        "ts": 1_521_911_720_865_716_000 + index * 20_000_000_000 + draw.below(20_000_000) * 1000,
        "uid": "C" + draw.letters(BASE62, draw.pick((16, 17, 17, 17))),
        "orig_h": originator(draw, subnet),
        "orig_p": 137 if netbios else draw.between(1024, 65_535),
        "resp_h": draw.skewed(RESOLVERS),
        "resp_p": 137 if netbios else 53,
        "proto": "tcp" if draw.chance(0.01) else "udp",
        "trans_id": draw.below(65_536),
    }
    if outcome in ("answers", "no data"):
        message["rtt"] = draw.between(1_000, 90_000) / 1_000_000
    domain = draw.skewed(DOMAINS)
    message |= {
        "query": query(draw, qtype_name, domain, small),
        "qclass": 1,
        "qclass_name": "C_INTERNET",
        "qtype": qtype,
        "qtype_name": qtype_name,
        "rcode": 3 if outcome == "no such name" else 0,
        "rcode_name": "NXDOMAIN" if outcome == "no such name" else "NOERROR",
        "aa": draw.chance(0.07),
        "tc": False,
        "rd": not netbios,
        "ra": outcome != "none" and draw.chance(0.75),
        "z": 1 if netbios else 0,
        "answers": [],
        "ttls": [],
        "rejected": outcome == "no such name" and draw.chance(0.9),
    }

    def add() -> int:
        first = not message["answers"]
        text = answer(draw, qtype_name, domain, first)
        ttl = float(draw.pick((0, 60, 119, 300, 3600)) if draw.chance(0.3) else draw.between(1, 86_400))
        message["answers"].append(text)
        message["ttls"].append(ttl)
        return len(text) + 3 + len(repr(ttl)) + 1

    grow(message, target(draw, size), draw.weighed(ANSWER_COUNTS) if outcome == "answers" else 0, add)
    return message


def originator(draw: Draw, subnet: int) -> str:
    if draw.chance(0.03):
        return "fe80::" + ":".join(f"{draw.between(1, 65_535):x}" for _ in range(4))
    return f"10.47.{subnet}.{draw.pick((10, 100, 100, 153, 154, 155, 173, 208))}"


def query(draw: Draw, qtype_name: str, domain: str, small: bool) -> str:
    if small:
        return f"n{draw.below(100)}.test"
    if qtype_name == "NBSTAT":
        return "*"
    if qtype_name == "PTR":
        return f"{draw.below(256)}.{draw.below(256)}.20.172.in-addr.arpa"
    if qtype_name == "SRV":
        return f"_ldap._tcp.dc._msdcs.{domain}"
    host = draw.skewed(HOSTS)
    return f"{host}.{domain}" if draw.chance(0.7) else f"{host}{draw.below(1000)}.{domain}"


def answer(draw: Draw, qtype_name: str, domain: str, first: bool) -> str:
    if first and draw.chance(0.7) or qtype_name not in ("A", "AAAA"):
        return f"{draw.skewed(HOSTS)}-{draw.below(10_000)}.{domain}"
    if qtype_name == "AAAA":
        return f"2001:db8:{draw.between(1, 65_535):x}:{draw.between(1, 65_535):x}::{draw.between(1, 65_535):x}"
    return f"{draw.between(20, 210)}.{draw.below(256)}.{draw.below(256)}.{draw.between(1, 254)}"


# measurement

METRICS = "app.request.count app.request.bytes app.error.count cache.hit.count cache.miss.count db.query.count".split()
METRICS += "db.pool.size jvm.gc.count jvm.heap.used queue.depth queue.lag host.cpu.idle host.disk.free".split()
TAGS = {
    "cluster": "search booking content pricing mobile".split(),
    "dc": "am ash hkg sgp".split(),
    "host": [f"node-{i:03d}" for i in range(200)],
    "env": "live staging test".split(),
    "service": "supply reviews images rates-api rates-batch gateway".split(),
    "version": [f"5.{i}.{i % 7}" for i in range(40)],
    "endpoint": "/v1/search /v1/price /v2/price /health /v1/book".split(),
}


def measurement(draw: Draw, size: str, index: int) -> dict:
    tags: dict[str, str] = {}
    message = {
        "metric": draw.skewed(METRICS),
        "tags": tags,
        "logtime": 1_600_000_000_000 + index * 250 + draw.below(250),
        "value": draw.below(10 ** draw.between(1, 10)),
    }
    count = {"100": 1, "base": draw.between(4, 6)}.get(size, 5)
    first = draw.below(len(TAGS))
    for step in range(count):
        key = list(TAGS)[(first + step) % len(TAGS)]
        tags[key] = draw.skewed(TAGS[key])

    def add() -> int:
        key, value = f"label_{len(tags):05d}", f"value-{draw.below(1_000_000)}"
        tags[key] = value
        return len(key) + len(value) + 6

    grow(message, target(draw, size), 0, add)
    return message


# order

CITIES = [("Kraków", "30-001", "PL"), ("München", "80331", "DE"), ("Porto", "4000-007", "PT"),
    ("Leeds", "LS1 4AP", "GB")]
CITIES += [("東京", "100-0001", "JP"), ("São Paulo", "01000-000", "BR"), ("Austin", "73301", "US"),
    ("Malmö", "211 20", "SE")]
STREETS = ["Main Street", "Długa", "Hauptstraße", "Rua das Flores", "King's Road", "Nygatan", "銀座"]
GOODS = ["USB-C cable, 2 m", "Notebook A5, dotted", "Coffee beans \"Dark\" 1 kg", "Bicycle lamp", "Thé vert",
    "Desk mat"]
NOTES = ["Please ring twice.", "Leave it with the neighbour.\nThank you!", "Gift: no invoice inside",
    "Ørsted’s office, 3rd floor"]
SKU = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def order(draw: Draw, size: str, index: int) -> dict:
    small = size == "100"
    first_name, last_name = draw.pick(FIRST_NAMES), draw.pick(LAST_NAMES)
    customer = {"id": draw.between(1, 9_999_999), "name": first_name if small else f"{first_name} {last_name}"}
    if not small and draw.chance(0.75):
        customer["email"] = f"customer{customer['id']}@mail.example"
    message = {
        "id": 70_000_000 + index * 7 + draw.below(7),
        "placed_at": 1_600_000_000_000 + index * 60_000 + draw.below(60_000),
        "currency": draw.skewed(("EUR", "USD", "GBP", "JPY", "SEK", "PLN")),
        "customer": customer,
    }
    if not small and draw.chance(0.8):
        city, postcode, country = draw.pick(CITIES)
        street = f"{draw.pick(STREETS)} {draw.between(1, 200)}"
        message["shipping"] = {"street": street, "city": city, "postcode": postcode, "country": country}
    lines: list[dict] = []
    message["lines"] = lines
    if not small and draw.chance(0.2):
        message["note"] = draw.pick(NOTES)
    message["total_cents"] = 0

    def add() -> int:
        line = {"sku": draw.letters(SKU, 3) + "-" + draw.digits(5)}
        if not small and draw.chance(0.6):
            line["description"] = draw.pick(GOODS)
        line["quantity"] = draw.weighed([(0.7, 1), (0.2, 2), (0.1, draw.between(3, 40))])
        line["unit_price_cents"] = draw.between(1, 10 ** draw.between(3, 5))
        percent = draw.pick((5, 10, 15, 20, 25, 50)) if not small and draw.chance(0.25) else 0
        if percent:
            line["discount"] = percent / 100
        lines.append(line)
        message["total_cents"] += line["quantity"] * line["unit_price_cents"] * (100 - percent) // 100
        return len(compact(line).encode()) + 1

    grow(message, target(draw, size), 1 if small else draw.between(1, 5), add)
    return message


CASES = {make.__name__: make for make in (pingpong, doubles, strings, zeek, measurement, order)}


def lines(case: str, size: str):
    """The messages of one file, each a line's text."""
    described = json.loads((HERE / f"{case}.json").read_text(encoding="utf-8"))
    draw = Draw(f"rawline laboratory {case} {size}")
    for index in range(described["messages"][size]):
        message = CASES[case](draw, size, index)
        if size == "base" and index == 0 and "first" in described:
            message = described["first"]
        check(described, size, message)
        yield compact(message) + "\n"


def check(described: dict, size: str, message: dict) -> None:
    """Fields are in the case's order, an optional one may be absent, no list is too long for SBE."""
    expected = [field["name"] for field in described["fields"] if field["name"] in message or not field.get("optional")]
    assert list(message) == expected, (described["case"], size, list(message), expected)
    for name in described["grows"]:
        assert len(message[name]) <= LIST_ELEMENTS_MAX, (described["case"], size, name, len(message[name]))


def write(out: pathlib.Path, case: str, size: str) -> str:
    path = out / f"{case}.{size}.jsonl"
    data = "".join(lines(case, size)).encode()
    # Whole or not at all: other programs may be reading the directory.
    partial = path.with_suffix(".partial")
    partial.write_bytes(data)
    partial.replace(path)
    count = data.count(b"\n")
    return f"{path.name}: {count} messages of {len(data) / count - 1:,.0f} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "out" / "cases")
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="only this case; can be repeated")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    files = [(case, size) for size in ("1m", "100k", "10k", "1k", "base", "100") for case in arguments.case or CASES]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        for told in pool.map(write, [arguments.out] * len(files), *zip(*files)):
            print(told, file=sys.stderr)


if __name__ == "__main__":
    main()
