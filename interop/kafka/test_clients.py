"""Kafka's clients in Java, Go and C against one broker, with nothing configured but its address."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers import REPOSITORY, Broker, binary, wait_until

MESSAGES = 100_000
PARTITIONS = 6
WAIT_S = 60

needs_kcat = pytest.mark.skipif(shutil.which("kcat") is None, reason="no kcat: apt-get install kcat")


class Suite:
    """Tests in a client's own language, in the background."""

    WAIT_S = 300

    def __init__(self, name: str, broker: Broker, compared: Broker, output: Path, *command: str) -> None:
        self.output = output
        addresses = {"RAWLINE_KAFKA": broker.kafka, "RAWLINE_KAFKA_COMPARED": compared.kafka}
        environment = {**os.environ, **addresses, "RAWLINE_BINARY": str(binary())}
        folder = REPOSITORY / "interop/kafka" / name
        with output.open("w") as file:
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True
            )

    def check(self) -> None:
        status = self.process.wait(self.WAIT_S)
        print(self.output.read_text())
        assert status == 0

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """On a directory, or on what RAWLINE_TEST_STORAGE says: `memory:`."""
    storage = os.environ.get("RAWLINE_TEST_STORAGE") or tmp_path_factory.mktemp("broker")
    broker = Broker(storage, "--kafka", "127.0.0.1:0", "--group-session", "6s")
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def compared() -> Iterator[Broker]:
    """Compared with a real Kafka: the first generation of a group follows those of groups that were deleted. In memory,
    where everything works as on a directory."""
    broker = Broker("memory:", "--kafka", "127.0.0.1:0", "--group-session", "6s")
    yield broker
    broker.stop()


@pytest.fixture(scope="module", autouse=True)
def suites(broker: Broker, compared: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Suite]]:
    """All at the same time: each waits seconds for members of groups that are gone."""
    outputs = tmp_path_factory.mktemp("suites")
    maven = ["mvn", "--batch-mode", "--no-transfer-progress", "test"]
    suites = {
        "java": Suite("java", broker, compared, outputs / "java", *maven),
        "go": Suite("go", broker, compared, outputs / "go", "go", "test", "-count=1", "-v", "./..."),
    }
    yield suites
    for suite in suites.values():
        suite.stop()


def kcat(broker: Broker, *arguments: str, text: str | None = None) -> str:
    command = ["kcat", "-b", broker.kafka, *arguments]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True, timeout=WAIT_S).stdout


def messages(numbers: range) -> str:
    return "".join(f"{number}:value {number}\n" for number in numbers)


@needs_kcat
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_messages_of_kcat_arrive_as_they_were_sent(broker: Broker, codec: str) -> None:
    topic, sent = f"kcat-{codec}", messages(range(MESSAGES))
    kcat(broker, "-P", "-t", topic, "-K", ":", "-z", codec, text=sent)
    assert kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-K", ":") == sent
    assert kcat(broker, "-C", "-t", topic, "-o", "-3", "-e", "-q", "-f", "%o ") == "99997 99998 99999 "
    assert f'topic "{topic}" with 1 partitions' in kcat(broker, "-L", "-t", topic)
    assert kcat(broker, "-Q", "-t", f"{topic}:0:1").strip() == f"{topic} [0] offset 0"


@needs_kcat
def test_messages_without_acknowledgement_arrive(broker: Broker) -> None:
    kcat(broker, "-P", "-t", "kcat-acks", "-K", ":", "-X", "acks=0", text=messages(range(1000)))

    def arrived() -> bool:
        return kcat(broker, "-C", "-t", "kcat-acks", "-o", "beginning", "-e", "-q", "-f", "%o\n").count("\n") == 1000

    wait_until(arrived)


class Member:
    """A member of kcat's group. The broker finds out soon that it is gone, instead of after 45 s."""

    def __init__(self, broker: Broker, output: Path) -> None:
        self.output, self.log = output, output.with_suffix(".log")
        settings = ["session.timeout.ms=6000", "heartbeat.interval.ms=500", "auto.offset.reset=earliest"]
        flags = [flag for setting in settings for flag in ("-X", setting)]
        command = ["kcat", "-b", broker.kafka, *flags, "-u", "-f", "%k\n", "-G", "kcat-readers", "kcat-group"]
        with output.open("w") as messages, self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=messages, stderr=log)

    def partitions(self) -> int:
        """That it has got last."""
        assigned = re.findall(r"assigned: (.*)", self.log.read_text())
        return assigned[-1].count("[") if assigned else 0

    def read(self) -> set[str]:
        return set(self.output.read_text().split())


@needs_kcat
def test_a_group_of_kcats_reads_everything_when_one_of_three_is_killed(broker: Broker, tmp_path: Path) -> None:
    create = [binary(), "topic", "create", "kcat-group", "--partitions", str(PARTITIONS), "--broker", broker.url]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    members = [Member(broker, tmp_path / str(number)) for number in range(3)]
    killed, *rest = members
    try:
        wait_until(lambda: [member.partitions() for member in members] == [2, 2, 2])
        half = MESSAGES // 2
        kcat(broker, "-P", "-t", "kcat-group", "-K", ":", text=messages(range(half)))
        wait_until(lambda: bool(killed.read()))
        killed.process.kill()
        kcat(broker, "-P", "-t", "kcat-group", "-K", ":", text=messages(range(half, MESSAGES)))
        everything = {str(number) for number in range(MESSAGES)}
        wait_until(lambda: set().union(*(member.read() for member in members)) == everything)
        assert killed.read() and len(killed.read()) < half
        for member in rest:
            # They commit, and leave.
            member.process.terminate()
            member.process.wait(WAIT_S)
        kcat(broker, "-P", "-t", "kcat-group", "-K", ":", text="late:message\n")
        group = ["-e", "-q", "-f", "%k\n", "-G", "kcat-readers", "kcat-group"]
        assert kcat(broker, "-X", "auto.offset.reset=earliest", *group) == "late\n"
    finally:
        for member in members:
            member.process.kill()
            member.process.wait()


def test_franz_go(suites: dict[str, Suite]) -> None:
    suites["go"].check()


def test_kafka_clients_and_tools_and_responses_of_a_real_kafka(suites: dict[str, Suite]) -> None:
    suites["java"].check()
