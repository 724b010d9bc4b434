"""Receives the records of topics as they are stored."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal, NamedTuple

from rawline._rawline import Batch, ClientCore, Message, SubscriptionCore
from rawline.consumer import Deadline, Place, start_of
from rawline.errors import ConfigError

Slow = Literal["disconnect", "skip"]
"""The action for a subscription that is too slow."""


class Skipped(NamedTuple):
    """Records that are not delivered: they were deleted, or the subscriber was too slow."""

    topic: str
    partition: int
    records: int
    """Number of records."""
    next_offset: int
    """Offset of the next record of the partition."""


class Deleted(NamedTuple):
    """A topic was deleted; the subscription continues with the others."""

    topic: str


Event = Batch | Skipped | Deleted
"""A delivery of a subscription."""


def event_of(taken: "Batch | tuple[str, int, int, int] | tuple[str]") -> Event:
    """Converts a result of the native half."""
    if isinstance(taken, Batch):
        return taken
    return Skipped(*taken) if len(taken) == 4 else Deleted(*taken)


def subscription_core(
    core: ClientCore,
    topics: tuple[str, ...],
    prefixes: Iterable[str],
    start: Place,
    partition: int | None,
    cursor: str | None,
    where: str | None,
    slow: Slow,
    max_lag: int | None,
    retry_for: float,
) -> SubscriptionCore:
    """Creates the native half of a subscription."""
    if isinstance(prefixes, str):
        raise ConfigError(f"prefixes is a text; give a list such as [{prefixes!r}]", "fix_request")
    names = list(prefixes)
    if not topics and not names:
        raise ConfigError("a subscription of nothing; name topics, or give prefixes", "fix_request")
    return core.subscribe(list(topics), names, *start_of(start), partition, cursor, where, slow, max_lag, retry_for)


def selectors_of(core: SubscriptionCore) -> str:
    """The topics and prefixes of a subscription for its repr."""
    selectors = [repr(topic) for topic in core.topics] + [f"{prefix!r}*" for prefix in core.prefixes]
    return f"{', '.join(selectors)}{', closed' if core.closed else ''}"


class Subscription:
    """Receives the records of topics as they are stored. Created by `Client.subscribe`; for one thread at a time.

    Iterating returns one `Batch` after the other, forever; `batch.topic` and `batch.partition` say where it is from.
    `events` also returns skipped records and deleted topics. While the caller processes a batch, nothing more is
    received: beyond the system's buffers, records wait in the broker. A broken connection is replaced, without loss or
    duplicates; after an error, the next call continues where the subscription was.
    """

    def __init__(self, core: SubscriptionCore) -> None:
        self._core = core

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Batch]:
        while True:
            while (batch := self._core.take_batch()) is None:
                if not self._core.fetch(False):
                    return
            yield batch

    def __repr__(self) -> str:
        return f"<rawline.Subscription of {selectors_of(self._core)}>"

    def events(self) -> Iterator[Event]:
        """Batches, and between them skipped records (`Skipped`) and deleted topics (`Deleted`)."""
        while True:
            while (taken := self._core.take()) is None:
                if not self._core.fetch(False):
                    return
            yield event_of(taken)

    def records(self) -> Iterator[memoryview]:
        """The records one by one. If the loop ends within a batch, the next call of any method continues there."""
        while True:
            while (records := self._core.take_records(False)) is None:
                if not self._core.fetch(False):
                    return
            yield from records

    def messages(self) -> Iterator[Message]:
        """Like `records`, with the topic, partition, offset, key, headers and time of each record."""
        while True:
            while (messages := self._core.take_records(True)) is None:
                if not self._core.fetch(False):
                    return
            yield from messages

    def poll(self, timeout: float | None = None) -> Event | None:
        """The next event; `None` if nothing is received within `timeout` seconds."""
        deadline = Deadline(timeout)
        while (taken := self._core.take()) is None:
            if not self._core.fetch(False, deadline.left()):
                return None
        return event_of(taken)

    @property
    def cursor(self) -> str:
        """The position after everything that was returned: `Client.subscribe(…, cursor=…)` continues there.

        With `records` and `messages`, records count one by one as the loop takes them.
        """
        return self._core.cursor or ""

    @property
    def skipped(self) -> int:
        """Number of records that were skipped so far."""
        return self._core.skipped

    def close(self) -> None:
        """Closes the connection. A thread that waits for records sees the end; later calls raise."""
        self._core.close()


__all__ = ["Deleted", "Event", "Skipped", "Slow", "Subscription"]
