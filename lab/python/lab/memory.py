"""How many bytes an operation takes from Python's allocators, in a separate pass, because tracing makes everything
slower."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

NOTE = "maximum bytes held at once during an operation, including its result, from Python's allocators (tracemalloc)"

MESSAGES_MAX = 200


def held_bytes(function: Callable[[Any], Any], values: list[Any]) -> int:
    """The mean over the values of the maximum bytes held at once by one call. A library's own use of malloc isn't
    included."""
    values = values[:MESSAGES_MAX]
    function(values[0])
    # Results are kept, and free lists emptied, so that each call must take its objects from an allocator.
    kept = [None] * len(values)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    total = 0
    try:
        for index, value in enumerate(values):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            kept[index] = function(value)
            total += tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        gc.enable()
    return round(total / len(values))
