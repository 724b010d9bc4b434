"""Gathers records into batches and sends them in order, with bounded memory."""

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
    """Appends records to one topic, in the order in which they are sent. Made by `Client.producer`; safe to share.

    **At least once.** When a connection breaks, the request is retried; if only its response was lost, its records are
    then duplicated in the topic.

    **Failure.** When a request is refused, or fails for longer than `retry_for`, the producer stops: its
    buffered records are not sent, and every receipt, `send`, `flush` and `close` from then on raises.

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

    def send(self, record: BytesLike | str, timeout: float | None = None) -> Receipt:
        """Buffers a record: bytes-like, or text as UTF-8. It is stored when its receipt says so.

        Waits while the buffer is full, at most `timeout` seconds, and then raises `WaitTimeoutError`.
        """
        return self._core.send(record, timeout)

    def send_many(self, records: Records, timeout: float | None = None) -> Receipt | None:
        """Buffers records: any iterable, or an Arrow array of bytes or text (of a table, its column `record`).

        Returns the last one's receipt: with `in_flight_max=1`, once that is stored all are. After an error, a
        `WaitTimeoutError` too, the first of them may have been buffered.
        """
        return self._core.send_many(records, timeout)

    def flush(self, timeout: float | None = None) -> None:
        """Returns when every record sent so far is stored."""
        self._core.flush(False, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Accepts no more records, waits until the accepted ones are stored, and stops. Further calls do nothing.

        If `timeout` runs out or Ctrl-C is pressed, sending continues: call it again to wait further.
        """
        self._core.close(False, timeout)


__all__ = ["Producer", "Receipt"]
