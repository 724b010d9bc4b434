"""MessagePack: msgspec with dicts, with types and with fields by their places; ormsgpack."""

import msgspec
import ormsgpack

from lab import dicts, structs
from lab.row import Row

ROWS = [
    Row("msgpack", "ormsgpack", lambda case: dicts.codec(case, ormsgpack.packb, ormsgpack.unpackb),
        distribution="ormsgpack"),
    Row(
        "msgpack", "msgspec",
        lambda case: dicts.codec(case, msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode),
        distribution="msgspec",
    ),
    Row(
        "msgpack", "msgspec",
        lambda case: structs.codec(case, msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder),
        variant="typed", distribution="msgspec",
        note="Structs, checked while decoding; one field is read by a Struct of that field alone",
    ),
    Row(
        "msgpack-array", "msgspec",
        lambda case: structs.codec(case, msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder, array_like=True),
        variant="typed", distribution="msgspec",
        note="array_like Structs: no names in the bytes; one field is read by a Struct that ends with it",
    ),
]
