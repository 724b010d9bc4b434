"""A real broker for tests: the `rawline` binary on a temporary directory and a free port."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest

import rawline

# A shell that runs its jobs in the background has them ignore Ctrl-C, which Python then leaves as it is.
signal.signal(signal.SIGINT, signal.default_int_handler)

REPOSITORY = Path(__file__).resolve().parents[2]
VECTORS = REPOSITORY / "vectors"


def binary() -> Path:
    """The broker: what RAWLINE_BIN says, else what Cargo built."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    candidates = [target / "debug/rawline", target / "release/rawline"]
    candidates += [REPOSITORY / "target/debug/rawline", REPOSITORY / "target/release/rawline"]
    if given := os.environ.get("RAWLINE_BIN"):
        candidates = [Path(given)]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise RuntimeError(f"no broker at {candidates[0]}; build it with `cargo build --bin rawline`, or set RAWLINE_BIN")


def address(view: memoryview) -> int:
    """Where a view's first byte lies."""
    return numpy.frombuffer(view, "u1").ctypes.data


class Broker:
    """A running broker."""

    def __init__(self, folder: Path | str, *flags: str, variables: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.flags = flags
        self.variables = variables or {}
        self.address = "127.0.0.1:0"
        # Where Kafka's clients connect to, with --kafka.
        self.kafka = ""
        self.start()

    def start(self) -> None:
        """On the same directory and port as before, if there was one."""
        command = [binary(), "serve", "--storage", self.folder, "--listen", self.address, *self.flags]
        environment = {**os.environ, **self.variables}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        said = ""
        for line in self.process.stdout:
            said += line
            if found := re.search(r"listening for Kafka's clients on (\S+)", line):
                self.kafka = found.group(1)
            if found := re.search(r"listening on http://(\S+)", line):
                self.address = found.group(1)
                return
        raise RuntimeError(f"the broker did not start:\n{said}")

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def kill(self) -> None:
        """As a crash would."""
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            # Its threads may otherwise answer a little longer.
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        if number != signal.SIGSTOP and number != signal.SIGCONT:
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()

    def run_example(self, path: Path, folder: Path, *arguments: str) -> str:
        """Output of a script that gets the broker's address."""
        environment = {**os.environ, "RAWLINE_BROKER": self.url, "MPLBACKEND": "Agg"}
        command = [sys.executable, "-W", "error", path, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for the tests that leave it as it is."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Starts brokers of a test's own."""
    started: list[Broker] = []

    def start(*flags: str) -> Broker:
        started.append(Broker(tmp_path / f"broker-{len(started)}", *flags))
        return started[-1]

    yield start
    for broker in started:
        broker.stop()


@pytest.fixture
def bucket_broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker on a new bucket of a real S3 server, with a journal."""
    program = Path(os.environ.get("RAWLINE_S3_SERVER", REPOSITORY / ".tools/bin/versitygw"))
    if not program.exists():
        pytest.skip("no S3 server: run `make tools`, or set RAWLINE_S3_SERVER")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "buckets/bucket").mkdir(parents=True)
    keys = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "testtesttest"}
    command = [program, "--port", address, "--quiet", "posix", tmp_path / "buckets"]
    server = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL)
    try:
        while server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", int(address.split(":")[1]))).close()
                break
            except ConnectionRefusedError:
                pass
        variables = {
            "AWS_ENDPOINT_URL": f"http://{address}",
            "AWS_ACCESS_KEY_ID": keys["ROOT_ACCESS_KEY"],
            "AWS_SECRET_ACCESS_KEY": keys["ROOT_SECRET_KEY"],
        }
        flags = ["--cache-dir", str(tmp_path / "cache"), "--batch-wait", "1ms"]
        broker = Broker("s3://bucket", *flags, variables=variables)
        yield broker
        broker.stop()
    finally:
        server.kill()
        server.wait()


@pytest.fixture
def client(broker: Broker) -> rawline.Client:
    return rawline.Client(broker.url)


@pytest.fixture
def topic(request: pytest.FixtureRequest, broker: Broker) -> str:
    """An empty topic of a name that no other test has."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.nodeid)
    put = urllib.request.Request(f"{broker.url}/topic?topic-name={name}", b'{"payload":"bytes"}', method="PUT")
    with urllib.request.urlopen(put) as response:
        assert response.status == 200
    return name
