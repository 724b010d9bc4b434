"""The types that several modules' signatures share."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike
else:
    # What has the buffer protocol has no name before Python 3.12.
    BytesLike = bytes | bytearray | memoryview

__all__ = ["BytesLike"]
