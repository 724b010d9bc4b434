"""The page of twenty lines that follows a topic, from another origin."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from brokers import REPOSITORY
from conftest import Api
from playwright.sync_api import Browser, expect

PAGE = REPOSITORY / "docs/examples/follow.html"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    """Another origin that serves the page."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(PAGE.parent)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_page_of_twenty_lines_follows_a_topic(site: str, start_broker: Callable[..., Api], browser: Browser) -> None:
    assert len(PAGE.read_text().splitlines()) <= 20
    allowed, other = start_broker("--allow-origin", site), start_broker()
    for api in (allowed, other):
        api.create("news")
    page = browser.new_page()
    with page.expect_response(lambda response: "/subscribe" in response.url) as response:
        page.goto(f"{site}/follow.html?broker={allowed.url}&topic=news")
    assert response.value.status == 200
    for record in (b"first", b"<b>second</b>"):
        allowed.append("news", record)
        expect(page.locator("li").first).to_have_text(record.decode())
    with page.expect_event("requestfailed", lambda request: "/subscribe" in request.url):
        page.goto(f"{site}/follow.html?broker={other.url}&topic=news")
    other.append("news", b"not for you")
    expect(page.locator("li")).to_have_count(0)
    page.close()
