"""Three brokers on one bucket of a test server, under load, while they are killed, paused and stopped.

`make cluster` runs it for ten minutes. At the end, every record that was acknowledged must be there, those of numbered
producers once and in order; the exit code says whether that is so.
"""

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

REPOSITORY = Path(__file__).resolve().parents[1]
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtesttest"}
BEGAN = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:7.1f} s  {text}", flush=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class Broker:
    """One of the brokers, always on the same ports."""

    def __init__(self, number: int, options: argparse.Namespace, folder: Path, variables: dict[str, str]) -> None:
        self.name = "ABCDEFGH"[number]
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self.kafka = f"127.0.0.1:{free_port()}"
        flags = ["--storage", "s3://bucket/events", "--listen", self.address, "--kafka", self.kafka]
        flags += ["--cache-dir", str(folder / f"cache-{self.name}"), "--memory", "128MiB"]
        flags += ["--journals", str(options.journals)]
        self.command = [options.program, "serve", *flags]
        self.environment = {**os.environ, **variables}
        self.log = (folder / f"{self.name}.log").open("ab")
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, env=self.environment, stderr=self.log, stdout=self.log)

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=1) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    def members(self) -> list[dict[str, object]]:
        with urllib.request.urlopen(f"{self.url}/brokers", timeout=2) as response:
            found: list[dict[str, object]] = json.load(response)["brokers"]
            return found


