"""A client of one broker and its single requests: append, read, list topics."""

import os
import time
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, Literal, NamedTuple

from rawline._rawline import Batches, ClientCore, ConsumerCore
from rawline.batch import Codec
from rawline.consumer import Consumer, Place, Start, start_of
from rawline.errors import ConfigError
from rawline.group import GroupInfo, GroupSummary, Membership, group_info
from rawline.producer import Producer, fields_of
from rawline.subscription import Slow, Subscription, subscription_core
from rawline.types import BytesLike, Headers, Records

BROKER = "http://127.0.0.1:51313"
"""The address that a broker listens on by default."""

Payload = Literal["bytes", "value"]
CleanupPolicy = Literal["delete", "compact", "compact,delete"]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Appended(NamedTuple):
    """Offsets of appended records: from `first_offset` to before `next_offset`."""

    first_offset: int
    next_offset: int


class Trimmed(NamedTuple):
    """Extent of a partition after old records were deleted."""

    first_offset: int
    """Offset of the oldest record."""
    next_offset: int
    """Offset that the next record gets."""


class Extent(NamedTuple):
    """The offsets of a partition's records."""

    first_offset: int
    """Offset of the oldest record."""
    next_offset: int
    """Offset that the next record gets."""

    @property
    def records(self) -> int:
        """Number of retained records."""
        return self.next_offset - self.first_offset


class TopicInfo(NamedTuple):
    """A topic as the broker describes it."""

    name: str
    first_offset: int
    """Offset of the oldest retained record of partition 0."""
    next_offset: int
    """Offset that the next record of partition 0 gets."""
    bytes: int
    """Total size of the stored objects."""
    objects: int
    """Number of stored objects."""
    latest_commit_at: datetime | None
    """Time at which the newest records were committed, by the broker's clock."""
    payload: str
    """The type of the records, for programs that show them."""
    retain_hours: float | None
    """Age in hours at which records are deleted; `None` keeps records of any age."""
    retain_bytes: int | None
    """Size of a partition's objects from which on its oldest are deleted; `None` keeps any amount."""
    partitions: int = 1
    """Number of partitions."""
    offsets: tuple[Extent, ...] = ()
    """The extent of each partition, by number; in a list of topics only if there is one partition."""
    cleanup_policy: str = "delete"
    """Cleanup of old records: `delete`, `compact` or `compact,delete`."""

    @property
    def records(self) -> int:
        """Number of retained records; in a list of topics, if there are several partitions, of partition 0."""
        if not self.offsets:
            return self.next_offset - self.first_offset
        return sum(extent.records for extent in self.offsets)


