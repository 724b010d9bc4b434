"""Measurements: Avro records of a metric, tags, a time and a value, to columns of series ids (docs/measurements.md)."""

from collections.abc import Iterable
from typing import Any, Literal

from rawline._rawline import MEASUREMENT_SCHEMA, MeasurementCore, Schema, Table
from rawline.avro import Encoder, schema_of
from rawline.types import Messages

SCHEMA = Schema(MEASUREMENT_SCHEMA)
"""The schema that new measurements are written with."""


class Reader:
    """Reads measurements whatever schemas wrote them, and gives each series (a metric with its tags) one id.

    - `schemas`: the writers' schemas; by default `SCHEMA`. With `framing="registry"` a dict by number
    - `framing`: `"single-object"`, `"registry"` or `"bare"`
    - `series_max`: maximum number of series; about 500 bytes each, of virtual memory until used
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
        """Messages as a table of `series` (id), `metric` (dictionary), `time` (ms, UTC) and `value`. Releases the GIL.

        Raises `AvroError` if one is bad, or leaves it out and counts it in the table's `faulty` and `faults`.
        """
        return self._core.decode(messages, errors == "skip")

    def series(self, since: int = 0) -> Table:
        """The series with ids from `since` on: `series`, `metric`, `tags` (a map), to join with `decode`'s tables."""
        return self._core.series(since)

    @property
    def series_count(self) -> int:
        """Number of series so far; ids are the numbers below it."""
        return self._core.series_count


_ENCODER = Encoder(SCHEMA)


def encode(metric: str, tags: dict[str, str], logtime: int, value: float) -> bytes:
    """One measurement, framed as a single object of `SCHEMA`. `logtime` is in milliseconds since 1970."""
    return _ENCODER.encode({"metric": metric, "tags": tags, "logtime": logtime, "value": float(value)})


__all__ = ["SCHEMA", "Reader", "encode"]
