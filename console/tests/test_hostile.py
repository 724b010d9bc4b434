"""Records that want to be more than records: they are shown, and nothing else happens."""

from collections.abc import Callable

from conftest import Api, Watched
from playwright.sync_api import Page, expect

Open = Callable[..., tuple[Page, Watched]]

MARKUP = (
    b"<script>alert(1)</script><img src=x onerror=alert(2)>"
    b'<a href="javascript:alert(3)">x</a><style>*{display:none}</style>'
)
CONTROLS = bytes(range(32)) + b"\x7f\xc2\x85"
EMOJI = "\U0001f469\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f44d\U0001f3fd"
MARKS = "user\u202egnp.exe \u2066isolate\u2069 \u200bzero\u200d \ufeffbom \u2028line \u0645\u0631\u062d\u0628\u0627"
BROKEN = b"broken \xff\xfe\xc3\x28 utf-8 \xf0\x9f\x98"
PROTO = b'{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}, "toString": "x"}'
LONE = b'"\\ud800 lone"'


# A record in any form.
SHOWN = ".record :is(pre, .json)"


def open_record(page: Page, number: int) -> None:
    page.get_by_role("table", name="Records").locator("tbody tr[tabindex]").nth(number).click()
    expect(page.locator(SHOWN).first).to_be_visible()


def test_hostile_records_are_text(api: Api, open_page: Open) -> None:
    records = [MARKUP, CONTROLS, MARKS.encode(), BROKEN, PROTO, LONE, b""]
    for record in records:
        api.append("hostile", record)
    page, watched = open_page(api, "#/topic/hostile/records?from=offset&at=0")
    table = page.get_by_role("table", name="Records")
    expect(table.locator("tbody tr[tabindex]")).to_have_count(len(records))
    formats = page.get_by_label("Format")
    for number in range(len(records)):
        open_record(page, number)
        for form in ("auto", "text", "json", "value", "avro", "hex"):
            formats.select_option(form)
            expect(page.locator(SHOWN).first).to_be_visible()
        formats.select_option("text")
    assert page.locator(".record script, .table script, .record img, .table img, .record a, .record style").count() == 0

    open_record(page, 0)
    expect(page.locator(".record pre")).to_have_text(MARKUP.decode())
    open_record(page, 1)
    expect(page.locator(".record pre")).to_contain_text("\\x00")
    expect(page.locator(".record pre")).to_contain_text("\\x1b")
    open_record(page, 2)
    expect(page.locator(".record pre")).to_contain_text("user\\u{202e}gnp.exe")
    shown = page.locator("body").inner_text()
    for mark in "\u202e\u2066\u2069\u200b\u200d\ufeff\u2028\x00\x1b":
        assert mark not in shown, f"U+{ord(mark):04X}"
    open_record(page, 3)
    expect(page.locator(".record")).to_contain_text("Not UTF-8")
    formats.select_option("hex")
    expect(page.locator(".record pre")).to_contain_text("ff fe c3 28")
    open_record(page, 4)
    formats.select_option("json")
    expect(page.locator(".record .json")).to_contain_text('"__proto__": {')
    for search in ("__proto__.polluted=true", "toString=x"):
        page.get_by_role("searchbox").fill(search)
        expect(table.locator("tbody tr[tabindex]")).to_have_count(1)
    page.get_by_role("searchbox").fill("hasOwnProperty=x")
    expect(table.locator("tbody tr[tabindex]")).to_have_count(0)
    assert page.evaluate("({}).polluted") is None
    assert not watched.faults


def test_emoji_are_shown_whole(api: Api, open_page: Open) -> None:
    api.append("t", f"{EMOJI} joined\u200dtext".encode())
    page, _ = open_page(api, "#/topic/t")
    expect(page.get_by_role("table", name="Records")).to_contain_text(f"{EMOJI} joined\\u{{200d}}text")


def test_hostile_records_arrive_live(api: Api, open_page: Open) -> None:
    api.create("hostile")
    page, _ = open_page(api, "#/topic/hostile")
    expect(page.get_by_role("status")).to_contain_text("live")
    for record in (MARKUP, CONTROLS, MARKS.encode(), BROKEN, b"data: x\n\nid: 7\n\nevent: end\n\n", b"last"):
        api.append("hostile", record)
    table = page.get_by_role("table", name="Records")
    expect(table).to_contain_text("last")
    expect(table.locator("tbody tr[tabindex]")).to_have_count(6)
    expect(page.get_by_role("status")).to_contain_text("6 received")


def test_a_record_of_ten_megabytes_is_cut_and_can_be_downloaded(api: Api, open_page: Open) -> None:
    record = b"<b>" + b"0123456789" * 1_000_000
    api.create("large")
    page, _ = open_page(api, "#/topic/large")
    expect(page.get_by_role("status")).to_contain_text("live")
    api.append("large", record)
    table = page.get_by_role("table", name="Records")
    expect(table.locator("tbody tr[tabindex]")).to_have_count(1)
    assert len(table.inner_text()) < 2000
    table.locator("tbody tr[tabindex]").click()
    expect(page.locator(".record")).to_contain_text("The first 64 KiB of 9.54 MiB are shown.")
    assert len(page.locator(".record pre").inner_text()) <= 64 << 10
    for form in ("json", "value", "hex"):
        page.get_by_label("Format").select_option(form)
        expect(page.locator(".record pre")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.path().read_bytes() == record
    # The same from an offset, with a view that begins with it.
    page.goto(f"{api.url}/#/topic/large/records?from=offset&at=0")
    expect(table.locator("tbody tr[tabindex]")).to_have_count(1)


def test_hostile_names_and_errors_are_text(api: Api, open_page: Open) -> None:
    api.create("t")
    group = "%3Cimg%20src=x%20onerror=alert(1)%3E%E2%80%AE"
    api.send("PUT", f"/group?group-name={group}", b'{"offsets":[{"topic":"t","offset":0}]}')
    page, watched = open_page(api, "#/groups")
    expect(page.get_by_role("table", name="Groups")).to_contain_text("<img src=x onerror=alert(1)>\\u{202e}")
    page.get_by_role("table", name="Groups").locator("tbody tr[tabindex]").click()
    expect(page.get_by_role("table", name="Committed offsets")).to_contain_text("t")
    watched.allowed = {400, 404}
    page.goto(f"{api.url}/#/topic/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    expect(page.get_by_role("alert")).to_contain_text("<script>")
    page.goto(f"{api.url}/#/topic/%E0%A4%A/records?from=__proto__&partition=x&at=%00")
    expect(page.get_by_role("alert")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
