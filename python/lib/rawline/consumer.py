"""Follows a topic: while the caller processes batches, the next read is already in flight."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from operator import index
from types import TracebackType
from typing import Literal

from rawline._rawline import Batch, Batches, ConsumerCore, Message
from rawline.errors import RawlineError

Place = int | datetime | Literal["earliest", "latest"]

Start = Place | Mapping[int, int]
"""The position at which a consumer starts in each partition; a mapping has the offsets of partitions."""


def start_of(start: Place) -> tuple[str, int]:
    """Converts a start for the native half."""
    from rawline.client import is_time, time_us

    if is_time(start):
        return "time", time_us(start)
    if isinstance(start, str):
        return start, 0
    try:
        return "offset", index(start)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f'start is {start!r}; give "earliest", "latest", an offset or a datetime') from None


class Deadline:
    """The remaining time of a timeout."""

    def __init__(self, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout
        self._given = timeout

    def left(self) -> float | None:
        """Seconds; the first call returns the whole timeout."""
        given, self._given = self._given, None
        if given is not None or self._end is None:
            return given
        return max(0.0, self._end - time.monotonic())


class Taking:
    """Collects a number of records. Returns those received beyond it to the consumer, after an error all of them."""

    def __init__(self, core: ConsumerCore, records: int) -> None:
        self._core = core
        self._wanted = index(records)
        self._batches: list[Batch] = []
        self.lacks = self._wanted
        """Number of records that are still to be received."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._core.put_back(self._batches)

    @property
    def has_records(self) -> bool:
        """Whether it has records that the caller doesn't have yet, so that they aren't processed."""
        return bool(self._batches)

    def add(self, received: Batches) -> None:
        self._batches += received.batches
        self.lacks -= len(received)

    def taken(self) -> Batches:
        received = Batches(self._batches)
        if self.lacks >= 0:
            return received
        self._core.put_back(list(received[self._wanted :].batches))
        return received[: self._wanted]


def state_of(core: ConsumerCore) -> str:
    """The state of a consumer for its repr, if any."""
    return ", closed" if core.closed else ", ended" if core.ended else ""


class Consumer:
    """Reads a topic, each of its partitions in order. Created by `Client.consumer`; for one thread at a time.

    Iterating returns one `Batch` after the other, forever or up to `end`; `batch.partition` says which partition it is
    from, `batch.next_offset` where to continue there. No partition waits for one that always has records. A batch's
    records are views of the received bytes; the memory is reused when no view of it is left. After an error, the next
    call continues at the same offset.

    A member of a group reads the partitions that the group's other members don't. Records are processed at least once:
    returned records count as processed with the next call, and are committed from time to time, before
    other members get a partition, and by `close`. If a `with` block ends with an exception, the records returned last
    are not committed. While the partitions are divided anew, calls wait.
    """

    def __init__(self, core: ConsumerCore) -> None:
        self._core = core

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or self._core.group is None:
            self.close()
            return
        # The records returned last may not be processed. If leaving fails as well, the first error matters.
        with suppress(RawlineError):
            self._core.leave(False, False)

    def __iter__(self) -> Iterator[Batch]:
        while True:
            while (batch := self._core.take_one()) is None:
                if not self._core.fetch(False):
                    return
            yield batch

    def __repr__(self) -> str:
        return f"<rawline.Consumer of {self._core.topic!r}{state_of(self._core)}>"

    def records(self) -> Iterator[memoryview]:
        """The records one by one. If the loop ends within a batch, the next call of any method continues there."""
        while True:
            while (records := self._core.take_records(False)) is None:
                if not self._core.fetch(False):
                    return
            yield from records

    def messages(self) -> Iterator[Message]:
        """Like `records`, with the offset, the key, the headers and the time of each record.

        Records have these if they were sent with them, or by one of Kafka's clients.
        """
        while True:
            while (messages := self._core.take_records(True)) is None:
                if not self._core.fetch(False):
                    return
            yield from messages

    def poll(self, timeout: float | None = None) -> Batches | None:
        """The next records, at least one; `None` at `end`, or if none is received within `timeout` seconds."""
        return self._poll(Deadline(timeout), False)

    def _poll(self, deadline: Deadline, collects: bool) -> Batches | None:
        while (batches := self._core.take()) is None:
            if not self._core.fetch(False, deadline.left(), collects):
                return None
        return batches

    def take(self, records: int, timeout: float | None = None) -> Batches:
        """This number of records; fewer at `end` or after `timeout` seconds.

        After an error or Ctrl-C, the next call returns the records received so far.
        """
        taking = Taking(self._core, records)
        deadline = Deadline(timeout)
        with taking:
            while taking.lacks > 0 and (received := self._poll(deadline, taking.has_records)) is not None:
                taking.add(received)
        return taking.taken()

    @property
    def ended(self) -> bool:
        """Whether everything before `end` was returned."""
        return self._core.ended

    def commit(self) -> None:
        """Commits the offsets after everything that was returned, as a member of a group.

        With `records` and `messages`, records count one by one as the loop takes them. Raises `RefusedError` with the
        code `group_rebalancing`, `member_not_found` or `member_fenced` if the partitions are others' by now.
        """
        self._core.commit(False)

    def close(self) -> None:
        """Ends the read in flight. A thread that waits for it sees the end of the topic; later calls raise.

        A member of a group commits the returned records, unless it has no `commit_interval`, and leaves the group. One
        with an `instance` doesn't leave, because it may come back.
        """
        if self._core.group is None:
            self._core.close()
        else:
            self._core.leave(False, True)


__all__ = ["Batch", "Batches", "Consumer", "Start"]
