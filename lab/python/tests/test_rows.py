"""Every row gives back every case's messages, its one field, and all fields."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from lab.case import Type, case, case_names, difference
from lab.row import row, rows

PAIRS = [pytest.param(each, case(name), id=f"{each.id}-{name}") for each in rows() for name in case_names()]


def scalars(type: Type, value: Any) -> Iterator[Any]:
    """All scalars of a message; of a map the keys too."""
    if type.kind == "record":
        for field in type.record.fields:
            if field.name in value:
                yield from scalars(field.type, value[field.name])
    elif type.kind == "list":
        for item in value:
            yield from scalars(type.item, item)
    elif type.kind == "map":
        yield from (*value.keys(), *value.values())
    else:
        yield value


@pytest.mark.parametrize("row, here", PAIRS)
def test_messages_come_back(row, here):
    codec = row.bind(here)
    type = Type("record", record=here.record)
    for message in here.messages("base"):
        data = bytes(codec.encode(codec.native(message)))
        assert difference(type, message, codec.plain(codec.decode(data))) is None
        assert codec.field(data) == here.one(message)


@pytest.mark.parametrize("row, here", PAIRS)
def test_fields_reads_every_field_once(row, here):
    codec = row.bind(here)
    found: list[Any] = []
    read = codec.recorder(found.append)
    for message in here.messages("base")[:50]:
        data = bytes(codec.encode(codec.native(message)))
        codec.fields(data)
        found.clear()
        read(data)
        expected = scalars(Type("record", record=here.record), message)
        assert Counter((value.__class__, value) for value in found) == Counter((value.__class__, value)
            for value in expected)


def test_ids_are_unique():
    ids = [each.id for each in rows()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", case_names())
def test_a_record_writes_the_same_fields_as_a_dict(name):
    here = case(name)
    dicts, ordered = (row(f"values/rawline{variant}").bind(here) for variant in ("+dict", ""))
    for message in here.messages("base")[:100]:
        # The same fields in another order.
        data = dicts.encode(dicts.native(message))
        assert ordered.plain(ordered.decode(ordered.encode(ordered.native(message)))) == dicts.decode(data)
