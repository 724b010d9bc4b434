"""The native half of the package; use it through `rawline` and its modules."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, Literal, NoReturn, SupportsIndex, final, overload

from typing_extensions import Buffer, Self

__version__: str
MEASUREMENT_SCHEMA: str

@final
class Batch:
    """Records of one batch: a sequence of read-only memoryviews of the received bytes. Created by consumers and reads.

    Nothing is copied for `batch[i]`, `for record in batch`, `batch[a:b]` (which is a Batch too) and Arrow:
    `pyarrow.array(batch)` and `polars.Series(batch)` share that memory. A compressed batch is decompressed on receipt.
    """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> memoryview: ...
    @overload
    def __getitem__(self, index: slice, /) -> Batch: ...
    def __iter__(self) -> Iterator[memoryview]: ...
    @property
    def topic(self) -> str:
        """The topic that was read; empty for a batch that wasn't read from a topic."""
    @property
    def partition(self) -> int:
        """The partition that was read; 0 for a batch that wasn't read from a topic."""
    @property
    def first_offset(self) -> int:
        """Offset of the first of these records."""
    @property
    def next_offset(self) -> int:
        """Offset after the last of these records."""
    @property
    def created_us(self) -> int:
        """Time at which the producer made the batch, in microseconds since 1970 by its clock.

        Of a Kafka batch, the latest time of its records.
        """
    @property
    def is_kafka(self) -> bool:
        """Whether it is a Kafka batch, whose records have keys, headers and times."""
    @property
    def codec(self) -> Literal["none", "lz4", "zstd", "gzip", "snappy"]:
        """Compression of the batch as received: `none`, `lz4` or `zstd`; one of Kafka's can have `gzip` or `snappy`."""
    @property
    def producer_id(self) -> int:
        """Id of the producer that made the batch; 0 if it has none."""
    @property
    def sequence(self) -> int:
        """The producer's sequence number of the batch's first record."""
    @property
    def crc32c(self) -> int:
        """The batch's checksum, which was verified."""
    @property
    def is_slice(self) -> bool:
        """Whether the batch is a slice of another."""
    @property
    def batch_bytes(self) -> int:
        """Length of the whole batch as received, in bytes."""
    @property
    def data_bytes(self) -> int:
        """Length of the batch's data as received, in bytes."""
    @property
    def raw_bytes(self) -> int:
        """Total uncompressed length of the batch's records in bytes."""
    @property
    def data(self) -> memoryview:
        """These records, concatenated and uncompressed."""
    @property
    def sizes(self) -> memoryview:
        """These records' lengths, u32 little-endian: `numpy.frombuffer(batch.sizes, "<u4")`."""
    @property
    def wire(self) -> memoryview:
        """The whole batch as received, for `Client.append_batches`."""
    def messages(self) -> Iterator[Message]:
        """The records with their keys, headers and times, which they have in Kafka's batches."""
    def to_list(self) -> list[bytes]:
        """Copies of the records."""
    def to_arrow(self) -> Any:
        """The records as a `pyarrow.Table`, with the columns of `Batches`."""
    def to_polars(self) -> Any:
        """The records as a `polars.DataFrame`, with the columns of `Batches`."""
    def to_pandas(self) -> Any:
        """The records as a `pandas.DataFrame`, with the columns of `Batches`. Needs pyarrow."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Raises: numpy would take the records' bytes for columns."""
    def _repr_html_(self) -> str:
        """The first and last records as a table, for notebooks."""
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The records as an Arrow array of binary over the same memory."""
    def __arrow_c_schema__(self) -> object:
        """The array's type."""

@final
class Message:
    """A record with its key, headers and time, which records of Kafka's batches have.

    Created by `messages` of consumers and batches.
    """

    @property
    def topic(self) -> str:
        """The topic that was read."""
    @property
    def partition(self) -> int:
        """The partition that was read."""
    @property
    def offset(self) -> int:
        """The offset in the partition."""
    @property
    def value(self) -> memoryview | None:
        """The record, a memoryview of the received bytes; `None` if it is null."""
    @property
    def key(self) -> bytes | None:
        """The key; `None` without one."""
    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """Names and values, which can be `None`."""
    @property
    def timestamp(self) -> int | None:
        """The time that the producer gave it, in milliseconds since 1970; `None` without one."""

