"""Codecs of libraries that write a dict and give one back: a field is read from the whole dict."""

from collections.abc import Callable
from typing import Any

from lab.case import Case
from lab.row import Codec
from lab.source import DictStyle, compiled, read


def codec(case: Case, encode: Callable[[Any], Any], decode: Callable[[bytes], Any],
    style: DictStyle | None = None) -> Codec:
    """The codec of a pair of functions from dict to bytes and back. `style` is for dicts where an absent field is
    None."""
    style = style or DictStyle()
    path = "".join(f"[{name!r}]" for name in case.one_field)
    source = f"def field(data):\n    return decode(data){path}\n"
    source += f"\n{read(case, style)}\ndef fields(data):\n    read(decode(data))\n"
    recorded = f"{read(case, style, recorded=True)}\ndef fields(data):\n    read(decode(data))\n"
    return Codec(
        native=lambda message: message,
        encode=encode,
        decode=decode,
        field=compiled(source, "field", decode=decode),
        fields=compiled(source, "fields", decode=decode),
        plain=lambda message: message,
        recorder=lambda take: compiled(recorded, "fields", decode=decode, take=take),
        sources=[source],
    )
