"""Pickle, protocol 5: Python's own, for reference; never load what a stranger wrote."""

import pickle

from lab import dicts
from lab.row import Row

ROWS = [
    Row(
        "pickle", "pickle", lambda case: dicts.codec(case, lambda message: pickle.dumps(message, protocol=5),
            pickle.loads),
        note="protocol 5; loading runs code that the bytes name, so only for bytes of one's own",
    )
]
