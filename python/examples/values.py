"""Structured values as records: JSON lines get their types, and one field is read without the others."""

import rawline
from rawline import value

LINES = [
    {"ts": 1_700_000_000_000_000_001, "host": "10.0.0.1", "port": 53, "proto": "udp", "query": "example.org"},
    {"ts": 1_700_000_000_000_000_002, "host": "2001:db8::1", "port": 853, "proto": "tcp", "query": "example.net"},
]

dns = value.Record({"ts": "timestamp", "host": "address", "port": "port@proto", "proto": "enum"})
client = rawline.Client()
client.set_payload("dns", "value")  # so that `rawline consume` shows them as JSON
place = client.append("dns", [dns.encode(line) for line in LINES])

query = value.field("query")
for record in client.consumer("dns", place.first_offset, end=place.next_offset).records():
    event = value.decode(record)
    print(query(record), "asked by", event["host"], "at", event["ts"], "on port", event["port"])
    assert event["host"].ip.version in (4, 6) and event["ts"].ns > 1_700_000_000_000_000_000
