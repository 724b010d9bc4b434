"""A real broker for tests: starts in milliseconds, on free ports, and stores in memory.

>>> from rawline.testing import Broker
>>> with Broker() as broker:                               # doctest: +SKIP
...     broker.client().append("events", [b"hello"])

With pytest, the fixture `rawline_broker` is such a broker; see docs/testing.md.
"""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from rawline import _binary
from rawline.client import Client

_FREE = "127.0.0.1:0"

_POLL = 0.001
"""Seconds between two looks for a broker that starts: short against its start."""


class BrokerError(RuntimeError):
    """The broker didn't start, or has ended; the message has what it wrote to stderr."""


class Broker:
    """A broker of the program `rawline`, for this test: at `RAWLINE_BIN`, installed with this package, or on `PATH`.

    - `storage`: `"memory"`; `"directory"`, a temporary one, on which the broker can be restarted; or a value of
      `--storage`, such as a path
    - `flags`: more flags of `rawline serve`. Variables that begin with `RAWLINE_` don't reach it
    - `kafka`: whether it listens for Kafka's clients, too
    - `timeout`: seconds within which it must start

    It ends with its `with` block, with `close`, and at the latest with this process. Created once it is ready.
    """

    url: str
    """The URL for clients."""
    kafka: str | None
    """Host and port for Kafka's clients: `bootstrap.servers`."""

    def __init__(
        self,
        storage: str | os.PathLike[str] = "memory",
        flags: Iterable[str] = (),
        *,
        kafka: bool = True,
        timeout: float = 30.0,
    ) -> None:
        if isinstance(flags, str):
            raise TypeError(f'flags is {flags!r}; give a list such as ["--no-create-topics"]')
        self._folder = tempfile.TemporaryDirectory(prefix="rawline-")
        folder = Path(self._folder.name)
        self._ready, self._log = folder / "ready.json", folder / "log"
        self._timeout = timeout
        self._storage = str(folder / "data") if storage == "directory" else os.fspath(storage)
        self._storage = "memory:" if self._storage == "memory" else self._storage
        self._flags = list(flags)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start(_FREE, _FREE if kafka else None)
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<rawline.testing.Broker at {self.url}>"

    def __enter__(self) -> "Broker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def client(self, **settings: Any) -> Client:
        """A client of this broker; the settings are those of `rawline.Client`."""
        return Client(self.url, **settings)

    @property
    def log(self) -> str:
        """What the broker wrote to stderr."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def pid(self) -> int:
        """Id of the broker's process. Raises `BrokerError` if it doesn't run."""
        self.check()
        assert self._process is not None
        return self._process.pid

    @property
    def is_stopped(self) -> bool:
        """Whether `stop`, `kill` or `close` has ended it."""
        return self._process is None

    def check(self) -> None:
        """Raises `BrokerError`, with what it wrote to stderr, if the broker has ended by itself or was stopped."""
        if self._process is None:
            raise BrokerError("the broker was stopped; start it with restart()")
        if (code := self._process.poll()) is not None:
            raise BrokerError(f"the broker has ended ({_ending(code)}):\n{self.log}")

    def kill(self) -> None:
        """Kills the broker, as a crash would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stops the broker: it commits pending appends, and ends."""
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Starts the broker again on the same storage and ports; stops it before, if it runs."""
        if self._storage == "memory:":
            raise BrokerError('memory is lost when a broker ends; restart one with storage="directory"')
        self.stop()
        self._start(self.url.rpartition("/")[2], self.kafka)

    def close(self) -> None:
        """Ends the broker, and deletes its temporary directory."""
        self.kill()
        self._folder.cleanup()

    def _start(self, listen: str, kafka: str | None) -> None:
        # One that was killed leaves it.
        self._ready.unlink(missing_ok=True)
        command = [str(_binary.path()), "serve", "--storage", self._storage, "--listen", listen]
        command += ["--ready-file", str(self._ready), "--stop-with-stdin"]
        command += ["--kafka", kafka] if kafka else []
        # A process that is killed loses no page of the cache.
        command += [] if "--durability" in self._flags else ["--durability", "page-cache"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RAWLINE_")}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command + self._flags, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log
            )
        deadline = time.monotonic() + self._timeout
        while not self._ready.exists():
            self.check()
            if time.monotonic() >= deadline:
                raise BrokerError(f"the broker isn't ready after {self._timeout} s:\n{self.log}")
            time.sleep(_POLL)
        ready = json.loads(self._ready.read_text())
        self.url, self.kafka = ready["url"], ready["kafka"]

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code}" if -code not in set(signal.Signals) else signal.Signals(-code).name


__all__ = ["Broker", "BrokerError"]
