"""Flink: a job from topic to topic that fails once."""

from collections.abc import Callable

import pytest
from brokers import Broker
from engines import Engine, is_documented, lag, rawline, records_count, values

PROGRAM = "io.rawline.interop.Copy"
PARTITIONS = 4
RECORDS = [f"event {number}" for number in range(20_000)]


@pytest.fixture
def broker(lasting_broker: Broker) -> Broker:
    """With the job's input, the same number of records in each partition."""
    rawline(lasting_broker, "topic", "create", "copies", "--partitions", "2")
    rawline(lasting_broker, "topic", "create", "events", "--partitions", str(PARTITIONS))
    for partition in range(PARTITIONS):
        lines = "".join(f"{record}\n" for record in RECORDS[partition::PARTITIONS])
        rawline(lasting_broker, "produce", "events", "--partition", str(partition), text=lines)
    return lasting_broker


def copies(start_engine: Callable[..., Engine], broker: Broker, guarantee: str) -> list[str]:
    """The job's output. The broker crashes meanwhile, before the job does."""
    each = len(RECORDS) // PARTITIONS
    job = start_engine("flink", PROGRAM, broker.kafka, guarantee, PARTITIONS, each)
    job.wait_until(lambda: records_count(broker, "copies") > 0)
    assert "fails after" not in job.said()
    broker.kill()
    broker.start()
    job.check()
    assert "fails after" in job.said()
    # Checkpoints commit offsets, too. Those of the last one are sent while the job ends, and may not arrive.
    assert lag(broker, "flink") < len(RECORDS)
    return values(broker, "copies", 2)


def test_every_record_is_copied_at_least_once(start_engine: Callable[..., Engine], broker: Broker) -> None:
    found = copies(start_engine, broker, "AT_LEAST_ONCE")
    assert set(found) == set(RECORDS)
    # The failure repeats those after the checkpoint, and the job doesn't begin anew.
    assert len(RECORDS) < len(found) < len(RECORDS) * 3 // 2


def test_every_record_is_copied_exactly_once(start_engine: Callable[..., Engine], broker: Broker) -> None:
    found = copies(start_engine, broker, "EXACTLY_ONCE")
    assert sorted(found) == sorted(RECORDS)


def test_the_documented_job_is_this_one() -> None:
    assert is_documented("flink", PROGRAM)
