"""CBOR: cbor2."""

import cbor2

from lab import dicts
from lab.row import Row

ROWS = [
    Row(
        "cbor", "cbor2", lambda case: dicts.codec(case, cbor2.dumps, cbor2.loads),
        distribution="cbor2", heap_seen=False, note="compiled from Rust since version 6",
    )
]
