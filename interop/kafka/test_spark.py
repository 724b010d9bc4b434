"""Spark Structured Streaming: a query from topic to topic that is killed and continues from its checkpoint."""

from collections.abc import Callable
from pathlib import Path

from brokers import Broker
from engines import Engine, is_documented, rawline, records_count, values

PROGRAM = "io.rawline.interop.Copy"
PARTITIONS = 4
RECORDS = [f"event {number}" for number in range(3000)]


def test_a_query_that_was_killed_continues(
    start_engine: Callable[..., Engine], lasting_broker: Broker, tmp_path: Path
) -> None:
    rawline(lasting_broker, "topic", "create", "copies", "--partitions", "2")
    rawline(lasting_broker, "topic", "create", "events", "--partitions", str(PARTITIONS))
    rawline(lasting_broker, "produce", "events", text="".join(f"{record}\n" for record in RECORDS))

    def start(trigger: str) -> Engine:
        return start_engine("spark", PROGRAM, lasting_broker.kafka, tmp_path / "checkpoint", trigger)

    query = start("always")
    query.wait_until(lambda: records_count(lasting_broker, "copies") >= 1000)
    query.kill()
    assert records_count(lasting_broker, "copies") < len(RECORDS)
    start("now").check()
    found = values(lasting_broker, "copies", 2)
    assert set(found) == set(RECORDS)
    # It doesn't begin anew: only the batch that it was writing is there again.
    assert len(RECORDS) <= len(found) <= len(RECORDS) + 500


def test_the_documented_query_is_this_one() -> None:
    assert is_documented("spark", PROGRAM)
