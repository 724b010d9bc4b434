"""Encodes records as batches, and checks and reads batches, without a broker."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rawline import _rawline
from rawline._rawline import Batch, Batches
from rawline.errors import BatchError
from rawline.types import BytesLike

Codec = Literal["none", "lz4", "zstd"]


@dataclass(frozen=True)
class Limits:
    """Maximum sizes of a batch that a reader accepts."""

    batch_bytes_max: int = 32 << 20
    """Length of a whole batch, in bytes."""
    records_max: int = 1 << 20
    """Number of records."""
    raw_bytes_max: int = 64 << 20
    """Length of the records, uncompressed, in bytes."""


FORMAT = Limits((1 << 32) - 1, (1 << 32) - 1, (1 << 32) - 1)
"""The limits of the format itself."""


def build_batch(
    records: Iterable[BytesLike | str],
    codec: Codec = "none",
    *,
    created_us: int | None = None,
    producer_id: int = 0,
    sequence: int = 0,
    is_slice: bool = False,
) -> bytes:
    """Encodes these records as one batch. Data that the codec doesn't shorten is stored uncompressed.

    `created_us` is in microseconds since 1970, by default the current time. Raises `BatchError` without records.
    """
    if created_us is None:
        created_us = time.time_ns() // 1000
    return _rawline.build_batch(records, codec, created_us, producer_id, sequence, is_slice)


def parse_batch(data: BytesLike, limits: Limits = FORMAT) -> Batch:
    """Reads exactly one batch; its records are memoryviews of the bytes. Raises `BatchError`."""
    batch, end = _rawline.parse_batch(data, 0, 0, limits.batch_bytes_max, limits.records_max, limits.raw_bytes_max)
    length = memoryview(data).nbytes
    if end != length:
        message = f"{length - end} bytes follow the end of the batch; send one batch alone"
        raise BatchError(message, "fix_request", "batch_trailing_bytes")
    return batch


def _restore(data: bytes, first_offset: int, start: int, end: int, partition: int = 0, topic: str = "") -> Batch:
    """The records `start` to `end` of a pickled batch, whose first record has `first_offset`."""
    batch, _ = _rawline.parse_batch(
        data, 0, first_offset, FORMAT.batch_bytes_max, FORMAT.records_max, FORMAT.raw_bytes_max, partition, topic
    )
    return batch[start:end]


def parse_batches(data: BytesLike, limits: Limits = FORMAT, first_offset: int = 0) -> Iterator[Batch]:
    """Reads concatenated batches.

    If a batch is damaged, raises `BatchError` after returning those before it. Empty input is an error too.
    """
    position, length = 0, memoryview(data).nbytes
    while position < length or length == 0:
        batch, position = _rawline.parse_batch(
            data, position, first_offset, limits.batch_bytes_max, limits.records_max, limits.raw_bytes_max
        )
        first_offset += len(batch)
        yield batch


__all__ = ["FORMAT", "Batch", "Batches", "Codec", "Limits", "build_batch", "parse_batch", "parse_batches"]
