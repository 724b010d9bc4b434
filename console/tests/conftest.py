"""Fixtures: brokers, and pages of a real browser that may do nothing but talk to their broker."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/tests"))
from brokers import REPOSITORY, Broker, binary

__all__ = ["FLAGS", "REPOSITORY", "Api", "Broker", "Keys", "Watched"]

# A busy machine takes its time.
TIMEOUT_MS = float(os.environ.get("CONSOLE_TIMEOUT_MS", "30000"))
expect.set_options(timeout=TIMEOUT_MS)

# Without a display, and without the requests that a browser sends on its own.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# Tells the test what the policy has stopped.
VIOLATIONS = "addEventListener('securitypolicyviolation', (e) => console.error('violation', e.violatedDirective))"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., "Api"]]:
    """Starts brokers of a test's own, without waiting for disks."""
    started: list[Api] = []

    def start(*flags: str, storage: str = "") -> Api:
        folder = storage or str(tmp_path / f"broker-{len(started)}")
        started.append(Api(Broker(folder, "--durability", "page-cache", *flags)))
        return started[-1]

    yield start
    for api in started:
        api.broker.stop()


@pytest.fixture
def api(start_broker: Callable[..., "Api"]) -> "Api":
    """A broker without a key."""
    return start_broker()


@dataclass
class Keys:
    """The keys of a broker that requires one."""

    file: Path

    def add(self, name: str, *grants: str) -> str:
        """Makes a key with these grants. Returns the key."""
        command = [binary(), "key", "add", name, *grants, "--keys", str(self.file)]
        return subprocess.run(command, text=True, check=True, capture_output=True).stdout.strip()


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """No keys yet."""
    return Keys(tmp_path / "keys.toml")


@dataclass
class Api:
    """Requests to a broker."""

    broker: Broker
    key: str = ""

    @property
    def url(self) -> str:
        return self.broker.url

    def send(self, method: str, target: str, body: bytes | None = None, content_type: str = "") -> bytes:
        headers = {"Content-Type": content_type or "application/octet-stream"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.url + target, body, headers, method=method)
        with urllib.request.urlopen(request) as response:
            return bytes(response.read())

    def create(self, topic: str, **settings: object) -> None:
        self.send("POST", f"/topic?topic-name={topic}", json.dumps(settings).encode())

    def append(self, topic: str, record: bytes, partition: int = 0) -> None:
        self.send("POST", f"/records?topic-name={topic}&partition={partition}", record)

    def lines(self, topic: str, lines: list[str]) -> None:
        body = "\n".join(lines).encode()
        self.send("POST", f"/records?topic-name={topic}", body, "application/x-ndjson")

    def json(self, target: str) -> Any:
        request = urllib.request.Request(self.url + target, headers={"Accept": "application/json"})
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def topic(self, topic: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.send("GET", f"/topic?topic-name={topic}"))
        return found


@dataclass
class Watched:
    """Violations of a page, such as errors in its console."""

    broker: str
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    # Errors that the test provokes: responses with these statuses, which Chromium logs.
    allowed: set[int] = field(default_factory=set)

    def watch(self, page: Page) -> None:
        page.add_init_script(VIOLATIONS)
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.faults.append(f"exception {error}"))
        page.on("popup", lambda popup: self.faults.append(f"window {popup.url}"))
        page.on("console", lambda message: self.log(message.type, message.text))
        page.on("request", lambda request: self.request(request.url))
        page.on("websocket", lambda socket: self.faults.append(f"WebSocket {socket.url}"))

    def log(self, kind: str, text: str) -> None:
        is_allowed = any(f"the server responded with a status of {status} " in text for status in self.allowed)
        if kind in ("error", "warning") and not is_allowed:
            self.faults.append(f"{kind} {text}")

    def request(self, url: str) -> None:
        self.requests.append(url)
        if not url.startswith((self.broker + "/", f"blob:{self.broker}/", "data:image/svg+xml,")):
            self.faults.append(f"request {url}")


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., tuple[Page, Watched]]]:
    """Opens the console of a broker."""
    opened: list[tuple[BrowserContext, Watched]] = []

    def open_page(api: Api, place: str = "#/topics", **options: object) -> tuple[Page, Watched]:
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", **options}
        context = browser.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        watched = Watched(api.url)
        watched.watch(page)
        opened.append((context, watched))
        page.goto(f"{api.url}/{place}")
        return page, watched

    yield open_page
    faults = [watched.faults for _, watched in opened]
    for context, _ in opened:
        context.close()
    assert not any(faults), faults
