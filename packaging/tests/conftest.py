"""What the tests of packages share: the packages, an empty environment, a broker of a package."""

import os
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = Path(os.environ.get("RAWLINE_DIST", ROOT / "dist"))
# Nothing of this machine but the system's programs.
EMPTY = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
RECORD = b'{"from": "a package"}'

_seconds: dict[str, list[tuple[str, float]]] = {}


def package(pattern: str) -> Path:
    """The package whose name matches."""
    found = sorted(DIST.glob(pattern))
    if not found:
        pytest.skip(f"{DIST} has no {pattern}: `make dist` builds it")
    assert len(found) == 1, found
    return found[0]


class Steps:
    """The seconds that each step of a test takes, for the table at the end."""

    def __init__(self, name: str) -> None:
        self.rows = _seconds.setdefault(name, [])

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.rows.append((step, time.monotonic() - started))


@pytest.fixture
def step(request: pytest.FixtureRequest) -> Steps:
    """Measures a step: `with step("install"): …`."""
    return Steps(request.node.name.removeprefix("test_"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The archive's files; or those that another archive would have, if a folder is named."""
    if "RAWLINE_TREE" in os.environ:
        return Path(os.environ["RAWLINE_TREE"])
    with tarfile.open(package("rawline-*-linux-x86_64.tar.xz")) as archive:
        archive.extractall(tmp_path / "archive", filter="data")
    (folder,) = (tmp_path / "archive").iterdir()
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Shows the seconds, whose figures docs/packages.md has."""
    for name, rows in _seconds.items():
        shown = ", ".join(f"{step} {seconds:.2f} s" for step, seconds in rows)
        terminalreporter.write_line(f"{name}: {shown}")
    for file in sorted(DIST.glob("*")):
        terminalreporter.write_line(f"{file.stat().st_size / 1e6:7.2f} MB  {file.name}")


def run(command: Sequence[str | Path], environment: dict[str, str] = EMPTY, **options: object) -> str:
    """What a command prints; its errors are shown."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    output: str = done.stdout
    return output


@contextmanager
def broker(
    step: Steps,
    serve: Sequence[str | Path],
    environment: dict[str, str] = EMPTY,
    stop: Callable[[subprocess.Popen[str]], None] = subprocess.Popen.terminate,
) -> Iterator[str]:
    """The URL of a broker that this command starts. It stops by SIGTERM."""
    started = time.monotonic()
    process = subprocess.Popen(serve, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        lines: list[str] = []
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"listening on (http\S+)", line):
                break
        else:
            raise AssertionError(f"{serve}: {''.join(lines)}")
        step.rows.append(("serve", time.monotonic() - started))
        yield found[1]
        stop(process)
        rest = process.communicate(timeout=30)[1]
        assert process.returncode in (0, 143), f"{serve}: {process.returncode}: {rest}"
    finally:
        process.kill()
        process.communicate()


def append_and_read(step: Steps, rawline: Sequence[str | Path], url: str, environment: dict[str, str] = EMPTY) -> None:
    """Appends a record by the command line of the package, and reads the same bytes."""

    def client(command: str, sent: bytes) -> bytes:
        line = [*rawline, command, "--broker", url, "packages"]
        return subprocess.run(line, input=sent, env=environment, check=True, stdout=subprocess.PIPE).stdout

    with step("append and read"):
        client("produce", RECORD + b"\n")
        assert client("consume", b"") == RECORD + b"\n"
