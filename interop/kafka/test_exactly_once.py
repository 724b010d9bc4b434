"""Exactly once with real clients: a group copies numbers in transactions while brokers are killed.

By default twice, with some of the groups. RAWLINE_KILLS says how many times, with all of them.
"""

import json
import os
import signal
import subprocess
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from brokers import REPOSITORY, Broker, s3_server, s3_server_program, wait_until
from confluent_kafka import Producer
from conftest import free_port
from engines import java_command, rawline, values

IS_LONG = "RAWLINE_KILLS" in os.environ
KILLS = int(os.environ.get("RAWLINE_KILLS", "2"))
PARTITIONS = 6
WORKERS = 4
GROUP = "copiers"
# So many at least of each partition are copied between two kills.
STEP = 250
# So many are sent and not copied at most: there is always something to copy, a few records at a time.
AHEAD = 2_000
# A member is paused while the others copy so many of each partition after a broker was killed.
LATE = 50
WAIT_S = 120


class Offsets(threading.Thread):
    """Polls what the group has committed, until it is stopped."""

    def __init__(self, brokers: list[Broker]) -> None:
        super().__init__(daemon=True)
        self.brokers = brokers
        self.committed: dict[int, int] = {}
        # Offsets that were lower than before.
        self.back: list[tuple[int, int, int]] = []
        self.done = threading.Event()
        self.start()

    def copied(self) -> int:
        return sum(self.committed.values())

    def wait_for(self, count: int) -> None:
        """Waits until this many numbers are copied."""
        wait_until(lambda: self.copied() >= count, WAIT_S)

    def wait_for_more(self, count: int) -> None:
        """Waits until this many more of each partition are copied."""
        before = dict(self.committed)
        partitions = range(PARTITIONS)
        wait_until(lambda: all(self.committed.get(n, 0) >= before.get(n, 0) + count for n in partitions), WAIT_S)

    def run(self) -> None:
        while not self.done.wait(0.1):
            for broker in self.brokers:
                if found := self.ask(broker):
                    self.take(found)
                    break

    def ask(self, broker: Broker) -> dict[int, int]:
        try:
            with urllib.request.urlopen(f"{broker.url}/group?group-name={GROUP}", timeout=2) as response:
                return {one["partition"]: one["offset"] for one in json.load(response)["offsets"]}
        except (OSError, ValueError):
            # It was killed, or the group doesn't exist yet.
            return {}

    def take(self, found: dict[int, int]) -> None:
        for partition, offset in found.items():
            before = self.committed.get(partition, 0)
            if offset < before:
                self.back.append((partition, before, offset))
            self.committed[partition] = offset

    def stop(self) -> None:
        self.done.set()
        self.join()


class Feed(threading.Thread):
    """Sends numbers, each once, as the group copies them, until it is stopped."""

    def __init__(self, brokers: list[Broker], offsets: Offsets) -> None:
        super().__init__(daemon=True)
        addresses = ",".join(broker.kafka for broker in brokers)
        self.producer = Producer({"bootstrap.servers": addresses, "enable.idempotence": True})
        self.offsets = offsets
        self.failed: list[str] = []
        self.count = 0
        self.done = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.done.is_set():
            if self.count - self.offsets.copied() > AHEAD:
                self.producer.poll(0.01)
                continue
            self.producer.produce("numbers", str(self.count), partition=self.count % PARTITIONS, callback=self.sent)
            self.count += 1
        self.producer.flush(WAIT_S)

    def sent(self, error: object, _message: object) -> None:
        if error is not None:
            self.failed.append(str(error))

    def stop(self) -> None:
        self.done.set()
        self.join()


@pytest.fixture(scope="module")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("go") / "transform"
    subprocess.run(["go", "build", "-o", program, "./transform"], cwd=REPOSITORY / "interop/kafka/go", check=True)
    return program