@final
class BatchIterator:
    """Iterates over the records of a batch, as memoryviews or as messages."""

    def __iter__(self) -> Iterator[memoryview]: ...
    def __next__(self) -> memoryview: ...

@final
class Batches:
    """Records of several batches, each partition's in order: a sequence of read-only memoryviews, and an Arrow table.

    The table has the columns `partition`, `offset`, `timestamp`, `key`, `record` and `headers`. `to_pandas`,
    `to_polars` and `to_arrow` return it; `polars.DataFrame(batches)`, `pyarrow.table(batches)` and DuckDB's
    `FROM batches` read it. Records aren't copied for Arrow, polars and DuckDB.
    """

    def __new__(cls, batches: Iterable[Batch] | None = None, /) -> Self: ...
    def __len__(self) -> int:
        """Number of records."""
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> memoryview: ...
    @overload
    def __getitem__(self, index: slice, /) -> Batches: ...
    def __iter__(self) -> Iterator[memoryview]: ...
    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches, each with its partition and offsets."""
    def messages(self) -> Iterator[Message]:
        """The records with their partitions, offsets, keys, headers and times."""
    @property
    def first_offset(self) -> int | None:
        """Offset of the first record; `None` without records."""
    @property
    def next_offset(self) -> int | None:
        """Offset after the last record, where the next read starts; `None` without records."""
    def to_list(self) -> list[bytes]:
        """Copies of the records."""
    def to_arrow(self) -> Any:
        """The table as a `pyarrow.Table`."""
    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`."""
    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`. Needs pyarrow."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Raises: numpy would take the records' bytes for columns."""
    def _repr_html_(self) -> str:
        """The first and last records as a table, for notebooks."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table, in parts of one batch."""
    def __arrow_c_schema__(self) -> object:
        """The columns' types."""

@final
class Receipt:
    """The future acknowledgement of a record. It may be dropped."""

    def offset(self, timeout: float | None = None) -> int:
        """Waits until the record is stored; returns its offset in its partition.

        Raises `WaitTimeoutError` after `timeout` seconds.
        """
    def partition(self, timeout: float | None = None) -> int:
        """Waits until the record is stored; returns its partition, like `offset`."""
    def __await__(self) -> Generator[Any, None, int]:
        """Like `offset`, for asyncio."""

@final
class RecordSource:
    def __new__(cls, records: Iterable[Buffer | str] | Any) -> Self: ...

@final
class ProducerCore:
    def send(
        self,
        record: Buffer | str | None,
        timeout: float | None = None,
        partition_key: Buffer | str | None = None,
        partition: int | None = None,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None = None,
    ) -> Receipt: ...
    def try_send(
        self,
        record: Buffer | str | None,
        partition_key: Buffer | str | None = None,
        partition: int | None = None,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None = None,
    ) -> Receipt | None: ...
    def send_async(
        self,
        record: Buffer | str | None,
        partition_key: Buffer | str | None = None,
        partition: int | None = None,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None = None,
    ) -> Any: ...
    def send_many(
        self,
        records: Iterable[Buffer | str] | Any,
        timeout: float | None = None,
        partition_key: Buffer | str | None = None,
        partition: int | None = None,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None = None,
    ) -> Receipt | None: ...
    def send_chunk_async(
        self,
        source: RecordSource,
        partition_key: Buffer | str | None = None,
        partition: int | None = None,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None = None,
    ) -> Any: ...
    def ready(self, asynchronous: bool) -> Any: ...
    def flush(self, asynchronous: bool, timeout: float | None = None) -> Any: ...
    def close(self, asynchronous: bool, timeout: float | None = None) -> Any: ...
    def abandon(self) -> None: ...
    @property
    def topic(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def unstored(self) -> bool: ...

@final
class ConsumerCore:
    def fetch(self, asynchronous: bool, timeout: float | None = None, collects: bool = False) -> Any: ...
    def take(self) -> Batches | None: ...
    def take_one(self) -> Batch | None: ...
    @overload
    def take_records(self, has_messages: Literal[False]) -> BatchIterator | None: ...
    @overload
    def take_records(self, has_messages: Literal[True]) -> Iterator[Message] | None: ...
    def put_back(self, batches: list[Batch]) -> None: ...
    @property
    def topic(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    @property
    def group(self) -> str | None: ...
    def commit(self, asynchronous: bool) -> Any: ...
    def leave(self, asynchronous: bool, is_processed: bool) -> Any: ...
    def close(self) -> None: ...

@final
class SubscriptionCore:
    def open(self, asynchronous: bool) -> Any: ...
    def fetch(self, asynchronous: bool, timeout: float | None = None) -> Any: ...
    def take(self) -> Batch | tuple[str, int, int, int] | tuple[str] | None: ...
    def take_batch(self) -> Batch | None: ...
    @overload
    def take_records(self, has_messages: Literal[False]) -> BatchIterator | None: ...
    @overload
    def take_records(self, has_messages: Literal[True]) -> Iterator[Message] | None: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def skipped(self) -> int: ...
    @property
    def topics(self) -> list[str]: ...
    @property
    def prefixes(self) -> list[str]: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...

@final
class ClientCore:
    def __new__(
        cls,
        broker: str,
        api_key: str | None,
        zone: str | None,
        ca_file: str | os.PathLike[str] | None,
        certificate_file: str | os.PathLike[str] | None,
        key_file: str | os.PathLike[str] | None,
        connect_timeout: float,
        request_timeout: float,
        retry_for: float,
    ) -> Self: ...
    @property
    def broker(self) -> str: ...
    def health(self, asynchronous: bool) -> Any: ...
    def topic(self, asynchronous: bool, topic: str) -> Any: ...
    def topics(self, asynchronous: bool) -> Any: ...
    def set_payload(self, asynchronous: bool, topic: str, payload: str) -> Any: ...
    def create_topic(
        self,
        asynchronous: bool,
        topic: str,
        payload: str,
        retain_hours: float | None,
        retain_bytes: int | None,
        partitions: int,
        cleanup_policy: str,
    ) -> Any: ...
    def delete_topic(self, asynchronous: bool, topic: str) -> Any: ...
    def groups(self, asynchronous: bool) -> Any: ...
    def group(self, asynchronous: bool, group: str) -> Any: ...
    def set_group_offsets(self, asynchronous: bool, group: str, topic: str, offsets: list[tuple[int, int]]) -> Any: ...
    def delete_group(self, asynchronous: bool, group: str) -> Any: ...
    def set_retention(
        self, asynchronous: bool, topic: str, retain_hours: float | None, retain_bytes: int | None
    ) -> Any: ...
    def set_cleanup_policy(self, asynchronous: bool, topic: str, policy: str) -> Any: ...
    def set_partitions(self, asynchronous: bool, topic: str, partitions: int) -> Any: ...
    def trim(self, asynchronous: bool, topic: str, before: int, partition: int) -> Any: ...
    def offset_at(self, asynchronous: bool, topic: str, time_us: int, partition: int) -> Any: ...
    def append(
        self,
        asynchronous: bool,
        topic: str,
        records: Iterable[Buffer | str] | Any,
        codec: str,
        created_us: int,
        partition: int,
        fields: tuple[Any, list[tuple[str, Any]], int | None] | None,
    ) -> Any: ...
    def append_records(self, asynchronous: bool, topic: str, sizes: Buffer, data: Buffer, partition: int) -> Any: ...
    def append_batches(self, asynchronous: bool, topic: str, batches: Buffer, partition: int) -> Any: ...
    def read(
        self, asynchronous: bool, topic: str, offset: int, records_max: int, bytes_max: int, wait: float, partition: int
    ) -> Any: ...
    def producer(
        self,
        topic: str,
        batch_bytes: int,
        batch_records_max: int,
        linger: float | None,
        buffer_bytes: int,
        request_bytes_max: int,
        in_flight_max: int,
        codec: str,
        retry_for: float,
        exactly_once: bool,
        name: str | None,
    ) -> ProducerCore: ...
    def subscribe(
        self,
        topics: list[str],
        prefixes: list[str],
        start: str,
        start_number: int,
        partition: int | None,
        cursor: str | None,
        where: str | None,
        slow: str,
        lag_max: int | None,
        retry_for: float,
    ) -> SubscriptionCore: ...
    def consumer(
        self,
        topic: str,
        start: str,
        start_number: int,
        end_offset: int | None,
        bytes_max: int,
        wait: float,
        retry_for: float,
        wait_for_topic: bool,
        partitions: list[int],
        starts: list[tuple[int, int]],
        ends: list[tuple[int, int]],
        membership: tuple[str, str | None, float | None, float, float] | None,
    ) -> ConsumerCore: ...

def build_batch(
    records: Iterable[Buffer | str], codec: str, created_us: int, producer_id: int, sequence: int, is_slice: bool
) -> bytes: ...
def parse_batch(
    data: Buffer,
    position: int,
    first_offset: int,
    batch_bytes_max: int,
    records_max: int,
    raw_bytes_max: int,
    partition: int = 0,
    topic: str = "",
) -> tuple[Batch, int]: ...
def _after_fork() -> None: ...
def _before_exit() -> None: ...

@final
class Address:
    """An IPv4 or IPv6 address. Equal, ordered and hashed by its 16 bytes."""

    def __new__(cls, address: str | bytes | IPv4Address | IPv6Address) -> Self: ...
    @property
    def packed(self) -> bytes:
        """The 16 bytes; an IPv4 address is mapped into IPv6."""
    @property
    def ip(self) -> IPv4Address | IPv6Address:
        """The same address as an object of the standard library."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: Address, /) -> bool: ...
    def __le__(self, value: Address, /) -> bool: ...
    def __gt__(self, value: Address, /) -> bool: ...
    def __ge__(self, value: Address, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Subnet:
    """A network: an address and the length of its prefix."""

    def __new__(cls, subnet: str | bytes | IPv4Network | IPv6Network) -> Self: ...
    @property
    def packed(self) -> bytes:
        """The format's 17 bytes."""
    @property
    def address(self) -> Address:
        """The network's address."""
    @property
    def length(self) -> int | None:
        """The prefix's length in the address' family; `None` if the bytes have an impossible length."""
    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The same network as an object of the standard library."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: Subnet, /) -> bool: ...
    def __le__(self, value: Subnet, /) -> bool: ...
    def __gt__(self, value: Subnet, /) -> bool: ...
    def __ge__(self, value: Subnet, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Port:
    """A port number with its protocol, such as `Port("53/udp")` or `Port(53, "udp")`."""

    def __new__(cls, port: int | str, protocol: str | None = None) -> Self: ...
    @property
    def number(self) -> int:
        """The number."""
    @property
    def protocol(self) -> str:
        """`tcp`, `udp`, `icmp`, or `?` if it is unknown."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: Port, /) -> bool: ...
    def __le__(self, value: Port, /) -> bool: ...
    def __gt__(self, value: Port, /) -> bool: ...
    def __ge__(self, value: Port, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Timestamp:
    """A point in time, in nanoseconds since 1970. Created from that number, or from text in RFC 3339."""

    def __new__(cls, time: int | str) -> Self: ...
    @property
    def ns(self) -> int:
        """Nanoseconds since 1970-01-01T00:00:00Z."""
    def datetime(self) -> datetime:
        """The same time as a UTC datetime, truncated to microseconds."""
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: Timestamp, /) -> bool: ...
    def __le__(self, value: Timestamp, /) -> bool: ...
    def __gt__(self, value: Timestamp, /) -> bool: ...
    def __ge__(self, value: Timestamp, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Timespan:
    """A duration in nanoseconds. Created from that number, or from text such as `1500ms`."""

    def __new__(cls, span: int | str) -> Self: ...
    @property
    def ns(self) -> int:
        """Nanoseconds."""
    def timedelta(self) -> timedelta:
        """The same duration as a timedelta, truncated to microseconds."""
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: Timespan, /) -> bool: ...
    def __le__(self, value: Timespan, /) -> bool: ...
    def __gt__(self, value: Timespan, /) -> bool: ...
    def __ge__(self, value: Timespan, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class View:
    """A view of a value in its bytes, which are checked once and not copied. Parts are views too, in the bytes' order.

    `view["key"]` and `view.get("key")` look up a key of a table; `view[0]` is an element of a vector. Raises
    `ValueFormatError` if the bytes aren't a value.
    """

    def __new__(cls, data: Buffer) -> Self: ...
    @property
    def kind(self) -> str:
        """`none`, `boolean`, `count`, `integer`, `real`, `string`, `address`, …: the names in docs/values.md."""
    @property
    def data(self) -> memoryview:
        """The bytes of this value alone, which are a complete value."""
    def to_python(self, exact: bool = False) -> Any:
        """The object, as returned by `decode`."""
    def to_json(self, typed: bool = False) -> str:
        """The JSON, as returned by the function `to_json`."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> View: ...
    def __contains__(self, key: Any, /) -> bool: ...
    def __iter__(self) -> Iterator[View]: ...
    def get(self, key: Any) -> View | None:
        """The value of a table's key; `None` if there is no such key."""
    def items(self) -> list[tuple[View, View]]:
        """A table's keys and values."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...

@final
class Instances:
    def __new__(
        cls,
        class_: type[Any],
        is_tuple: bool,
        names: list[str],
        defaults: list[Any],
        inner: list[tuple[Instances, bool] | None],
        is_sorted: bool,
    ) -> Self: ...

@final
class RecordCore:
    def __new__(
        cls,
        fields: list[tuple[str, str]],
        form: str,
        order: str,
        of_class: type[tuple[Any, ...]] | None,
        kept: list[str],
        read_as: Instances | None,
    ) -> Self: ...
    @property
    def encode(self) -> Callable[[Any], bytes]:
        """A function that encodes a dict or an instance."""
    @property
    def decode(self) -> Callable[[Buffer], Any]:
        """A function that decodes a dict or an instance."""

def encode(value: Any, /) -> bytes:
    """Encodes an object as the bytes of a value; `rawline.value` has the types. Tables and sets are sorted."""

def decode(data: Buffer, exact: bool = False) -> Any:
    """Decodes a value's bytes to an object. With `exact`, integers become `Integer` and so keep their type."""

def check(data: Buffer) -> None:
    """Raises `ValueFormatError` unless the bytes are exactly one value."""

def field(*path: str | int) -> Callable[[Buffer], Any]:
    """Returns a function from a value's bytes to one field: `field("query")`, `field("id", "orig_h")`, `field(3)`.

    The function skips the fields before that one and doesn't read those after it. Its time doesn't depend on later
    fields, and damage in them isn't noticed. It returns `None` if the field doesn't exist.
    """

def to_json(data: Buffer, typed: bool = False) -> str:
    """A value's bytes as JSON: human-readable, or with `typed` as JSON that preserves types."""

def from_json(text: str | Buffer, typed: bool = False) -> bytes:
    """Encodes the value of a JSON text."""

@final
class Schema:
    """An Avro schema, from its JSON. Schemas are equal if they read alike, logical types and aliases included."""

    def __new__(cls, json: str) -> Self: ...
    @property
    def json(self) -> str:
        """The schema's JSON, unchanged."""
    @property
    def canonical(self) -> str:
        """Its parsing canonical form."""
    @property
    def fingerprint(self) -> int:
        """CRC-64-AVRO of the canonical form."""
    def __hash__(self) -> int: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...

@final
class Table:
    """Columns: `polars.DataFrame(table)`, `pyarrow.table(table)` and DuckDB read them without a copy."""

    def __len__(self) -> int:
        """Number of rows."""
    @property
    def column_names(self) -> list[str]:
        """The columns' names."""
    @property
    def faulty(self) -> int:
        """Number of messages skipped because their bytes are invalid."""
    @property
    def dropped(self) -> int:
        """Number of messages skipped because the table of strings or series is full."""
    @property
    def faults(self) -> list[str]:
        """The first few skipped messages, each with its error."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns, as one or more batches."""
    def __arrow_c_schema__(self) -> object:
        """The columns' types."""

@final
class AvroDecoder:
    def __new__(
        cls,
        writer: Schema,
        reader: Schema | None,
        framing: str,
        strings: Literal["utf8", "view", "dictionary"],
        strings_max: int,
        strings_bytes_max: int,
    ) -> Self: ...
    def decode(self, messages: Iterable[Buffer] | Any, skip: bool) -> Table: ...
    def to_json(self, message: Buffer) -> str: ...

@final
class AvroEncoder:
    def __new__(cls, schema: Schema, framing: str) -> Self: ...
    def encode(self, value: Any) -> bytes: ...
    def encode_json(self, json: str) -> bytes: ...
    def encode_table(self, table: Any) -> list[bytes]: ...

@final
class MeasurementCore:
    def __new__(cls, framing: str, series_max: int) -> Self: ...
    def add_schema(self, schema: Schema, number: int | None) -> None: ...
    def decode(self, messages: Iterable[Buffer] | Any, skip: bool) -> Table: ...
    def series(self, since: int) -> Table: ...
    @property
    def series_count(self) -> int: ...
