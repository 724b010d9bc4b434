"""The wheel: in an empty virtual environment it gives the module and the command; the source distribution builds."""

import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest
from conftest import EMPTY, ROOT, Steps, append_and_read, broker, package, run

TOOLS = ROOT / ".tools/packaging/bin"
WHEEL = "rawline-*-manylinux*_x86_64.whl"

# What the module does with a broker, whose URL is the argument.
PROGRAM = """
import sys, rawline
with rawline.Client(sys.argv[1]) as client:
    with client.producer("module") as producer:
        producer.send(b"hello")
    end = client.topic("module").next_offset
    print([bytes(record) for record in client.consumer("module", end=end).records()])
"""
# A test's broker is the wheel's own, and pytest finds the fixtures.
TESTS = """
import importlib.metadata, sys
from rawline.testing import Broker
with Broker() as broker:
    broker.client().append("events", [b"of a test"])
    with open(f"/proc/{broker.pid}/cmdline") as command:
        assert command.read().split("\\0")[0] == sys.argv[1], command
(fixtures,) = importlib.metadata.entry_points(group="pytest11")
print(fixtures.value)
"""
TYPED = """
import rawline
client = rawline.Client("http://127.0.0.1:51313")
reveal_type(client.topic("events").next_offset)
"""


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The programs of an empty virtual environment."""
    venv.create(tmp_path / "venv", with_pip=True)
    return tmp_path / "venv/bin"


def test_wheel(empty: Path, tmp_path: Path, step: Steps) -> None:
    with step("install"):
        run([empty / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", package(WHEEL)])
    command = empty / "rawline"
    with broker(step, [command, "serve", "--listen", "127.0.0.1:0", "--storage", tmp_path / "data"]) as url:
        append_and_read(step, [command], url)
        assert run([empty / "python", "-c", PROGRAM, url]) == "[b'hello']\n"
    with step("a test"):
        assert run([empty / "python", "-c", TESTS, command]) == "rawline.pytest_plugin\n"
    licenses = tmp_path / "venv/share/doc/rawline/THIRD-PARTY-LICENSES.txt"
    assert "tokio v" in licenses.read_text(encoding="utf-8")


def test_the_module_is_typed(empty: Path, tmp_path: Path) -> None:
    run([empty / "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", package(WHEEL)])
    (tmp_path / "typed.py").write_text(TYPED, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", f"--python-executable={empty / 'python'}", "typed.py"]
    assert 'Revealed type is "int"' in run(mypy, cwd=tmp_path).replace("builtins.", "")


def test_uvx(tmp_path: Path, step: Steps) -> None:
    uv = EMPTY | {"HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": sys.executable}
    rawline = [TOOLS / "uvx", "--quiet", "--offline", "--from", package(WHEEL), "rawline"]
    with step("install"):
        assert run([*rawline, "--version"], uv).startswith("rawline ")
    with broker(step, [*rawline, "serve", "--listen", "127.0.0.1:0", "--storage", "memory:"], uv) as url:
        append_and_read(step, rawline, url, uv)


def test_the_wheel_is_for_every_system_and_python_that_it_names() -> None:
    """By the symbols that its binary and its module need."""
    name = package(WHEEL).name
    assert re.fullmatch(r"rawline-[\d.]+-cp310-abi3-manylinux2014_x86_64\.manylinux_2_17_x86_64\.whl", name), name
    shown = " ".join(run([TOOLS / "auditwheel", "show", package(WHEEL)]).split())
    assert '"manylinux_2_17_x86_64"' in shown, shown


@pytest.mark.skipif("RAWLINE_TEST_SDIST" not in os.environ, reason="it compiles: set RAWLINE_TEST_SDIST=1")
def test_the_source_distribution_builds(tmp_path: Path, step: Steps) -> None:
    """In the debug profile; what the libraries' compilation leaves in the target directory is used."""
    with tarfile.open(package("rawline-*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    environment = dict(os.environ) | {"CARGO_TARGET_DIR": str(ROOT / "target")}
    with step("build"):
        build = [TOOLS / "maturin", "build", "--profile=dev", "--out", tmp_path / "wheel"]
        subprocess.run(build, cwd=source, env=environment, check=True)
    assert list((tmp_path / "wheel").glob("rawline-*.whl"))
