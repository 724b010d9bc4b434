"""The client, producer and consumer for asyncio: blocking calls become awaitable."""

import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from types import TracebackType

from rawline._rawline import (
    Batch,
    Batches,
    ConsumerCore,
    Message,
    ProducerCore,
    Receipt,
    RecordSource,
    SubscriptionCore,
)
from rawline.batch import Codec
from rawline.client import (
    Appended,
    CleanupPolicy,
    Payload,
    TopicInfo,
    Trimmed,
    consumer_core,
    core,
    membership_of,
    time_us,
    topic_info,
)
from rawline.consumer import Deadline, Place, Start, Taking, state_of
from rawline.errors import RawlineError
from rawline.group import GroupInfo, GroupSummary, group_info
from rawline.producer import fields_of, warn_of_loss
from rawline.subscription import Event, Slow, event_of, selectors_of, subscription_core
from rawline.types import BytesLike, Headers, Records


class AsyncClient:
    """Like `rawline.Client`, with the same settings."""

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
        return f"<rawline.AsyncClient of {self._core.broker}>"

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Does nothing: connections close when the client, its producers and its consumers are dropped."""

    async def health(self) -> None:
        """Returns if the broker responds and is healthy."""
        await self._core.health(True)

    async def topic(self, topic: str) -> TopicInfo:
        """One topic. Raises `RefusedError` with the code `topic_not_found` if it doesn't exist."""
        return topic_info(await self._core.topic(True, topic))

    async def topics(self) -> list[TopicInfo]:
        """All topics, by name."""
        return [topic_info(topic) for topic in await self._core.topics(True)]

    async def create_topic(
        self,
        topic: str,
        *,
        payload: Payload = "bytes",
        retain_hours: float | None = None,
        retain_bytes: int | None = None,
        partitions: int = 1,
        cleanup_policy: CleanupPolicy = "delete",
    ) -> TopicInfo:
        """Creates a topic; see `Client.create_topic`."""
        settings = (payload, retain_hours, retain_bytes, partitions, cleanup_policy)
        return topic_info(await self._core.create_topic(True, topic, *settings))

    async def delete_topic(self, topic: str) -> None:
        """Deletes a topic with all its records, permanently; see `Client.delete_topic`."""
        await self._core.delete_topic(True, topic)

    async def groups(self) -> list[GroupSummary]:
        """All groups of consumers, by name."""
        return [GroupSummary(*group) for group in await self._core.groups(True)]

    async def group(self, group: str) -> GroupInfo:
        """A group's members and offsets; see `Client.group`."""
        return group_info(await self._core.group(True, group))

    async def set_group_offsets(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Sets the offsets of a group without members in partitions of a topic; see `Client.set_group_offsets`."""
        await self._core.set_group_offsets(True, group, topic, list(offsets.items()))

    async def delete_group(self, group: str) -> None:
        """Deletes all offsets of a group that has no members."""
        await self._core.delete_group(True, group)

    async def set_payload(self, topic: str, payload: Payload) -> TopicInfo:
        """Sets the type of a topic's records, for programs that show them. Creates the topic if that is allowed."""
        return topic_info(await self._core.set_payload(True, topic, payload))

    async def set_retention(
        self, topic: str, *, retain_hours: float | None = None, retain_bytes: int | None = None
    ) -> TopicInfo:
        """Sets both retention limits of a topic; see `Client.set_retention`."""
        return topic_info(await self._core.set_retention(True, topic, retain_hours, retain_bytes))

    async def set_cleanup_policy(self, topic: str, policy: CleanupPolicy) -> TopicInfo:
        """Sets what becomes of old records; see `Client.set_cleanup_policy`."""
        return topic_info(await self._core.set_cleanup_policy(True, topic, policy))

    async def set_partitions(self, topic: str, partitions: int) -> TopicInfo:
        """Sets the number of partitions, which can only grow; see `Client.set_partitions`."""
        return topic_info(await self._core.set_partitions(True, topic, partitions))

    async def trim(self, topic: str, before: int, *, partition: int = 0) -> Trimmed:
        """Permanently deletes the records of a partition before an offset; see `Client.trim`."""
        return Trimmed(*await self._core.trim(True, topic, before, partition))

    async def offset_at(self, topic: str, moment: datetime, *, partition: int = 0) -> int:
        """Offset of a partition's first record appended at or after a time, otherwise the partition's next offset."""
        return int(await self._core.offset_at(True, topic, time_us(moment), partition))

    async def append(
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
        """Appends records as one batch; see `Client.append`."""
        now_us, fields = time.time_ns() // 1000, fields_of(records, key, headers, timestamp)
        return Appended(*await self._core.append(True, topic, records, codec, now_us, partition, fields))

    async def append_records(self, topic: str, sizes: BytesLike, data: BytesLike, *, partition: int = 0) -> Appended:
        """Appends concatenated records; see `Client.append_records`."""
        return Appended(*await self._core.append_records(True, topic, sizes, data, partition))

    async def append_batches(self, topic: str, batches: BytesLike, *, partition: int = 0) -> Appended:
        """Appends whole batches unchanged; see `Client.append_batches`."""
        return Appended(*await self._core.append_batches(True, topic, batches, partition))

    async def read(
        self,
        topic: str,
        offset: int,
        *,
        records_max: int = 0,
        bytes_max: int = 0,
        wait: float = 0.0,
        partition: int = 0,
    ) -> Batches:
        """Reads available records of a partition from `offset` on; see `Client.read`."""
        batches: Batches = await self._core.read(True, topic, offset, records_max, bytes_max, wait, partition)
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
    ) -> "AsyncProducer":
        """A producer for a topic; see `Client.producer`.

        A producer with a `name` takes over when its `async with` block begins, or when `ready` has returned.
        """
        return AsyncProducer(
            self._core.producer(
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
        )

    def consumer(
        self,
        topic: str,
        start: Start = "earliest",
        *,
        partitions: Iterable[int] | None = None,
        end: int | Mapping[int, int] | TopicInfo | None = None,
        bytes_max: int = 4 << 20,
        wait: float = 20.0,
        retry_for: float = 30.0,
        wait_for_topic: bool = False,
        group: str | None = None,
        instance: str | None = None,
        commit_interval: float | None = 5.0,
        session: float = 30.0,
        poll_interval_max: float = 300.0,
    ) -> "AsyncConsumer":
        """A consumer of a topic; see `Client.consumer`."""
        membership = membership_of(group, instance, commit_interval, session, poll_interval_max)
        return AsyncConsumer(
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
    ) -> "AsyncSubscription":
        """A subscription of topics; see `Client.subscribe`.

        It begins when its `async with` block begins, when `ready` has returned, or with the first wait.
        """
        return AsyncSubscription(
            subscription_core(self._core, topics, prefixes, start, partition, cursor, where, slow, max_lag, retry_for)
        )


class AsyncProducer:
    """Like `rawline.Producer`. For timeouts, use `asyncio.timeout` or `asyncio.wait_for`.

    Tasks that wait for room in the buffer continue in any order. A cancelled `send` may have buffered its record. After
    a cancelled `close`, sending continues, and `close` can be called again.
    """

    def __init__(self, core: ProducerCore) -> None:
        self._core = core

    async def __aenter__(self) -> "AsyncProducer":
        try:
            await self.ready()
        except BaseException:
            self._core.abandon()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
        else:
            self._core.abandon()

    def __del__(self) -> None:
        warn_of_loss(self, self._core)

    async def ready(self) -> None:
        """Returns when a producer with a name has taken over; at once without a name."""
        await self._core.ready(True)

    def __repr__(self) -> str:
        return f"<rawline.AsyncProducer of {self._core.topic!r}{', closed' if self._core.closed else ''}>"

    async def send(
        self,
        record: BytesLike | str | None,
        *,
        key: BytesLike | str | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        partition_key: BytesLike | str | None = None,
    ) -> Receipt:
        """Buffers a record; waits while the buffer is full. `await receipt` returns its offset once it is stored.

        `receipt.partition()` returns the partition then. See `Producer.send`.
        """
        fields = None
        if key is not None or headers is not None or timestamp is not None or record is None:
            fields = fields_of(record, key, headers, timestamp)
        receipt = self._core.try_send(record, partition_key, partition, fields)
        if receipt is None:
            receipt = await self._core.send_async(record, partition_key, partition, fields)
        return receipt

    async def send_many(
        self,
        records: Records,
        *,
        key: BytesLike | str | None = None,
        headers: Headers | None = None,
        timestamp: int | datetime | None = None,
        partition: int | None = None,
        partition_key: BytesLike | str | None = None,
    ) -> Receipt | None:
        """Buffers records like `Producer.send_many`; other tasks run after each thousand of them."""
        source, last = RecordSource(records), None
        fields = fields_of(records, key, headers, timestamp)
        while (sent := self._core.send_chunk_async(source, partition_key, partition, fields)) is not None:
            last = await sent
        return last

    async def flush(self) -> None:
        """Returns when every record sent so far is stored."""
        await self._core.flush(True)

    async def close(self) -> None:
        """Accepts no more records, waits until the accepted ones are stored, and stops. Further calls do nothing."""
        await self._core.close(True)


class AsyncConsumer:
    """Like `rawline.Consumer`, for `async for`. A cancelled call loses nothing: the next call returns its batches."""

    def __init__(self, core: ConsumerCore) -> None:
        self._core = core

    async def __aenter__(self) -> "AsyncConsumer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or self._core.group is None:
            await self.close()
            return
        # The records returned last may not be processed. If leaving fails as well, the first error matters.
        with suppress(RawlineError):
            await self._core.leave(True, False)

    async def __aiter__(self) -> AsyncIterator[Batch]:
        while True:
            while (batch := self._core.take_one()) is None:
                if not await self._core.fetch(True):
                    return
            yield batch

    def __repr__(self) -> str:
        return f"<rawline.AsyncConsumer of {self._core.topic!r}{state_of(self._core)}>"

    async def records(self) -> AsyncIterator[memoryview]:
        """The records one by one; see `Consumer.records`."""
        while True:
            while (records := self._core.take_records(False)) is None:
                if not await self._core.fetch(True):
                    return
            for record in records:
                yield record

    async def messages(self) -> AsyncIterator[Message]:
        """The records one by one with their keys, headers and times; see `Consumer.messages`."""
        while True:
            while (messages := self._core.take_records(True)) is None:
                if not await self._core.fetch(True):
                    return
            for message in messages:
                yield message

    async def poll(self, timeout: float | None = None) -> Batches | None:
        """The next records; `None` at `end`, or if none is received within `timeout` seconds."""
        return await self._poll(Deadline(timeout), False)

    async def _poll(self, deadline: Deadline, collects: bool) -> Batches | None:
        while (batches := self._core.take()) is None:
            if not await self._core.fetch(True, deadline.left(), collects):
                return None
        return batches

    async def take(self, records: int, timeout: float | None = None) -> Batches:
        """This number of records; fewer at `end` or after `timeout` seconds. See `Consumer.take`."""
        taking = Taking(self._core, records)
        deadline = Deadline(timeout)
        with taking:
            while taking.lacks > 0 and (received := await self._poll(deadline, taking.has_records)) is not None:
                taking.add(received)
        return taking.taken()

    @property
    def ended(self) -> bool:
        """Whether everything before `end` was returned."""
        return self._core.ended

    async def commit(self) -> None:
        """Commits the offsets after everything that was returned; see `Consumer.commit`."""
        await self._core.commit(True)

    async def close(self) -> None:
        """Ends the read in flight. A task that waits for it sees the end of the topic; later calls raise.

        A member of a group commits and leaves the group; see `Consumer.close`.
        """
        if self._core.group is None:
            self._core.close()
        else:
            await self._core.leave(True, True)


class AsyncSubscription:
    """Like `rawline.Subscription`, for `async for`. A cancelled call loses nothing."""

    def __init__(self, core: SubscriptionCore) -> None:
        self._core = core

    async def __aenter__(self) -> "AsyncSubscription":
        await self.ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def ready(self) -> None:
        """Returns when the broker has accepted the subscription: later appends are received."""
        await self._core.open(True)

    async def __aiter__(self) -> AsyncIterator[Batch]:
        while True:
            while (batch := self._core.take_batch()) is None:
                if not await self._core.fetch(True):
                    return
            yield batch

    def __repr__(self) -> str:
        return f"<rawline.AsyncSubscription of {selectors_of(self._core)}>"

    async def events(self) -> AsyncIterator[Event]:
        """Batches, and between them skipped records and deleted topics; see `Subscription.events`."""
        while True:
            while (taken := self._core.take()) is None:
                if not await self._core.fetch(True):
                    return
            yield event_of(taken)

    async def records(self) -> AsyncIterator[memoryview]:
        """The records one by one; see `Subscription.records`."""
        while True:
            while (records := self._core.take_records(False)) is None:
                if not await self._core.fetch(True):
                    return
            for record in records:
                yield record

    async def messages(self) -> AsyncIterator[Message]:
        """The records one by one with their topics, keys, headers and times; see `Subscription.messages`."""
        while True:
            while (messages := self._core.take_records(True)) is None:
                if not await self._core.fetch(True):
                    return
            for message in messages:
                yield message

    async def poll(self, timeout: float | None = None) -> Event | None:
        """The next event; `None` if nothing is received within `timeout` seconds."""
        deadline = Deadline(timeout)
        while (taken := self._core.take()) is None:
            if not await self._core.fetch(True, deadline.left()):
                return None
        return event_of(taken)

    @property
    def cursor(self) -> str:
        """The position after everything that was returned; see `Subscription.cursor`. Empty before it begins."""
        return self._core.cursor or ""

    @property
    def skipped(self) -> int:
        """Number of records that were skipped so far."""
        return self._core.skipped

    def close(self) -> None:
        """Closes the connection. A task that waits for records sees the end; later calls raise."""
        self._core.close()


__all__ = ["AsyncClient", "AsyncConsumer", "AsyncProducer", "AsyncSubscription"]
