"""A real broker for tests: the `rawline` binary on a temporary directory and a free port."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


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


def wait_until(is_done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.05)


def documented(language: str, section: str = "") -> list[str]:
    """The blocks of docs/kafka.md in this language, of all sections or of one."""
    page = (REPOSITORY / "docs/kafka.md").read_text()
    if section:
        page = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def s3_server_program() -> Path:
    return Path(os.environ.get("RAWLINE_S3_SERVER", REPOSITORY / ".tools/bin/versitygw"))


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[dict[str, str]]:
    """A real S3 server with a new bucket, `s3://bucket`: the variables that lead a broker to it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "buckets/bucket").mkdir(parents=True)
    keys = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "testtesttest"}
    command = [s3_server_program(), "--port", address, "--quiet", "posix", folder / "buckets"]
    server = subprocess.Popen(command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL)
    try:
        while server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", int(address.split(":")[1]))).close()
                break
            except ConnectionRefusedError:
                pass
        yield {
            "AWS_ENDPOINT_URL": f"http://{address}",
            "AWS_ACCESS_KEY_ID": keys["ROOT_ACCESS_KEY"],
            "AWS_SECRET_ACCESS_KEY": keys["ROOT_SECRET_KEY"],
        }
    finally:
        server.kill()
        server.wait()


class Broker:
    """A running broker."""

    def __init__(self, folder: Path | str, *flags: str, variables: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.flags = flags
        self.variables = variables or {}
        self.address = "127.0.0.1:0"
        # Where Kafka's clients connect to, with --kafka.
        self.kafka = ""
        self.scheme = "http"
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
            if found := re.search(r"listening on (https?)://(\S+)", line):
                self.scheme, self.address = found.groups()
                # It must never block on a full pipe.
                self.draining = threading.Thread(target=self.process.stdout.read, daemon=True)
                self.draining.start()
                return
        raise RuntimeError(f"the broker did not start:\n{said}")

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}"

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
            self.draining.join()
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
