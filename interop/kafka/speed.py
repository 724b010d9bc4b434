"""Measures Rawline and Kafka's own broker with Kafka's own tools, in turns on one machine.

Both listen on loopback and store on the same disk, one runs at a time, and each run has a new directory. The figures
are a tool's own, and the CPU time and memory of the broker's process while the tool runs.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import confluent_kafka
from confluent_kafka.admin import AdminClient

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "python/tests"))

from brokers import Broker  # noqa: E402

RECORD_BYTES = 1024
TOPIC = "t"


@dataclass
class Side:
    """A broker that runs."""

    address: str
    pid: int

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1]) * 1024 / 1e6

    def create(self, partitions: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        topic = confluent_kafka.admin.NewTopic(TOPIC, partitions, 1)
        for done in admin.create_topics([topic]).values():
            done.result(60)
        # A broker that is asked too early has no leader yet.
        deadline = time.monotonic() + 60
        while True:
            found = admin.list_topics(timeout=10).topics.get(TOPIC)
            leaders = [at.leader for at in found.partitions.values()] if found else []
            if len(leaders) == partitions and min(leaders) >= 0:
                return
            assert time.monotonic() < deadline
            time.sleep(0.2)


@contextlib.contextmanager
def rawline(folder: Path, durability: str) -> Iterator[Side]:
    broker = Broker(folder, "--kafka", "127.0.0.1:0", "--durability", durability)
    try:
        yield Side(broker.kafka, broker.process.pid)
    finally:
        broker.stop()


def class_path() -> str:
    """Kafka's jars, as Maven has them for the Java tests."""
    file = HERE / "java/target/class-path"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        maven = ["mvn", "-q", "dependency:build-classpath", "-DincludeScope=test", f"-Dmdep.outputFile={file}"]
        subprocess.run(maven, cwd=HERE / "java", check=True)
    return file.read_text().strip()


def java(*arguments: str, heap: str = "512m") -> list[str]:
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return ["java", f"-Xms{heap}", f"-Xmx{heap}", logging, "-cp", class_path(), *arguments]


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [at.getsockname()[1] for at in sockets]


