"""Collects records in batches and sends them in order, with bounded memory."""

import warnings
from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Any

from rawline._rawline import ProducerCore, Receipt
from rawline.types import BytesLike, Headers, Records

Fields = tuple[Any, list[tuple[str, Any]], int | None]
"""The fields that the native half stores with a record: key, headers and time in milliseconds since 1970."""


def fields_of(
    record: object, key: BytesLike | str | None, headers: Headers | None, timestamp: int | datetime | None
) -> Fields | None:
    """The fields stored with a record; `None` if there are none."""
    if record is None and key is None:
        raise TypeError("the record is None; give bytes or text, or the key that a null record is to delete")
    if key is None and headers is None and timestamp is None:
        return None
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers or ())
    from rawline.client import is_time, time_us

    time_ms: Any = time_us(timestamp) // 1000 if is_time(timestamp) else timestamp
    return key, pairs, time_ms


def warn_of_loss(producer: object, core: ProducerCore) -> None:
    """Warns when a producer is dropped before its records are stored."""
    if core.unstored:
        warnings.warn(
            f"{producer!r} was dropped with records that are not stored: close it, or use it in a with block",
            RuntimeWarning,
            stacklevel=3,
        )


class Producer:
    """Appends records to one topic. Created by `Client.producer`; safe to share.

    **Partitions.** A record goes to `partition`, or to the partition of its `key`, where Kafka's Java client puts the
    key, or to any: all records of a batch go to one partition, the next batch to another. Each partition stores
    its records in the order of sending.

    **Keys, headers, times.** Records with a `key`, `headers` or a `timestamp` are stored in Kafka's batches, which
    Kafka's clients read as they are; `Consumer.messages` returns them. A `partition_key` only chooses
    the partition, and isn't stored: such records are smaller and cheaper.

    **Exactly once.** If a connection breaks, the request is retried, and the broker stores its records once.

    **Names.** A producer with a `name` fences the one that had it before: that one raises `FencedError`.

    **Failure.** If a request is rejected, or fails for longer than `retry_for`, the producer stops: its buffered
    records are not sent, and every later receipt, `send`, `flush` and `close` raises.

    Leaving the `with` block sends the buffered records; leaving it with an error drops them.
    """

    def __init__(self, core: ProducerCore) -> None:
        self._core = core

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._core.abandon()

    def __del__(self) -> None:
        warn_of_loss(self, self._core)

    def __repr__(self) -> str:
        return f"<rawline.Producer of {self._core.topic!r}{', closed' if self._core.closed else ''}>"

    def send(
        self,
        record: BytesLike | str | None,
        timeout: float | None = None,
        *,
        key: BytesLike | str | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        partition_key: BytesLike | str | None = None,
    ) -> Receipt:
        """Buffers a record: bytes-like, or text as UTF-8. Its receipt reports when it is stored.

        Waits while the buffer is full, and with a key or `partition` until the number of partitions is known; after
        `timeout` seconds, raises `WaitTimeoutError`. Raises `RefusedError` with the code `partition_not_found` if the
        topic lacks the partition; the producer continues.

        `timestamp` is a time with a zone or milliseconds since 1970, by default the current time if there is a key or a
        header. `None` as the record is null, which deletes its key in a compacted topic.
        """
        # Most records have none of these, and this is called for each record.
        if key is None and headers is None and timestamp is None and record is not None:
            return self._core.send(record, timeout, partition_key, partition)
        fields = fields_of(record, key, headers, timestamp)
        return self._core.send(record, timeout, partition_key, partition, fields)

    def send_many(
        self,
        records: Records,
        timeout: float | None = None,
        *,
        key: BytesLike | str | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        partition_key: BytesLike | str | None = None,
    ) -> Receipt | None:
        """Buffers records: any iterable, or an Arrow array of bytes or text (for a table, its column `record`).

        All get the same key, headers and time. Returns the receipt of the last record. With `in_flight_max=1` and a
        key, `partition` or a topic of one partition, all are stored when that one is; otherwise when `flush` has
        returned. After an error, including `WaitTimeoutError`, the first of them may have been buffered.
        """
        fields = fields_of(records, key, headers, timestamp)
        return self._core.send_many(records, timeout, partition_key, partition, fields)

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent so far is stored."""
        self._core.flush(False, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Accepts no more records, waits until the accepted ones are stored, and stops. Further calls do nothing.

        If `timeout` expires or Ctrl-C is pressed, sending continues: call it again to keep waiting.
        """
        self._core.close(False, timeout)


__all__ = ["Producer", "Receipt"]
