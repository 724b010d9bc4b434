"""Records as tables of pyarrow, polars and pandas, and as HTML for notebooks."""

import html
import importlib
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from rawline._rawline import Batches

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_ROWS_SHOWN = 5
"""Rows that are shown of a table's beginning, and of its end."""

_CHARACTERS_SHOWN = 120
"""Characters that are shown of a cell: about the width of a notebook."""


def to_arrow(batches: Batches) -> Any:
    """The records as a `pyarrow.Table`."""
    return _library("pyarrow", "to_arrow").table(batches)


def to_polars(batches: Batches) -> Any:
    """The records as a `polars.DataFrame`."""
    return _library("polars", "to_polars").DataFrame(batches)


def to_pandas(batches: Batches) -> Any:
    """The records as a `pandas.DataFrame`."""
    _library("pandas", "to_pandas")
    return _library("pyarrow", "to_pandas").table(batches).to_pandas()


def to_html(batches: Batches, title: str) -> str:
    """The first and the last records as an HTML table of bounded size."""
    records = len(batches)
    names = ("partition", "offset", "timestamp", "key", "record", "headers")
    rows = ["".join(f"<th>{name}</th>" for name in names)]
    if records <= 2 * _ROWS_SHOWN:
        rows += _html_rows(batches)
    else:
        rows += _html_rows(batches[:_ROWS_SHOWN])
        rows += [f'<td colspan="{len(names)}">… {records - 2 * _ROWS_SHOWN} more …</td>']
        rows += _html_rows(batches[-_ROWS_SHOWN:])
    table = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<div>{html.escape(title)}<table>{table}</table></div>"


def _library(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{method} needs {name}: pip install {name}", name=error.name) from error


def _html_rows(batches: Batches) -> Iterator[str]:
    for batch in batches.batches:
        for message in batch.messages():
            # Records of our batches have the time of the batch, as in the table.
            time_ms = message.timestamp if batch.is_kafka else batch.created_us // 1000
            headers = ", ".join(f"{name}: {_text(value)}" for name, value in message.headers)
            key, value = _text(message.key), _text(message.value)
            cells = (message.partition, message.offset, _time(time_ms), key, value, headers)
            yield "".join(f"<td>{html.escape(_shortened(str(cell)))}</td>" for cell in cells)


def _time(time_ms: int | None) -> str:
    if time_ms is None:
        return ""
    try:
        return (_EPOCH + timedelta(milliseconds=time_ms)).isoformat(" ", "milliseconds").removesuffix("+00:00")
    except OverflowError:
        return f"{time_ms} ms"


def _text(data: "bytes | memoryview | None") -> str:
    """The beginning of some bytes: as text, or in hexadecimal."""
    if data is None:
        return ""
    # No character has more than four bytes; one more byte shows that there is more.
    head = bytes(data[: 4 * _CHARACTERS_SHOWN + 1])
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        # A character may have been divided.
        if len(head) == len(data) or error.start < len(head) - 3:
            return f"0x{head[:_CHARACTERS_SHOWN].hex()}"
        text = head[: error.start].decode()
    return text if _is_text(text) else f"0x{head[:_CHARACTERS_SHOWN].hex()}"


def _is_text(text: str) -> bool:
    return all(character.isprintable() or character in "\t\r\n" for character in text)


def _shortened(text: str) -> str:
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]}…"


__all__ = ["to_arrow", "to_html", "to_pandas", "to_polars"]
