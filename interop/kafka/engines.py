"""Programs on the JVM that read and write a broker's topics: their processes, and topics of lines."""

import json
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from brokers import REPOSITORY, Broker, binary, documented, wait_until
from confluent_kafka import Consumer, TopicPartition

MODULES = REPOSITORY / "interop/kafka/engines"

# The modules of Java that Flink and Spark look into.
OPENED = [
    "lang",
    "lang.invoke",
    "lang.reflect",
    "io",
    "net",
    "nio",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
]


def java_command(module: str, program: str) -> list[str]:
    """The command of a module's program."""
    target = MODULES / module / "target"
    flags = ["-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    flags += [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    flags += ["--add-opens=java.base/sun.nio.ch=ALL-UNNAMED"]
    classpath = f"{target / 'classes'}:{(target / 'classpath').read_text()}"
    return ["java", *flags, "-cp", classpath, program]


class Engine:
    """A module's process. What it says is in a file."""

    def __init__(self, module: str, program: str, output: Path, *arguments: object) -> None:
        self.output = output
        command = [*java_command(module, program), *map(str, arguments)]
        with output.open("a") as file:
            self.process = subprocess.Popen(command, cwd=output.parent, stdout=file, stderr=file)

    def said(self) -> str:
        return self.output.read_text()

    def check(self) -> None:
        """It ends, and well."""
        assert self.process.wait(180) == 0, self.said()

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """While it runs."""

        def is_done_meanwhile() -> bool:
            assert self.process.poll() is None, self.said()
            return is_done()

        wait_until(is_done_meanwhile)

    def terminate(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.wait()


def rawline(broker: Broker, *arguments: str, text: str | None = None) -> str:
    """The output of our command line."""
    environment = {**os.environ, "RAWLINE_BROKER": broker.url}
    command = [str(binary()), *arguments]
    done = subprocess.run(command, env=environment, input=text, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def values(broker: Broker, topic: str, partitions: int = 1, isolation: str = "read_committed") -> list[str]:
    """Everything that a topic has, partition after partition, as Kafka's clients see it."""
    settings: dict[str, object] = {"bootstrap.servers": broker.kafka, "group.id": "none", "isolation.level": isolation}
    settings |= {"enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer(settings)
    found: list[str] = []
    for partition in range(partitions):
        consumer.assign([TopicPartition(topic, partition, 0)])
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append((message.value() or b"").decode())
        assert message is not None, f"{topic} [{partition}] doesn't end"
    consumer.close()
    return found


def records_count(broker: Broker, topic: str) -> int:
    """That all of its partitions have."""
    shown = json.loads(rawline(broker, "topic", topic, "--json"))
    return sum(one["next_offset"] - one["first_offset"] for one in shown.get("offsets", [shown]))


def lag(broker: Broker, group: str) -> int:
    """Of a group that has committed an offset in each of its partitions."""
    shown = json.loads(rawline(broker, "group", "show", group, "--json"))
    return sum(one["lag"] for one in shown["offsets"])


def is_documented(module: str, program: str) -> bool:
    """Whether the section of docs/kafka.md that is named like the module shows a part of the program."""
    source = MODULES / module / "src/main/java" / f"{program.replace('.', '/')}.java"
    (shown,) = documented("java", module.capitalize())
    return " ".join(shown.split()) in " ".join(source.read_text().split())


class Writer:
    """Lines at the end of a file, a few at a time, until they are all there."""

    PAUSE_S = 0.02

    def __init__(self, path: Path, lines: Sequence[str], at_a_time: int) -> None:
        self.thread = threading.Thread(target=self._write, args=(path, lines, at_a_time), daemon=True)
        self.thread.start()

    def _write(self, path: Path, lines: Sequence[str], at_a_time: int) -> None:
        pause = threading.Event()
        for first in range(0, len(lines), at_a_time):
            with path.open("a") as file:
                file.writelines(line + "\n" for line in lines[first : first + at_a_time])
            pause.wait(self.PAUSE_S)


def wait_for_lines(path: Path, count: int, engine: Engine) -> None:
    engine.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count)