class Member:
    """A member of the group in its own process."""

    def __init__(self, log: Path, *command: object) -> None:
        self.log, self.command = log, [str(part) for part in command]
        self.start()

    def start(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def joins(self) -> int:
        """How often it has asked to join the group."""
        return self.log.read_text().count("joining group")

    def terminate(self) -> None:
        """It leaves its group."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(WAIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class Workers:
    """The members of a group, of franz-go and of Kafka's own client."""

    def __init__(self, folder: Path, go_program: Path, java_command: list[str]) -> None:
        self.folder, self.go_program, self.java_command = folder, go_program, java_command
        self.members: list[Member] = []

    def start(self, brokers: list[Broker], in_go: int, in_java: int) -> "Workers":
        """They join one after the other."""
        addresses = [broker.kafka for broker in brokers]
        for number in range(in_go + in_java):
            program = [self.go_program] if number < in_go else self.java_command
            arguments = [GROUP, f"member-{number}", "numbers", "copies", *addresses]
            self.members.append(Member(self.folder / f"member-{number}.log", *program, *arguments))
            wait_until(lambda: group(brokers[0]) == ("stable", len(self.members)), WAIT_S)
        return self

    def kill(self) -> None:
        for member in self.members:
            member.kill()


def group(broker: Broker) -> tuple[str, int]:
    """The group's state, and how many members it has."""
    try:
        with urllib.request.urlopen(f"{broker.url}/group?group-name={GROUP}", timeout=2) as response:
            found = json.load(response)
            return found["state"], len(found["members"])
    except OSError:
        return "unknown", 0


def kill_and_pause(broker: Broker, workers: Workers, offsets: Offsets, kill: Callable[[], None], number: int) -> None:
    """Kills a broker, and one member learns that late: the others copy numbers meanwhile.

    Every other time, the late one has asked to join and has no response yet. It asks again with what it owned before,
    and with the generation of that. A broker whose generations began anew would let it keep partitions that others
    have gone on with.
    """
    members = workers.members
    late, leaving, slow = (members[(number + place) % len(members)] for place in range(3))
    is_joining = number % 2 == 1
    if is_joining:
        # No response before all have joined.
        slow.process.send_signal(signal.SIGSTOP)
        joins = late.joins()
        leaving.terminate()
        wait_until(lambda: late.joins() > joins, WAIT_S)
    late.process.send_signal(signal.SIGSTOP)
    before = offsets.copied()
    kill()
    if is_joining:
        slow.process.send_signal(signal.SIGCONT)
        leaving.start()
        wait_until(lambda: group(broker) == ("stable", len(members) - 1), WAIT_S)
        # They have its partitions.
        offsets.wait_for_more(LATE)
    else:
        offsets.wait_for(before + LATE * PARTITIONS)
    late.process.send_signal(signal.SIGCONT)


def run(brokers: list[Broker], start_workers: Callable[[list[Broker]], Workers], kill: Callable[[], None]) -> None:
    """The group copies all numbers while a broker is killed now and then."""
    for topic in ("numbers", "copies"):
        rawline(brokers[0], "topic", "create", topic, "--partitions", str(PARTITIONS))
    offsets = Offsets(brokers)
    feed = Feed(brokers, offsets)
    try:
        workers = start_workers(brokers)
        offsets.wait_for_more(STEP)
        for number in range(1, KILLS + 1):
            kill_and_pause(brokers[0], workers, offsets, kill, number)
            # Also what the late one has copied from where it was is committed before the next kill.
            wait_until(lambda: group(brokers[0]) == ("stable", WORKERS), WAIT_S)
            offsets.wait_for_more(STEP)
        feed.stop()
        offsets.wait_for(feed.count)
        for member in workers.members:
            member.terminate()
    finally:
        feed.stop()
        offsets.stop()
    assert feed.failed == [], "numbers were not sent"
    check(feed.count, Counter(int(value) for value in values(brokers[0], "copies", PARTITIONS)), offsets.back)


def check(sent: int, copied: Counter[int], back: list[tuple[int, int, int]]) -> None:
    doubled = sorted(number for number, count in copied.items() if count > 1)
    lost = sorted(set(range(sent)) - set(copied))
    wrong = [
        f"{len(found)} of {sent} numbers are {what}: {ranges(found)}"
        for what, found in (("doubled", doubled), ("lost", lost))
        if found
    ]
    wrong += [f"partition {partition}: committed {before}, then {after}" for partition, before, after in back]
    assert not wrong, "\n".join(wrong)


def ranges(numbers: list[int]) -> str:
    """The first and the last few, with their partitions."""
    shown = numbers if len(numbers) <= 10 else [*numbers[:5], *numbers[-5:]]
    return ", ".join(f"{number} (partition {number % PARTITIONS})" for number in shown)


@pytest.fixture
def workers(tmp_path: Path, go_program: Path, _built_engines: None) -> Iterator[Workers]:
    workers = Workers(tmp_path, go_program, java_command("transform", "io.rawline.interop.Transform"))
    yield workers
    workers.kill()


def members(*short: tuple[int, int]) -> pytest.MarkDecorator:
    """How many members are of franz-go and of Java: these groups by default, all of them in the long form."""
    every = [(WORKERS, 0), (0, WORKERS), (WORKERS // 2, WORKERS // 2)]
    return pytest.mark.parametrize(("in_go", "in_java"), every if IS_LONG else short)


@members((WORKERS, 0))
def test_each_number_is_copied_once_while_a_broker_is_killed(
    lasting_broker: Broker, workers: Workers, in_go: int, in_java: int
) -> None:
    def kill() -> None:
        lasting_broker.kill()
        lasting_broker.start()

    run([lasting_broker], lambda brokers: workers.start(brokers, in_go, in_java), kill)


@pytest.fixture
def brokers_on_bucket(tmp_path: Path) -> Iterator[list[Broker]]:
    if not s3_server_program().exists():
        pytest.skip("no S3 server: run `make tools`, or set RAWLINE_S3_SERVER")
    with s3_server(tmp_path) as bucket:
        brokers: list[Broker] = []
        for number in range(2):
            flags = ["--cache-dir", str(tmp_path / f"cache-{number}"), "--batch-wait", "1ms"]
            flags += ["--kafka", f"127.0.0.1:{free_port()}"]
            brokers.append(Broker("s3://bucket", *flags, variables=bucket))
        yield brokers
        for broker in brokers:
            broker.stop()


def live_brokers(broker: Broker) -> list[dict[str, object]]:
    with urllib.request.urlopen(f"{broker.url}/brokers", timeout=10) as response:
        found: list[dict[str, object]] = json.load(response)["brokers"]
        return [one for one in found if one["state"] == "live"]


def owner(brokers: list[Broker]) -> Broker:
    """The one that all agree on."""

    def owners() -> set[object]:
        return {one["url"] for broker in brokers for one in live_brokers(broker) if one["is_owner"]}

    wait_until(lambda: len(owners()) == 1 and owners() <= {broker.url for broker in brokers})
    (url,) = owners()
    return next(broker for broker in brokers if broker.url == url)


@members((WORKERS // 2, WORKERS // 2))
def test_each_number_is_copied_once_while_the_owner_of_a_bucket_is_killed(
    brokers_on_bucket: list[Broker], workers: Workers, in_go: int, in_java: int
) -> None:
    def kill() -> None:
        killed = owner(brokers_on_bucket)
        killed.kill()
        # Another one takes over.
        assert owner([broker for broker in brokers_on_bucket if broker is not killed]) is not killed
        killed.start()

    run(brokers_on_bucket, lambda brokers: workers.start(brokers, in_go, in_java), kill)
