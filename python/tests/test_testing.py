"""The broker for users' tests, and the fixtures of pytest, each in a separate pytest."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from brokers import REPOSITORY, binary, wait_until
from confluent_kafka import Consumer, Producer

import rawline
from rawline.testing import Broker, BrokerError


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAWLINE_BIN", str(binary()))


def run_pytest(folder: Path, *arguments: str) -> str:
    """Output of pytest in the folder."""
    # Installed packages are found by their entry points, this one by its name.
    command = [sys.executable, "-m", "pytest", "-p", "rawline.pytest_plugin", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120).stdout


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended; its parent may not have waited for it yet.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_pages_examples_run(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs/testing.md").read_text()
    blocks = re.findall(r"```python\n(# (test_\w+\.py)\n.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for code, name in blocks:
        (tmp_path / name).write_text(code)
    said = run_pytest(tmp_path, "--strict-markers")
    assert "6 passed" in said, said


def test_each_test_has_a_broker_unless_it_shares_one(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import pytest

seen = []

@pytest.mark.parametrize("number", range(2))
def test_own(rawline_broker, number):
    assert rawline_broker.client().topics() == []
    rawline_broker.client().append("t", [b"x"])
    seen.append(rawline_broker.url)

@pytest.mark.rawline(scope="session")
@pytest.mark.parametrize("number", range(2))
def test_shared(rawline_broker, rawline_session_broker, number):
    assert rawline_broker is rawline_session_broker
    assert rawline_broker.client().append("t", [b"x"]).first_offset == number
    seen.append(rawline_broker.url)

def test_what_they_had():
    assert len(seen) == 4 and len(set(seen)) == 3
""")
    said = run_pytest(tmp_path)
    assert "5 passed" in said, said


def test_what_goes_wrong_is_explained(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import os, pytest, signal

def test_that_the_broker_does_not_survive(rawline_broker):
    os.kill(rawline_broker.pid, signal.SIGKILL)
    rawline_broker._process.wait()

def test_that_kills_the_broker(rawline_broker):
    rawline_broker.kill()

def test_that_fails(rawline_broker):
    assert False

@pytest.mark.rawline(flags=["--memory", "1KiB"])
def test_of_a_wrong_flag(rawline_broker):
    pass

@pytest.mark.rawline(scope="module")
def test_of_a_wrong_scope(rawline_broker):
    pass

@pytest.mark.rawline(scope="session", storage="directory")
def test_of_a_scope_with_settings(rawline_broker):
    pass
""")
    said = run_pytest(tmp_path, "-rA")
    assert "1 failed, 2 passed, 4 errors" in said, said
    assert "BrokerError: the broker has ended (SIGKILL):" in said and "the broker has ended (exit code 2):" in said
    assert "--memory must be at least" in said and 'scope is \'module\'; give "test" or "session"' in said
    assert "the session's broker has no settings" in said
    # The output of the failed test's broker.
    failed = said.partition("test_that_fails")[2]
    assert "Captured stderr teardown" in failed and "rawline: listening on http://127.0.0.1" in failed


def test_a_broker_restarts_on_its_storage(tmp_path: Path) -> None:
    with Broker("directory") as broker:
        client, url, kafka = broker.client(), broker.url, broker.kafka
        client.append("t", [b"one"])
        for starts, end in enumerate((broker.kill, broker.stop, lambda: None), start=2):
            end()
            broker.restart()
            # It has started when `restart` returns, not later.
            assert broker.log.count("listening on http") == starts
            assert (broker.url, broker.kafka) == (url, kafka) and client.read("t", 0).to_list() == [b"one"]
        assert broker.log.count("rawline: stopped") == 2
        broker.stop()
        with pytest.raises(BrokerError, match=r"was stopped; start it with restart\(\)"):
            broker.check()
    with Broker(tmp_path / "mine") as mine:
        mine.client().append("t", [b"mine"])
    assert (tmp_path / "mine").is_dir()
    with Broker(tmp_path / "mine") as mine:
        assert mine.client().read("t", 0).to_list() == [b"mine"]
    with Broker() as in_memory, pytest.raises(BrokerError, match='restart one with storage="directory"'):
        in_memory.restart()


def test_kafkas_clients_find_it() -> None:
    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.kafka})
        producer.produce("t", b"from Kafka's client")
        assert producer.flush(30) == 0
        assert broker.client().read("t", 0).to_list() == [b"from Kafka's client"]
        consumer = Consumer({"bootstrap.servers": broker.kafka, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        message = consumer.poll(30)
        assert message is not None and message.value() == b"from Kafka's client"
        consumer.close()
    with Broker(kafka=False) as without:
        assert without.kafka is None and "Kafka" not in without.log


def test_settings_of_the_environment_do_not_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RAWLINE_API_KEY": "secret", "RAWLINE_STORAGE": "/nowhere", "RAWLINE_LISTEN": "wrong"}.items():
        monkeypatch.setenv(name, value)
    with Broker() as broker:
        monkeypatch.delenv("RAWLINE_API_KEY")
        assert rawline.Client(broker.url).topics() == []


def test_it_ends_with_the_process_that_started_it() -> None:
    script = "import os, signal, rawline.testing as t; b = t.Broker(); print(b.pid, b._folder.name, flush=True); "
    for end in ("raise SystemExit", "os.kill(os.getpid(), signal.SIGKILL)"):
        done = subprocess.run([sys.executable, "-c", script + end], capture_output=True, text=True, timeout=60)
        pid, folder = done.stdout.split()
        wait_until(lambda pid=pid: not is_running(int(pid)))  # type: ignore[misc]
        assert done.returncode in (0, -signal.SIGKILL)
        assert not Path(folder, "ready.json").exists()
        shutil.rmtree(folder, ignore_errors=True)


def test_wrong_arguments_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"flags is \'--insecure\'; give a list such as"):
        Broker(flags="--insecure")
    with pytest.raises(BrokerError, match="unexpected argument '--wrong'"):
        Broker(flags=["--wrong"])
    monkeypatch.setenv("RAWLINE_BIN", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="RAWLINE_BIN is"):
        Broker()
