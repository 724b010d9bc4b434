"""Decodes measurements (Avro records of a metric, tags, a time and a value) into columns (docs/measurements.md)."""

from collections.abc import Iterable
from typing import Any, Literal

from rawline._rawline import MEASUREMENT_SCHEMA, MeasurementCore, Schema, Table
from rawline.avro import Encoder, schema_of
from rawline.types import Messages

SCHEMA = Schema(MEASUREMENT_SCHEMA)
"""The schema with which new measurements are written."""


class Reader:
    """Reads measurements of any known schema, and gives each series (a metric with its tags) one id.

    - `schemas`: the writers' schemas; by default `SCHEMA`. With `framing="registry"`, a dict from number to schema
    - `framing`: `"single-object"`, `"registry"` or `"bare"`
    - `series_max`: maximum number of series; each takes about 500 bytes, which are virtual memory until used
    """

    def __init__(
        self,
        schemas: Iterable[Schema | str | dict[str, Any]] | dict[int, Schema | str | dict[str, Any]] = (SCHEMA,),
        *,
        framing: Literal["single-object", "registry", "bare"] = "single-object",
        series_max: int = 100_000,
    ) -> None:
        self._core = MeasurementCore(framing, series_max)
        if isinstance(schemas, dict):
            for number, schema in schemas.items():
                self._core.add_schema(schema_of(schema), number)
        else:
            for schema in schemas:
                self._core.add_schema(schema_of(schema), None)

    def __repr__(self) -> str:
        return f"<rawline.measurement.Reader of {self.series_count} series>"

    def decode(self, messages: Messages, *, errors: Literal["raise", "skip"] = "raise") -> Table:
        """Decodes messages to a table of `series` (id), `metric` (dictionary), `time` (ms, UTC) and `value`.

        Releases the GIL. Raises `AvroError` if a message is bad, or skips it and counts it in the table's `faulty` and
        `faults`.
        """
        return self._core.decode(messages, errors == "skip")

    def series(self, since: int = 0) -> Table:
        """The series with ids from `since` on: `series`, `metric`, `tags` (a map), to join with tables of `decode`."""
        return self._core.series(since)

    @property
    def series_count(self) -> int:
        """Number of series so far. The ids are the numbers below it."""
        return self._core.series_count


_ENCODER = Encoder(SCHEMA)


def encode(metric: str, tags: dict[str, str], logtime: int, value: float) -> bytes:
    """Encodes one measurement, framed as a single object of `SCHEMA`. `logtime` is in milliseconds since 1970."""
    return _ENCODER.encode({"metric": metric, "tags": tags, "logtime": logtime, "value": float(value)})


__all__ = ["SCHEMA", "Reader", "encode"]
