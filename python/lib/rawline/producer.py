"""Collects records in batches and sends them in order, with bounded memory."""

import warnings
from types import TracebackType

from rawline._rawline import ProducerCore, Receipt
from rawline.types import BytesLike, Records


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

    **Partitions.** A record goes to the partition of its `key`, where Kafka's clients put the key, to `partition`, or
    to any: all records of a batch to one partition, those of the next batch to another. Each partition stores its
    records in the order of sending. The key isn't stored.

    **Exactly once in a journal, at least once elsewhere.** If a connection breaks, the request is retried. A broker
    with a journal, in a bucket or a directory, stores its records once. Elsewhere, if only the response was lost, they
    are then duplicated in the topic.

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
        record: BytesLike | str,
        timeout: float | None = None,
        *,
        key: BytesLike | str | None = None,
        partition: int | None = None,
    ) -> Receipt:
        """Buffers a record: bytes-like, or text as UTF-8. Its receipt reports when it is stored.

        Waits while the buffer is full, and with `key` or `partition` until the number of partitions is known; after
        `timeout` seconds, raises `WaitTimeoutError`. Raises `RefusedError` with the code `partition_not_found` if the
        topic lacks the partition; the producer continues.
        """
        return self._core.send(record, timeout, key, partition)

    def send_many(
        self,
        records: Records,
        timeout: float | None = None,
        *,
        key: BytesLike | str | None = None,
        partition: int | None = None,
    ) -> Receipt | None:
        """Buffers records: any iterable, or an Arrow array of bytes or text (for a table, its column `record`).

        Returns the receipt of the last record. With `in_flight_max=1` and `key`, `partition` or a topic of one
        partition, all are stored when that one is; otherwise when `flush` has returned. After an error, including
        `WaitTimeoutError`, the first of them may have been buffered.
        """
        return self._core.send_many(records, timeout, key, partition)

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent so far is stored."""
        self._core.flush(False, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Accepts no more records, waits until the accepted ones are stored, and stops. Further calls do nothing.

        If `timeout` expires or Ctrl-C is pressed, sending continues: call it again to keep waiting.
        """
        self._core.close(False, timeout)


__all__ = ["Producer", "Receipt"]