def topic_info(topic: tuple[Any, ...]) -> TopicInfo:
    """Converts the native half's description of a topic."""
    *_, committed_ns, payload, retain_hours, retain_bytes, partitions, offsets, cleanup_policy = topic
    name, first_offset, next_offset, length, objects = topic[:5]
    committed = None if committed_ns is None else EPOCH + timedelta(microseconds=committed_ns // 1000)
    return TopicInfo(
        name,
        first_offset,
        next_offset,
        length,
        objects,
        committed,
        payload,
        retain_hours,
        retain_bytes,
        partitions,
        tuple(Extent(*extent) for extent in offsets),
        cleanup_policy,
    )


def is_time(moment: object) -> bool:
    """Whether it is a datetime or numpy's datetime64, which is in UTC."""
    return isinstance(moment, datetime) or type(moment).__name__ == "datetime64"


def time_us(moment: Any) -> int:
    """Microseconds since 1970 of a time with a zone; 0 for earlier times, since no record is older."""
    if type(moment).__name__ == "datetime64":
        return max(0, int(moment.astype("datetime64[us]").astype("int64")))
    if not isinstance(moment, datetime):
        raise TypeError(f"{moment!r} is not a time; give a datetime such as datetime.now(timezone.utc)")
    if moment.tzinfo is None:
        raise ConfigError("a time without a zone; give one such as datetime.now(timezone.utc)", "fix_request")
    return max(0, (moment - EPOCH) // timedelta(microseconds=1))


def consumer_core(
    core: ClientCore,
    topic: str,
    start: Start,
    partitions: Iterable[int] | None,
    end: int | Mapping[int, int] | TopicInfo | None,
    bytes_max: int,
    wait: float,
    retry_for: float,
    wait_for_topic: bool,
    membership: Membership | None,
) -> ConsumerCore:
    """Creates the native half of a consumer."""
    if membership is not None and (partitions is not None or end is not None or isinstance(start, Mapping)):
        raise ConfigError(
            "a member of a group gets its partitions from the group; leave out partitions, end and the offsets of "
            "single partitions",
            "fix_request",
        )
    numbers = [] if partitions is None else list(partitions)
    if partitions is not None and not numbers:
        raise ConfigError("partitions is empty; name those to read, or leave it out to read all", "fix_request")
    starts = dict(start) if isinstance(start, Mapping) else {}
    ends = dict(end) if isinstance(end, Mapping) else {}
    if isinstance(end, TopicInfo):
        if not end.offsets:
            raise ConfigError("the end has no partitions' offsets; give the result of client.topic()", "fix_request")
        ends = {number: extent.next_offset for number, extent in enumerate(end.offsets)}
        # Not partitions that are added later.
        numbers = numbers or list(ends)
    return core.consumer(
        topic,
        *start_of("earliest" if isinstance(start, Mapping) else start),
        None if isinstance(end, (Mapping, TopicInfo)) else end,
        bytes_max,
        wait,
        retry_for,
        wait_for_topic,
        numbers,
        list(starts.items()),
        list(ends.items()),
        membership,
    )


def membership_of(
    group: str | None,
    instance: str | None,
    commit_interval: float | None,
    session: float,
    poll_interval_max: float,
) -> Membership | None:
    """The group membership of a consumer."""
    if group is not None:
        return Membership(group, instance, commit_interval, session, poll_interval_max)
    if instance is not None:
        raise ConfigError("an instance is a member of a group; name the group: group=NAME", "fix_request")
    return None


def core(
    broker: str | None,
    api_key: str | None,
    zone: str | None,
    files: tuple[str | os.PathLike[str] | None, ...],
    connect_timeout: float,
    request_timeout: float,
    retry_for: float,
) -> ClientCore:
    """Creates the native client from these settings and the environment."""
    broker = broker or os.environ.get("RAWLINE_BROKER") or BROKER
    api_key = api_key if api_key is not None else os.environ.get("RAWLINE_API_KEY") or None
    zone = zone if zone is not None else os.environ.get("RAWLINE_ZONE") or None
    names = ("RAWLINE_CA", "RAWLINE_CLIENT_CERT", "RAWLINE_CLIENT_KEY")
    given = [
        file if file is not None else os.environ.get(name) or None for file, name in zip(files, names, strict=True)
    ]
    ca_file, certificate_file, key_file = given
    return ClientCore(
        broker, api_key, zone, ca_file, certificate_file, key_file, connect_timeout, request_timeout, retry_for
    )


class Client:
    """Sends requests to one broker. Cheap to keep and safe to share between threads; connects on the first request.

    - `broker`: its address, `https` for TLS; by default the value of `RAWLINE_BROKER`, otherwise
      `http://127.0.0.1:51313`
    - `api_key`: the broker's API key; by default the value of `RAWLINE_API_KEY`
    - `zone`: the zone that this program runs in: reads and subscriptions go to a broker there while one lives; by
      default the value of `RAWLINE_ZONE`
    - `ca_file`: certificates of authorities in PEM to trust for `https` instead of the system's; by default the value
      of `RAWLINE_CA`
    - `certificate_file`, `key_file`: the client's certificate and its private key in PEM, for a broker that asks for
      one; by default the values of `RAWLINE_CLIENT_CERT` and `RAWLINE_CLIENT_KEY`
    - `connect_timeout`, `request_timeout`: seconds for a connection, and for a request (not counting a read's `wait`)
    - `retry_for`: seconds that failed lookups and reads are retried; appends are not retried

    Waiting releases the GIL and ends with Ctrl-C. After a fork, create a new client in the child.
    """

    def __init__(
        self,
        broker: str | None = None,
        *,
        api_key: str | None = None,
        zone: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        certificate_file: str | os.PathLike[str] | None = None,
        key_file: str | os.PathLike[str] | None = None,
        connect_timeout: float = 5.0,
        request_timeout: float = 30.0,
        retry_for: float = 30.0,
    ) -> None:
        files = (ca_file, certificate_file, key_file)
        self._core = core(broker, api_key, zone, files, connect_timeout, request_timeout, retry_for)

    def __repr__(self) -> str:
        return f"<rawline.Client of {self._core.broker}>"

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing: connections close when the client, its producers and its consumers are dropped."""

    def health(self) -> None:
        """Returns if the broker responds and is healthy."""
        self._core.health(False)

    def topic(self, topic: str) -> TopicInfo:
        """One topic. Raises `RefusedError` with the code `topic_not_found` if it doesn't exist."""
        return topic_info(self._core.topic(False, topic))

    def topics(self) -> list[TopicInfo]:
        """All topics, by name."""
        return [topic_info(topic) for topic in self._core.topics(False)]

    def create_topic(
        self,
        topic: str,
        *,
        payload: Payload = "bytes",
        retain_hours: float | None = None,
        retain_bytes: int | None = None,
        partitions: int = 1,
        cleanup_policy: CleanupPolicy = "delete",
    ) -> TopicInfo:
        """Creates a topic. Raises `RefusedError` with the code `topic_exists` if it exists.

        The settings are those of `set_payload`, `set_retention`, `set_partitions` and `set_cleanup_policy`.
        """
        settings = (payload, retain_hours, retain_bytes, partitions, cleanup_policy)
        return topic_info(self._core.create_topic(False, topic, *settings))

    def delete_topic(self, topic: str) -> None:
        """Deletes a topic with all its records, permanently.

        The deletion is durable when this returns. A topic that is created with the same name later begins at offset 0.
        Raises `RefusedError` with the code `topic_not_found` if the topic doesn't exist.
        """
        self._core.delete_topic(False, topic)

    def groups(self) -> list[GroupSummary]:
        """All groups of consumers, by name."""
        return [GroupSummary(*group) for group in self._core.groups(False)]

    def group(self, group: str) -> GroupInfo:
        """A group's members and offsets. Raises `RefusedError` with the code `group_not_found` if it has neither."""
        return group_info(self._core.group(False, group))

    def set_group_offsets(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Sets the offsets of a group without members in partitions of a topic.

        Raises `RefusedError` with the code `group_not_empty` if it has members.
        """
        self._core.set_group_offsets(False, group, topic, list(offsets.items()))

    def delete_group(self, group: str) -> None:
        """Deletes all offsets of a group that has no members."""
        self._core.delete_group(False, group)

    def set_payload(self, topic: str, payload: Payload) -> TopicInfo:
        """Sets the type of a topic's records, for programs that show them. Creates the topic if that is allowed."""
        return topic_info(self._core.set_payload(False, topic, payload))

    def set_retention(
        self, topic: str, *, retain_hours: float | None = None, retain_bytes: int | None = None
    ) -> TopicInfo:
        """Sets both retention limits of a topic: age and size of its records. `None` is no limit.

        The broker deletes whole commits, about once a minute, and always keeps the newest one.
        """
        return topic_info(self._core.set_retention(False, topic, retain_hours, retain_bytes))

    def set_cleanup_policy(self, topic: str, policy: CleanupPolicy) -> TopicInfo:
        """Sets what becomes of old records. Creates the topic if that is allowed.

        With `delete`, the limits of `set_retention` apply; with `compact`, the newest record of each key stays, and the
        limits don't apply; with `compact,delete`, both. A compacted topic refuses records without a key: `key_missing`.
        """
        return topic_info(self._core.set_cleanup_policy(False, topic, policy))

    def set_partitions(self, topic: str, partitions: int) -> TopicInfo:
        """Sets the number of partitions, 1 to 1024, which can only grow. Creates the topic if that is allowed.

        A key may then belong to another partition; producers learn of the new number within five minutes. Raises
        `RefusedError` with the code `partitions_fewer` if there are more.
        """
        return topic_info(self._core.set_partitions(False, topic, partitions))

    def trim(self, topic: str, before: int, *, partition: int = 0) -> Trimmed:
        """Permanently deletes the records of a partition before an offset. Offsets don't change.

        An offset below the partition's first one changes nothing; one above its next offset raises `RefusedError`.
        """
        return Trimmed(*self._core.trim(False, topic, before, partition))

    def offset_at(self, topic: str, moment: datetime, *, partition: int = 0) -> int:
        """Offset of a partition's first record appended at or after a time, otherwise the partition's next offset."""
        return int(self._core.offset_at(False, topic, time_us(moment), partition))

    def append(
        self,
        topic: str,
        records: Records,
        *,
        codec: Codec = "none",
        partition: int = 0,
        key: BytesLike | str | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
    ) -> Appended:
        """Appends records as one batch: bytes-like objects, or an Arrow array of bytes or text. Stores all or none.

        All get the same `key`, `headers` and `timestamp`, as with `Producer.send`; the key doesn't choose a partition.

        Never retried: after a `BrokenError` or `RequestTimeoutError` the records may be stored.
        """
        now_us, fields = time.time_ns() // 1000, fields_of(records, key, headers, timestamp)
        return Appended(*self._core.append(False, topic, records, codec, now_us, partition, fields))

    def append_records(self, topic: str, sizes: BytesLike, data: BytesLike, *, partition: int = 0) -> Appended:
        """Appends records concatenated in `data` as one batch, without copying them.

        `sizes` has the records' lengths in bytes as `array.array("I")` or numpy's uint32.
        """
        return Appended(*self._core.append_records(False, topic, sizes, data, partition))

    def append_batches(self, topic: str, batches: BytesLike, *, partition: int = 0) -> Appended:
        """Appends whole concatenated batches unchanged, such as `Batch.wire` from another topic: ours or Kafka's."""
        return Appended(*self._core.append_batches(False, topic, batches, partition))

    def read(
        self,
        topic: str,
        offset: int,
        *,
        records_max: int = 0,
        bytes_max: int = 0,
        wait: float = 0.0,
        partition: int = 0,
    ) -> Batches:
        """Reads records of a partition from `offset` on, up to the limits (0: the broker's).

        Waits up to `wait` seconds for the first record.

        Compressed batches and Kafka's may exceed `records_max`, since they are not split. Empty after a timeout.
        """
        batches: Batches = self._core.read(False, topic, offset, records_max, bytes_max, wait, partition)
        return batches

    def producer(
        self,
        topic: str,
        *,
        codec: Codec = "none",
        linger: float | None = None,
        batch_bytes: int = 1 << 20,
        batch_records_max: int = 1 << 20,
        buffer_bytes: int = 32 << 20,
        request_bytes_max: int = 8 << 20,
        in_flight_max: int = 1,
        retry_for: float = 30.0,
        exactly_once: bool = True,
        name: str | None = None,
    ) -> Producer:
        """A producer for a topic: collects records in batches and sends the batches of each partition in order.

        - `linger`: seconds that a batch waits to be filled; without it, a batch waits only while records arrive fast
          enough to fill it within 5 ms
        - `batch_bytes`, `batch_records_max`: size at which a batch is full
        - `buffer_bytes`: maximum bytes of buffered records of all partitions; `send` waits while the buffer is full
        - `request_bytes_max`: maximum size of a request in bytes
        - `in_flight_max`: maximum number of requests in flight to a partition; if it is more than 1, requests can be
          reordered
        - `retry_for`: seconds that a failing request is retried before the producer stops
        - `exactly_once`: whether batches are numbered, so that retries store no duplicates
        - `name`: the producer replaces the previous one with this name, even in another process: records that it
          had in flight are stored before the first record of this one, or never, and it raises `FencedError` from then
          on. Needs a storage with one journal; otherwise this raises `RefusedError`
        """
        core = self._core.producer(
            topic,
            batch_bytes,
            batch_records_max,
            linger,
            buffer_bytes,
            request_bytes_max,
            in_flight_max,
            codec,
            retry_for,
            exactly_once,
            name,
        )
        if name is not None:
            core.ready(False)
        return Producer(core)

    def consumer(
        self,
        topic: str,
        start: Start = "earliest",
        *,
        partitions: Iterable[int] | None = None,
        end: "int | Mapping[int, int] | TopicInfo | None" = None,
        bytes_max: int = 4 << 20,
        wait: float = 20.0,
        retry_for: float = 30.0,
        wait_for_topic: bool = False,
        group: str | None = None,
        instance: str | None = None,
        commit_interval: float | None = 5.0,
        session: float = 30.0,
        poll_interval_max: float = 300.0,
    ) -> Consumer:
        """A consumer of a topic, from `start` (`"earliest"`, `"latest"`, an offset, a time) to before `end`.

        - `start`: where to start in each partition; or a dict of partitions' offsets, the others start at the oldest
          record
        - `partitions`: which partitions to read; `None` reads all, those included that are added later
        - `end`: an offset for each partition, or a dict of partitions' offsets; a `TopicInfo` ends where the topic
          ended when it was described; `None` follows the topic forever
        - `bytes_max`: maximum size of a read in bytes; two reads are held at a time, which all partitions share
        - `wait`: seconds that the broker holds a read open when it has no record
        - `retry_for`: seconds that a failing read is retried
        - `wait_for_topic`: waits for a topic that doesn't exist yet; otherwise that is a `RefusedError` with the code
          `topic_not_found`. A consumer that has waited starts at the topic's first record, unless `start` is an offset
        - `group`: reads as a member of this group, whose members share the topic's partitions and commit how far they
          have come; `start` is for partitions where the group has committed nothing. The topic need not exist. The
          remaining settings are about members
        - `instance`: a name under which this member comes back to its partitions after a restart
        - `commit_interval`: seconds between commits of processed records: all that were returned before the last call;
          with `None`, only `Consumer.commit` commits
        - `session`: session timeout in seconds, after which other members get the partitions, 6 to 1800
        - `poll_interval_max`: seconds between two calls after which a member is assumed to hang, and leaves the group
          until the next call
        """
        membership = membership_of(group, instance, commit_interval, session, poll_interval_max)
        return Consumer(
            consumer_core(
                self._core, topic, start, partitions, end, bytes_max, wait, retry_for, wait_for_topic, membership
            )
        )

    def subscribe(
        self,
        *topics: str,
        prefixes: Iterable[str] = (),
        start: Place = "latest",
        partition: int | None = None,
        cursor: str | None = None,
        where: str | None = None,
        slow: Slow = "disconnect",
        max_lag: int | None = None,
        retry_for: float = 30.0,
    ) -> Subscription:
        """A subscription of topics: records appended after this returns are received as they are stored.

        Raises `RefusedError` with the code `topic_not_found` if a topic doesn't exist.

        - `topics`: names of topics
        - `prefixes`: all topics whose names begin with one of these, also those that are created later; `[""]` is every
          topic
        - `start`: the first record of each partition: `"latest"`, `"earliest"`, a time, or an offset of one partition
          of one topic
        - `partition`: only this partition of each topic
        - `cursor`: the cursor of an earlier subscription; takes precedence over `start`
        - `where`: only records with this field, of topics with structured values, such as `"id.resp_p=53/udp"`
        - `slow`: what happens when the subscription lags more than `max_lag` records in a partition: with
          `"disconnect"`, `RefusedError` with the code `subscriber_slow`; with `"skip"`, records are skipped
        - `max_lag`: by default none with `"disconnect"`, 65,536 with `"skip"`
        - `retry_for`: seconds that a broken connection is retried
        """
        core = subscription_core(
            self._core, topics, prefixes, start, partition, cursor, where, slow, max_lag, retry_for
        )
        core.open(False)
        return Subscription(core)


__all__ = ["Appended", "CleanupPolicy", "Client", "Extent", "Payload", "TopicInfo", "Trimmed"]
