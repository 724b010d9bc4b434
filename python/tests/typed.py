"""Types of the public API for mypy, checked but never run: an unused `type: ignore` is an error."""

from collections.abc import Iterator

import polars
from typing_extensions import assert_type

import rawline
from rawline import avro, measurement


def synchronous(client: rawline.Client) -> None:
    with client.producer("t") as producer:
        assert_type(producer.send(bytearray(b"x")), rawline.Receipt)
        assert_type(producer.send_many(polars.Series(["a"])), rawline.Receipt | None)
        producer.send({"a": 1})  # type: ignore[arg-type]
        producer.send_many([1, 2])  # type: ignore[list-item]
        producer.send_many(b"one record")  # type: ignore[arg-type]
        assert_type(producer.send("x").offset(timeout=1), int)
        assert_type(producer.send("x", key=b"user").partition(), int)
        producer.send_many(["x"], partition=3)
        producer.send("x", partition="3")  # type: ignore[arg-type]
        producer.send(None, key="k", headers={"a": b"1", "b": None}, timestamp=1)
        producer.send(b"x", headers=[("a", "1"), ("a", None)], partition_key=b"k")
        producer.send(b"x", headers=["a"])  # type: ignore[list-item]
    consumer = client.consumer("t", "latest")
    assert_type(consumer.records(), Iterator[memoryview])
    assert_type(consumer.messages(), Iterator[rawline.Message])
    assert_type(consumer.poll(), rawline.Batches | None)
    client.consumer("t", {0: 10, 3: 7}, partitions=[0, 3], end=client.topic("t"))
    assert_type(client.topic("t").offsets, tuple[rawline.Extent, ...])
    batches = consumer.take(10)
    assert_type(batches.batches[0].partition, int)
    assert_type(batches.batches, tuple[rawline.Batch, ...])
    assert_type(batches[0], memoryview)
    assert_type(batches[:1], rawline.Batches)
    assert_type(list(batches), list[memoryview])
    assert_type(batches.messages(), Iterator[rawline.Message])
    assert_type(batches.batches[0][0], memoryview)
    assert_type(batches.batches[0][1:], rawline.Batch)
    assert_type([record for batch in consumer for record in batch], list[memoryview])
    codec = batches.batches[0].codec
    if codec != "gzip" and codec != "snappy":
        client.append("t", batches.batches[0], codec=codec)
    client.append("t", batches)
    client.append("t", ["x"], codec="gzip")  # type: ignore[arg-type]
    client.consumer("t", "newest")  # type: ignore[arg-type]
    assert_type(client.create_topic("t", cleanup_policy="compact,delete"), rawline.TopicInfo)
    client.set_cleanup_policy("t", "none")  # type: ignore[arg-type]
    assert_type(measurement.Reader().decode(batches), avro.Table)
    avro.Encoder(measurement.SCHEMA).encode_table([1])  # type: ignore[arg-type]

    with client.subscribe("t", prefixes=["a."], where="id.resp_p=53/udp", slow="skip", max_lag=10) as subscription:
        assert_type(subscription.poll(), rawline.Batch | rawline.Skipped | rawline.Deleted | None)
        assert_type(subscription.records(), Iterator[memoryview])
        assert_type(subscription.messages(), Iterator[rawline.Message])
        assert_type([batch.topic for batch in subscription], list[str])
        assert_type(subscription.cursor, str)
    client.subscribe("t", slow="fast")  # type: ignore[arg-type]


async def asynchronous(client: rawline.AsyncClient) -> None:
    async with client.producer("t") as producer:
        receipt = await producer.send(memoryview(b"x"))
        assert_type(await receipt, int)
        assert_type(await producer.send_many(["a", b"b"]), rawline.Receipt | None)
    async with client.consumer("t") as consumer:
        assert_type([record async for record in consumer.records()], list[memoryview])
        async for batch in consumer:
            assert_type(batch, rawline.Batch)
    async with client.subscribe("t") as subscription:
        assert_type([record async for record in subscription.records()], list[memoryview])
        assert_type(await subscription.poll(1), rawline.Batch | rawline.Skipped | rawline.Deleted | None)
