"""Avro messages: decodes them to Arrow columns, and encodes dicts or columns, by schema (docs/measurements.md).

Strings become ids on request: `Decoder(schema, strings="dictionary")` returns dictionary columns whose keys are the
same in every table of that decoder. Errors are `rawline.AvroError`s that name the field.
"""

import json
import math
from decimal import Decimal
from typing import Any, Literal

from rawline._rawline import AvroDecoder, AvroEncoder, Schema, Table
from rawline.errors import AvroError
from rawline.types import ArrowArray, ArrowStream, BytesLike, Messages

Strings = Literal["utf8", "view", "dictionary"]


def schema_of(schema: Schema | str | dict[str, Any]) -> Schema:
    """Returns a schema from a schema, its JSON, or the JSON as Python objects."""
    if isinstance(schema, Schema):
        return schema
    return Schema(schema if isinstance(schema, str) else json.dumps(schema))


def _plain(value: Any) -> Any:
    """Returns an object as docs/measurements.md writes it in JSON, which has neither NaN nor objects of numpy."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal):
        return str(value)
    if type(value).__module__ == "numpy":
        return _plain(value.tolist())
    return value


class Decoder:
    """Decodes messages written with one schema, with that schema or another.

    - `reader`: the schema as which to read messages, by Avro's rules of resolution
    - `framing`: the header of a message: `"single-object"` (a fingerprint), `"registry:N"` or `"bare"`
    - `strings`: how strings are decoded: `"utf8"`, `"view"` (Arrow's string views) or `"dictionary"` (ids)
    - `strings_max`, `strings_bytes_max`: capacity for distinct strings, with `"dictionary"`
    """

    def __init__(
        self,
        schema: Schema | str | dict[str, Any],
        *,
        reader: Schema | str | dict[str, Any] | None = None,
        framing: str = "single-object",
        strings: Strings = "utf8",
        strings_max: int = 1 << 20,
        strings_bytes_max: int = 64 << 20,
    ) -> None:
        read_as = None if reader is None else schema_of(reader)
        self._core = AvroDecoder(schema_of(schema), read_as, framing, strings, strings_max, strings_bytes_max)

    def decode(self, messages: Messages, *, errors: Literal["raise", "skip"] = "raise") -> Table:
        """Decodes messages (batches, an Arrow array, or any iterable) into columns. Releases the GIL.

        Raises `AvroError` if a message is bad, or skips it and counts it in the table's `faulty` and `faults`.
        """
        return self._core.decode(messages, errors == "skip")

    def decode_one(self, message: BytesLike) -> Any:
        """Decodes one message to Python objects, in the form of its JSON (docs/measurements.md)."""
        return json.loads(self._core.to_json(message))


class Encoder:
    """Encodes messages of one schema; `framing` as for `Decoder`."""

    def __init__(self, schema: Schema | str | dict[str, Any], *, framing: str = "single-object") -> None:
        self._core = AvroEncoder(schema_of(schema), framing)

    def encode(self, value: Any) -> bytes:
        """Encodes one message from an object that `json.dumps` accepts, or with `bytes`. Maps keep their order.

        Numbers and arrays of numpy are read as Python's. A decimal is a `decimal.Decimal`, or its text.
        """
        try:
            return self._core.encode(value)
        except AvroError:
            # JSON's rules have precedence, but JSON has no bytes.
            try:
                text = json.dumps(_plain(value))
            except (TypeError, ValueError, RecursionError):
                pass
            else:
                return self._core.encode_json(text)
            raise

    def encode_table(self, table: ArrowArray | ArrowStream) -> list[bytes]:
        """Encodes each row of an Arrow table (pyarrow's, polars', …) as a message. Columns are matched by name."""
        return self._core.encode_table(table)


__all__ = ["Decoder", "Encoder", "Schema", "Strings", "Table"]
