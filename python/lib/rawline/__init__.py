"""Producer and consumer for a Rawline broker; structured values, Avro and measurements.

>>> import rawline
>>> with rawline.Client() as client:                      # doctest: +SKIP
...     with client.producer("events") as producer:
...         producer.send(b"hello")
...     for record in client.consumer("events", end=client.topic("events").next_offset).records():
...         print(bytes(record))

Methods of `rawline.Client` and of its producers and consumers block; those of `rawline.AsyncClient` are awaited. Every
error is a `rawline.RawlineError`, whose `kind` says what can be done about it.
"""

import atexit as _atexit
import os as _os

from rawline import aio as aio
from rawline import avro as avro
from rawline import measurement as measurement
from rawline import value as value
from rawline._rawline import Batch, Batches, Message, Receipt, __version__, _after_fork, _before_exit
from rawline.aio import AsyncClient, AsyncConsumer, AsyncProducer, AsyncSubscription
from rawline.batch import Limits, build_batch, parse_batch, parse_batches
from rawline.client import Appended, Client, Extent, TopicInfo, Trimmed
from rawline.consumer import Consumer
from rawline.errors import (
    AnswerError,
    AvroError,
    BatchError,
    BrokenError,
    ConfigError,
    ConnectError,
    FencedError,
    RawlineError,
    RefusedError,
    RequestTimeoutError,
    StoppedError,
    TlsError,
    ValueFormatError,
    WaitTimeoutError,
)
from rawline.group import GroupInfo, GroupMember, GroupOffset, GroupSummary
from rawline.producer import Producer
from rawline.subscription import Deleted, Skipped, Subscription

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork)
_atexit.register(_before_exit)

__all__ = [
    "AnswerError",
    "Appended",
    "AsyncClient",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncSubscription",
    "AvroError",
    "Batch",
    "BatchError",
    "Batches",
    "BrokenError",
    "Client",
    "ConfigError",
    "ConnectError",
    "Consumer",
    "Deleted",
    "Extent",
    "FencedError",
    "GroupInfo",
    "GroupMember",
    "GroupOffset",
    "GroupSummary",
    "Limits",
    "Message",
    "Producer",
    "RawlineError",
    "Receipt",
    "RefusedError",
    "RequestTimeoutError",
    "Skipped",
    "StoppedError",
    "Subscription",
    "TlsError",
    "TopicInfo",
    "Trimmed",
    "ValueFormatError",
    "WaitTimeoutError",
    "__version__",
    "aio",
    "avro",
    "build_batch",
    "measurement",
    "parse_batch",
    "parse_batches",
    "value",
]
