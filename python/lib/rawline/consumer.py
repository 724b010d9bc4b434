"""Follows a topic: while the caller works on what came, the next read is already on its way."""

import time
from collections.abc import Iterator
from datetime import datetime
from types import TracebackType
from typing import Literal

from rawline._rawline import Batch, Batches, ConsumerCore

Start = int | datetime | Literal["earliest", "latest"]
"""Where a consumer begins."""


def start_of(start: Start) -> tuple[str, int]:
    """A start as the native half takes it."""
    from rawline.client import time_us

    if isinstance(start, datetime):
        return "time", time_us(start)
    if isinstance(start, int):
        return "offset", start
    return start, 0


class Consumer:
    """Reads a topic from front to back. Made by `Client.consumer`; for one thread at a time.

    Iterating gives one `Batch` after the other, for ever or up to `end`. A batch's records are views of the bytes
    received; the memory is used again when no view of it is left.
    """

    def __init__(self, core: ConsumerCore) -> None:
        self._core = core

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        while (batch := self._core.next(False)) is not None:
            yield batch

    def records(self) -> Iterator[memoryview]:
        """The records one by one."""
        for batch in self:
            yield from batch

    def poll(self, timeout: float | None = None) -> Batches | None:
        """All batches that come next, at least one; none at `end`, or if nothing came within `timeout` seconds."""
        batches: Batches | None = self._core.poll(False, timeout)
        return batches

    def take(self, records: int, timeout: float | None = None) -> Batches:
        """Batches with at least so many records; fewer at `end`, or if `timeout` seconds ran out."""
        deadline = None if timeout is None else time.monotonic() + timeout
        batches: list[Batch] = []
        while records > 0:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            came = self.poll(left)
            if came is None:
                break
            batches.extend(came)
            records -= came.records
        return Batches(batches)

    @property
    def ended(self) -> bool:
        """Whether everything before `end` was handed out."""
        return self._core.ended

    def close(self) -> None:
        """Ends the read that is on its way."""
        self._core.close()


__all__ = ["Batch", "Batches", "Consumer", "Start"]