@contextlib.contextmanager
def kafka(folder: Path, durability: str) -> Iterator[Side]:
    """With Kafka's defaults: a heap of 1 GiB, one replica. `fsync` is `flush.messages=1`."""
    port, controller = free_ports(2)
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "log.dirs": str(folder / "logs"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    if durability == "fsync":
        settings["log.flush.interval.messages"] = "1"
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    format_ = ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAQACAAAAAAAAAAQ", "--config", str(file)]
    subprocess.run(java(*format_), check=True, stdout=subprocess.DEVNULL)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(java("kafka.Kafka", str(file), heap="1g"), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield Side(f"127.0.0.1:{port}", process.pid)
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def sink(folder: Path, durability: str) -> Iterator[Side]:
    """The client's own limit: see `sink.py`."""
    (port,) = free_ports(1)
    broker = Broker(folder / "broker", "--kafka", "127.0.0.1:0", "--kafka-advertise", f"127.0.0.1:{port}")
    command = [sys.executable, str(HERE / "sink.py"), str(port), *broker.kafka.split(":"), str(folder), durability]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout and process.stdout.readline() == b"listening\n"
        yield Side(f"127.0.0.1:{port}", process.pid)
    finally:
        process.kill()
        process.wait()
        broker.stop()


BROKERS = {"rawline": rawline, "kafka": kafka}


def touch(folder: Path, size: int) -> None:
    """Has the page cache get memory from the machine's host, which takes longer than what is measured, and frees it."""
    file = folder / "touched"
    piece = bytes(1 << 20)
    with file.open("wb") as writer:
        for _ in range(0, size, len(piece)):
            writer.write(piece)
    file.unlink()


def run(command: list[str]) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert done.returncode == 0, done.stdout
    return done.stdout


def number(pattern: str, text: str) -> float:
    found = re.findall(pattern, text)
    assert found, f"no {pattern} in:\n{text}"
    return float(found[-1])


def produce_with_java(side: Side, records: int, *settings: str) -> dict[str, float]:
    producer = [f"bootstrap.servers={side.address}", "acks=all", *settings]
    sizes = ["--num-records", str(records), "--record-size", str(RECORD_BYTES), "--throughput", "-1"]
    tool = ["org.apache.kafka.tools.ProducerPerformance", "--topic", TOPIC, *sizes]
    text = run(java(*tool, "--command-property", *producer))
    return {
        "records_per_s": number(r"records sent, ([\d.]+) records/sec", text),
        "p50_ms": number(r"(\d+) ms 50th", text),
        "p99_ms": number(r"(\d+) ms 99th", text),
    }


def librdkafka() -> str:
    tool = os.environ.get("RDKAFKA_PERFORMANCE")
    assert tool, "RDKAFKA_PERFORMANCE must name librdkafka's examples/rdkafka_performance"
    return tool


def produce_with_librdkafka(side: Side, records: int, *settings: str) -> dict[str, float]:
    flags = [flag for setting in settings for flag in ("-X", setting)]
    to = ["-P", "-t", TOPIC, "-b", side.address, "-a", "-1", "-s", str(RECORD_BYTES), "-c", str(records)]
    text = run([librdkafka(), *to, *flags])
    return {"records_per_s": number(r"(\d+) msgs/s", text)}


def consume_with_java(side: Side, records: int) -> dict[str, float]:
    tool = ["org.apache.kafka.tools.ConsumerPerformance", "--bootstrap-server", side.address, "--topic", TOPIC]
    text = run(java(*tool, "--num-records", str(records), "--timeout", "60000"))
    cells = [cell.strip() for cell in text.strip().splitlines()[-1].split(",")]
    # start, end, MB, MB/s, records, records/s, ms of the rebalance, ms of fetching, MB/s and records/s of fetching
    assert int(cells[4]) >= records, text
    return {"records_per_s": float(cells[9])}


def consume_with_librdkafka(side: Side, records: int) -> dict[str, float]:
    text = run([librdkafka(), "-C", "-t", TOPIC, "-b", side.address, "-p", "0", "-o", "beginning", "-c", str(records)])
    return {"records_per_s": number(r"(\d+) msgs/s", text)}


def lone(side: Side, records: int) -> dict[str, float]:
    """One record at a time: the time from `produce` to its acknowledgement."""
    producer = confluent_kafka.Producer({"bootstrap.servers": side.address, "acks": "all", "linger.ms": 0})
    times = []
    value = os.urandom(RECORD_BYTES)
    for at in range(records):
        began = time.perf_counter()
        producer.produce(TOPIC, value, partition=0)
        assert producer.flush(10) == 0
        if at >= records // 5:
            times.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.002)
    return {"p50_ms": statistics.median(times), "p99_ms": statistics.quantiles(times, n=100)[98]}


def ten_producers(side: Side, records: int) -> dict[str, float]:
    """Ten processes, each to all partitions."""
    to = ["-P", "-t", TOPIC, "-b", side.address, "-a", "-1", "-s", str(RECORD_BYTES), "-c", str(records // 10)]
    began = time.monotonic()
    processes = [subprocess.Popen([librdkafka(), *to], stdout=subprocess.DEVNULL) for _ in range(10)]
    assert [process.wait(900) for process in processes] == [0] * 10
    return {"records_per_s": records / (time.monotonic() - began)}


@dataclass
class Case:
    durability: str
    partitions: int
    records: int
    measure: Callable[[Side, int], dict[str, float]]
    # The state before the clock starts.
    stored: int = 0
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    warm: int = 0


CASES = {
    "produce, Java, page cache": Case("page-cache", 1, 2_000_000, produce_with_java, warm=100_000),
    "produce, Java, page cache, batches of 128 KiB": Case(
        "page-cache",
        1,
        2_000_000,
        lambda side, records: produce_with_java(side, records, "batch.size=131072", "linger.ms=5"),
        warm=100_000,
    ),
    "produce, librdkafka, page cache": Case("page-cache", 1, 2_000_000, produce_with_librdkafka, warm=200_000),
    "produce, Java, synced": Case("fsync", 1, 200_000, produce_with_java, warm=20_000),
    "produce, librdkafka, synced": Case("fsync", 1, 200_000, produce_with_librdkafka, warm=20_000),
    "1,000 partitions, ten producers, synced": Case("fsync", 1000, 200_000, ten_producers),
    "lone produce, synced": Case("fsync", 1, 2_500, lone),
    "consume, Java, page cache": Case("page-cache", 1, 2_000_000, consume_with_java, stored=2_000_000),
    "consume, librdkafka, page cache": Case("page-cache", 1, 2_000_000, consume_with_librdkafka, stored=2_000_000),
}


def measure(name: str, case: Case, folder: Path, runs: int, has_sink: bool) -> None:
    sides = BROKERS | ({"sink": sink} if has_sink else {})
    for at in range(runs):
        for broker, start in sides.items():
            place = Path(tempfile.mkdtemp(prefix=f"{broker}-", dir=folder))
            with start(place, case.durability) as side:
                side.create(case.partitions)
                if case.stored:
                    produce_with_librdkafka(side, case.stored)
                    consume_with_librdkafka(side, case.stored)
                if case.warm:
                    case.measure(side, case.warm)
                touch(folder, case.records * RECORD_BYTES)
                before = side.cpu_s()
                result = case.measure(side, case.records)
                gigabytes = case.records * RECORD_BYTES / 1e9
                result["broker_cpu_s_per_gb"] = (side.cpu_s() - before) / gigabytes
                result["broker_peak_mb"] = side.peak_mb()
            shutil.rmtree(place)
            figures = ", ".join(f"{figure} {value:,.3g}" for figure, value in result.items())
            print(f"{name}, run {at + 1}, {broker}: {figures}", file=sys.stderr, flush=True)
            case.results.setdefault(broker, []).append(result)


def table(cases: dict[str, Case]) -> str:
    has_sink = any("sink" in case.results for case in cases.values())
    lines = ["| measurement | figure | Rawline | Kafka | ratio |", "|---|---|---|---|---|"]
    if has_sink:
        lines = ["| measurement | figure | Rawline | Kafka | ratio | sink |", "|---|---|---|---|---|---|"]
    for name, case in cases.items():
        for figure in case.results["rawline"][0]:
            medians = {side: statistics.median(run[figure] for run in runs) for side, runs in case.results.items()}
            ours, theirs = medians["rawline"], medians["kafka"]
            limit = f" {medians['sink']:,.4g} |" if has_sink else ""
            lines.append(f"| {name} | {figure} | {ours:,.4g} | {theirs:,.4g} | {ours / theirs:.2f} |{limit}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of each side; their median counts (3)")
    parser.add_argument("--filter", default="", help="only measurements whose names contain this")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where both store")
    parser.add_argument("--sink", action="store_true", help="measure the producer's own limit too (produce only)")
    parser.add_argument("--json", type=Path, help="write every run's figures here")
    arguments = parser.parse_args()
    cases = {name: case for name, case in CASES.items() if arguments.filter in name}
    if arguments.sink and any("produce" not in name for name in cases):
        parser.error("--sink measures producers: add --filter produce")
    if not cases:
        parser.error(f"no measurement's name contains {arguments.filter!r}: {', '.join(CASES)}")
    for name, case in cases.items():
        measure(name, case, arguments.folder, arguments.runs, arguments.sink)
    print(table(cases))
    if arguments.json:
        arguments.json.write_text(json.dumps({name: case.results for name, case in cases.items()}, indent=1))


if __name__ == "__main__":
    main()