class Gaps:
    """When something was acknowledged, and the longest time without."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.longest = 0.0
        self.since_asked = 0.0

    def acknowledged(self) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self.last)
        self.since_asked = max(self.since_asked, now - self.last)
        self.last = now

    def ask(self) -> float:
        """The longest one since the last question."""
        longest = max(self.since_asked, time.monotonic() - self.last)
        self.since_asked = 0.0
        return longest


class Load:
    """The load, which runs until `stop` is set. Each part records acknowledged appends."""

    def __init__(self, brokers: list[Broker], program: Path) -> None:
        self.brokers = brokers
        self.stop = threading.Event()
        self.watch = threading.Lock()
        self.servers = ",".join(broker.kafka for broker in brokers)
        urls = ",".join(broker.url for broker in brokers)
        self.command_line = subprocess.Popen(
            [program, "produce", "lines", "--broker", urls, "--retry-for", "120s"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = 0
        self.lines_stored = 0
        self.lines_gaps = Gaps()
        self.kafka_sent = 0
        self.kafka_failed = 0
        self.kafka = Gaps()
        self.plain: list[int] = []
        self.plain_unknown = 0
        self.http = Gaps()
        self.read: set[int] = set()
        parts = [self.produce_lines, self.produce_kafka, self.produce_plain, self.consume_kafka, self.consume_kafka]
        self.threads = [threading.Thread(target=part, daemon=True) for part in parts]
        self.threads += [threading.Thread(target=self.watch_lines, args=[broker], daemon=True) for broker in brokers]

    def gaps(self) -> list[Gaps]:
        """Those of `PROTOCOLS`."""
        return [self.http, self.lines_gaps, self.kafka]

    def produce_lines(self) -> None:
        """`rawline produce`, with numbered batches."""
        stdin = self.command_line.stdin
        assert stdin is not None
        while not self.stop.is_set():
            stdin.write(f"{self.lines}\n")
            stdin.flush()
            self.lines += 1
            time.sleep(0.005)
        stdin.close()

    def watch_lines(self, broker: Broker) -> None:
        """Notes when one of the brokers shows more of them: the command line prints no acknowledgements."""
        while not self.stop.is_set():
            with contextlib.suppress(OSError):
                with urllib.request.urlopen(f"{broker.url}/topic?topic-name=lines", timeout=5) as response:
                    stored = int(json.load(response)["next_offset"])
                with self.watch:
                    if stored > self.lines_stored:
                        self.lines_stored = stored
                        self.lines_gaps.acknowledged()
            time.sleep(0.05)

    def produce_kafka(self) -> None:
        """librdkafka's idempotent producer."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.kafka.acknowledged()
            else:
                self.kafka_failed += 1

        while not self.stop.is_set():
            producer.produce("kafka", str(self.kafka_sent), on_delivery=delivered)
            self.kafka_sent += 1
            producer.poll(0.005)
        producer.flush(120)

    def produce_plain(self) -> None:
        """Single records without a number, as curl would send them, to any broker; if that fails, to the next one."""
        for number in itertools.count():
            if self.stop.is_set():
                return
            for broker in itertools.cycle(random.sample(self.brokers, len(self.brokers))):
                headers = {"Content-Type": "application/octet-stream"}
                target = f"{broker.url}/records?topic-name=plain"
                request = urllib.request.Request(target, str(number).encode(), headers, method="POST")
                try:
                    with urllib.request.urlopen(request, timeout=5):
                        self.plain.append(number)
                        self.http.acknowledged()
                        break
                except (urllib.error.URLError, OSError):
                    # It may be stored or not.
                    self.plain_unknown += 1
                    time.sleep(0.1)
            time.sleep(0.02)

    def consume_kafka(self) -> None:
        """A member of a group of two."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "readers",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10000,
                "log_level": 0,
            }
        )
        consumer.subscribe(["kafka"])
        idle_since = time.monotonic()
        while not self.stop.is_set() or (len(self.read) < self.kafka_sent and time.monotonic() - idle_since < 60):
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                self.read.add(int(message.value() or b""))
                idle_since = time.monotonic()
        consumer.close()


def wait_until_up(broker: Broker) -> None:
    while not broker.is_up():
        if broker.process.poll() is not None:
            broker.start()
        time.sleep(0.05)


def owners(brokers: list[Broker]) -> str:
    """The names of the owners of the journals, by number."""
    for broker in brokers:
        try:
            members = broker.members()
        except OSError:
            continue
        names = {other.url: other.name for other in brokers}
        owned = {
            number: names[str(member["url"])]
            for member in members
            if member["url"] in names and isinstance(member["journals"], list)
            for number in member["journals"]
        }
        return "".join(owned[number] for number in sorted(owned)) or "none"
    return "none"


PROTOCOLS = ["over HTTP", "of rawline produce", "over Kafka's protocol"]

ACTIONS = {"kill": "kill -9", "pause": "pause", "stop": "stop"}


def disturb(brokers: list[Broker], load: Load, action: str) -> list[float]:
    """One broker is killed, paused or stopped, and comes back. Returns the longest gaps in seconds."""
    broker = random.choice(brokers)
    for each in load.gaps():
        each.ask()
    owns = " (an owner)" if broker.name in owners(brokers) else ""
    if action == "kill -9":
        broker.process.kill()
        broker.process.wait()
        time.sleep(random.uniform(0, 4))
        broker.start()
    elif action == "pause":
        broker.process.send_signal(signal.SIGSTOP)
        time.sleep(random.uniform(1, 15))
        broker.process.send_signal(signal.SIGCONT)
    else:
        broker.process.terminate()
        broker.process.wait()
        broker.start()
    wait_until_up(broker)
    gaps = [each.ask() for each in load.gaps()]
    shown = ", ".join(f"{name} {gap:.2f} s" for name, gap in zip(PROTOCOLS, gaps, strict=True))
    say(f"{action:8} {broker.name}{owns:11}  then {owners(brokers)} own the journals; longest gap {shown}")
    return gaps


def summarize(gaps: dict[str, list[list[float]]]) -> None:
    """One line for each way in which brokers were disturbed."""
    for action, pairs in gaps.items():
        by_protocol = zip(PROTOCOLS, zip(*pairs, strict=True), strict=True)
        figures = [f"{name} {statistics.median(of):.2f}, {max(of):.2f} s" for name, of in by_protocol]
        say(f"{action:8} {len(pairs):3} times; median and longest gap {'; '.join(figures)}")


def records(program: Path, broker: Broker, topic: str) -> list[int]:
    read = subprocess.run(
        [program, "consume", topic, "--broker", broker.url], capture_output=True, text=True, check=True
    )
    return [int(line) for line in read.stdout.split()]


def check(program: Path, brokers: list[Broker], load: Load) -> bool:
    """Compares what each broker shows with what was acknowledged."""
    printed = load.command_line.stderr.read() if load.command_line.stderr else ""
    is_right = load.command_line.wait() == 0 and load.kafka_failed == 0
    if not is_right:
        say(f"a producer failed: {printed} {load.kafka_failed} of Kafka's records")
    for broker in brokers:
        lines, kafka, plain = (records(program, broker, topic) for topic in ["lines", "kafka", "plain"])
        lost = set(load.plain) - set(plain)
        rows = {
            "lines of rawline produce, once and in order": lines == list(range(load.lines)),
            "records of Kafka's producer, once and in order": kafka == list(range(load.kafka_sent)),
            "records without a number, acknowledged and there": not lost,
        }
        counts = [len(lines), len(kafka), len(set(plain))]
        for (what, holds), count in zip(rows.items(), counts, strict=True):
            say(f"{broker.name}: {count:7} {what}: {'yes' if holds else 'NO'}")
            is_right = is_right and holds
    say(f"{len(load.read)} of {load.kafka_sent} records read by the group of two")
    longest = [f"{name} {each.longest:.2f} s" for name, each in zip(PROTOCOLS, load.gaps(), strict=True)]
    say(f"longest gap {', '.join(longest)}")
    say(f"{load.plain_unknown} requests of curl's kind failed and were sent again")
    return is_right and len(load.read) == load.kafka_sent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--every", type=float, default=10, help="seconds between disturbances (default 10)")
    parser.add_argument("--only", choices=list(ACTIONS), help="the only way to disturb them (default all)")
    parser.add_argument("--brokers", type=int, default=3, help="how many (default 3)")
    parser.add_argument("--journals", type=int, default=3, help="how many the storage has (default 3)")
    parser.add_argument("--program", type=Path, default=REPOSITORY / "target/release/rawline", help="the binary")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="rawline-cluster-"))
    (folder / "buckets/bucket").mkdir(parents=True)
    address = f"127.0.0.1:{free_port()}"
    server_keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    server = subprocess.Popen(
        [REPOSITORY / ".tools/bin/versitygw", "--port", address, "--quiet", "posix", folder / "buckets"],
        env={**os.environ, **server_keys},
        stdout=subprocess.DEVNULL,
    )
    brokers: list[Broker] = []
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", int(address.split(":")[1]))).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        variables = {"AWS_ENDPOINT_URL": f"http://{address}", **KEYS}
        brokers = [Broker(number, options, folder, variables) for number in range(options.brokers)]
        for broker in brokers:
            wait_until_up(broker)
            say(f"broker {broker.name} at {broker.url}, for Kafka's clients at {broker.kafka}")
        admin = AdminClient({"bootstrap.servers": brokers[0].kafka, "log_level": 0})
        admin.create_topics([NewTopic("kafka", 1)])["kafka"].result(60)
        load = Load(brokers, options.program)
        for thread in load.threads:
            thread.start()
        until = time.monotonic() + options.seconds
        gaps: dict[str, list[list[float]]] = {}
        while time.monotonic() < until:
            time.sleep(max(0.0, min(options.every, until - time.monotonic())))
            if time.monotonic() < until:
                action = ACTIONS[options.only or random.choice(list(ACTIONS))]
                gaps.setdefault(action, []).append(disturb(brokers, load, action))
        load.stop.set()
        for thread in load.threads:
            thread.join()
        is_right = check(options.program, brokers, load)
        summarize(gaps)
    finally:
        for broker in brokers:
            broker.process.send_signal(signal.SIGCONT)
            broker.process.kill()
        server.kill()
    say(f"logs in {folder}")
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
