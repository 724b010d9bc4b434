"""Types shared by the signatures of several modules."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike
else:
    # Objects with the buffer protocol have no common type before Python 3.12.
    BytesLike = bytes | bytearray | memoryview


class ArrowArray(Protocol):
    """An array or a record batch with Arrow's PyCapsule interface, such as pyarrow's, and this package's `Batch`."""

    def __arrow_c_array__(self, requested_schema: object | None = None, /) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Arrays or a table with Arrow's PyCapsule interface, such as pyarrow's, polars', pandas', and `Batches`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object: ...


Records = Iterable[BytesLike | str] | ArrowArray | ArrowStream
"""Records to send: bytes-like objects and text, or an Arrow array of them; for a table, its column `record`."""

Headers = Mapping[str, "BytesLike | str | None"] | Iterable[tuple[str, "BytesLike | str | None"]]
"""Headers of records: names and values, which can be `None`; text as UTF-8. In pairs, a name can occur repeatedly."""

Messages = Iterable[BytesLike] | ArrowArray | ArrowStream
"""Avro messages: from batches, an Arrow array, or any iterable."""

__all__ = ["ArrowArray", "ArrowStream", "BytesLike", "Headers", "Messages", "Records"]
