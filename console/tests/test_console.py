"""Everything that a person would click in the console, clicked."""

import datetime
import http.client
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import logs
from brokers import REPOSITORY, binary, wait_until
from conftest import Api, Keys, Watched
from playwright.sync_api import Locator, Page, Route, expect

Open = Callable[..., tuple[Page, Watched]]


def rawline(api: Api, *arguments: str, given: str = "") -> None:
    """Runs a command of the binary."""
    command = [binary(), *arguments, "--broker", api.url]
    subprocess.run(command, input=given, text=True, check=True, capture_output=True)


def without_spaces(text: str) -> str:
    return "".join(text.split())


def cells(page: Page, table: str, column: str) -> Locator:
    return page.get_by_role("table", name=table).locator(f"tbody td.column-{column}")


def test_topics_are_found_sorted_created_and_opened(api: Api, open_page: Open) -> None:
    for name, records in (("small", 1), ("large", 30), ("other", 0)):
        api.create(name)
        if records:
            api.lines(name, ["line"] * records)
    page, watched = open_page(api)
    expect(page.get_by_role("row", name="large")).to_contain_text("30")
    expect(cells(page, "Topics", "name")).to_have_text(["large", "other", "small"])
    page.get_by_role("button", name="Records", exact=True).click()
    expect(cells(page, "Topics", "name")).to_have_text(["large", "small", "other"])
    page.get_by_role("button", name="Records", exact=True).click()
    expect(cells(page, "Topics", "name")).to_have_text(["other", "small", "large"])
    for column in ("Stored", "Records/s", "Bytes/s", "Partitions", "Newest append", "Topic"):
        page.get_by_role("button", name=column, exact=True).click()
    page.get_by_role("searchbox").fill("ALL")
    expect(page.get_by_role("status")).to_have_text("1 of 3")
    page.get_by_role("searchbox").fill("")

    # A rate, while records arrive.
    def has_rate() -> bool:
        api.lines("other", ["line"] * 100)
        return "/s" in "".join(cells(page, "Topics", "record-rate").all_inner_texts())

    wait_until(has_rate)
    watched.allowed = {400, 409}
    page.get_by_role("button", name="New topic").click()
    dialog = page.get_by_role("dialog")
    for wrong in ("small", "a/b"):
        dialog.get_by_label("Name").fill(wrong)
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_role("alert")).to_contain_text(f'"{wrong}"')
    dialog.get_by_label("Name").fill("made")
    dialog.get_by_label("Partitions").fill("3")
    dialog.get_by_label("Payload").select_option("value")
    dialog.get_by_label("Keep for").fill("12.5")
    dialog.get_by_label("Keep at most").fill("1000000")
    dialog.get_by_label("Cleanup policy").select_option("compact,delete")
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="made")).to_be_visible()
    made = api.topic("made")
    assert (made["partitions"], made["payload"], made["retain_hours"]) == (3, "value", 12.5)
    assert (made["retain_bytes"], made["cleanup_policy"]) == (1_000_000, "compact,delete")
    page.get_by_role("link", name="Topics", exact=True).click()
    page.get_by_role("link", name="small").click()
    expect(page.get_by_role("heading", name="small")).to_be_visible()


def test_a_topic_is_produced_to_altered_truncated_and_deleted(api: Api, open_page: Open) -> None:
    api.create("t", partitions=2)
    page, watched = open_page(api, "#/topic/t/partitions")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Produce").click()
    for kind, text, shown in (
        ("text", "plain text", "offset 0"),
        ("json", '{"a": 1}', "offset 1"),
        ("value", '{"b": [1, -2, 1.5, null, true, "x"], "a": 18446744073709551615}', "offset 2"),
    ):
        dialog.get_by_label("Partition").select_option("1")
        dialog.get_by_label("Format").select_option(kind)
        dialog.get_by_label("Record", exact=True).fill(text)
        dialog.get_by_role("button", name="Append record").click()
        expect(dialog.get_by_role("link")).to_have_text(shown)
    dialog.get_by_label("Record", exact=True).fill('{"a": ')
    dialog.get_by_role("button", name="Append record").click()
    expect(dialog.get_by_role("alert")).to_contain_text("not JSON")
    dialog.get_by_role("button", name="Cancel").click()
    assert api.send("GET", "/record?topic-name=t&partition=1&offset=1") == b'{"a": 1}'
    value = api.send("GET", "/record?topic-name=t&partition=1&offset=2")
    assert value[:5] == bytes([13, 2, 5, 1]) + b"a", "the keys of a table ascend"
    command = [binary(), "value", "decode", "--to", "plain"]
    decoded = subprocess.run(command, input=value.hex(), text=True, capture_output=True, check=True).stdout
    assert decoded.strip() == '{"a":18446744073709551615,"b":[1,-2,1.5,null,true,"x"]}'
    expect(page.get_by_role("table", name="Partitions").locator("tbody tr[tabindex]").nth(1)).to_contain_text("3")

    page.get_by_role("button", name="Settings").click()
    dialog.get_by_label("Partitions").fill("4")
    dialog.get_by_label("Keep for").fill("24")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator(".facts")).to_contain_text("24 h")
    expect(page.get_by_role("table", name="Partitions").locator("tbody tr[tabindex]")).to_have_count(4)
    watched.allowed = {409}
    page.get_by_role("button", name="Settings").click()
    dialog.get_by_label("Partitions").fill("1")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("has 4 partitions")
    dialog.get_by_role("button", name="Cancel").click()

    page.get_by_role("button", name="Truncate").click()
    dialog.get_by_role("combobox", name="Partition").select_option("1")
    dialog.get_by_label("Delete the records before offset").fill("2")
    expect(dialog.get_by_role("button", name="Delete records")).to_be_disabled()
    dialog.get_by_label("Type t to confirm").fill("t")
    dialog.get_by_role("button", name="Delete records").click()
    expect(dialog).to_have_count(0)
    assert api.topic("t")["offsets"][1] == {"first_offset": 2, "next_offset": 3}  # type: ignore[index]

    page.get_by_role("table", name="Partitions").locator("tbody tr[tabindex]").nth(1).click()
    expect(page.get_by_role("table", name="Records").locator("tbody tr[tabindex]")).to_have_count(1)
    page.get_by_role("button", name="Delete").click()
    expect(dialog.get_by_role("button", name="Delete topic")).to_be_disabled()
    dialog.get_by_label("Type t to confirm").fill("t")
    watched.allowed = {404}
    dialog.get_by_role("button", name="Delete topic").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    expect(page.get_by_text("No topics yet")).to_be_visible()


def test_records_are_shown_as_they_arrive(api: Api, open_page: Open) -> None:
    api.create("live", partitions=2)
    api.lines("live", [f"before {number}" for number in range(80)])
    page, _ = open_page(api, "#/topic/live")
    records = page.get_by_role("table", name="Records")
    expect(records).to_contain_text("before 79")
    expect(page.get_by_role("status")).to_contain_text("live")
    for partition in (0, 1):
        api.append("live", f"now in {partition}".encode(), partition)
        expect(records).to_contain_text(f"now in {partition}")
    previews = cells(page, "Records", "preview")
    expect(previews.nth(0)).to_have_text("now in 1")
    expect(previews.nth(1)).to_have_text("now in 0")
    page.get_by_role("button", name="Pause").click()
    api.append("live", b"while paused")
    page.get_by_role("searchbox").fill("in 1")
    expect(records.locator("tbody tr[tabindex]")).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    expect(records).not_to_contain_text("while paused")
    page.get_by_role("button", name="Resume").click()
    expect(records).to_contain_text("while paused")
    page.get_by_label("Partition").select_option("1")
    expect(records.locator("tbody tr[tabindex]")).to_have_count(1)
    page.get_by_label("Partition").select_option("")
    expect(records).to_contain_text("while paused")
    expect(page.get_by_role("status")).to_contain_text("live")
    # Many: the page keeps the newest.
    for _ in range(6):
        api.lines("live", ["many"] * 1000)
    api.append("live", b"the newest of all")
    expect(records).to_contain_text("the newest of all")
    expect(records).to_have_attribute("aria-rowcount", "2001")


def test_live_records_are_in_the_order_of_their_offsets(api: Api, open_page: Open) -> None:
    """A time's fraction has as many digits as it needs, so its text doesn't sort as the time does."""
    api.create("live", partitions=2)
    for number in range(60):
        api.append("live", f"record {number}".encode(), number % 2)
    page, _ = open_page(api, "#/topic/live")
    expect(page.get_by_role("table", name="Records")).to_contain_text("record 59")

    # As many as fit on the page.
    def in_order() -> bool:
        shown = cells(page, "Records", "preview").all_inner_texts()
        return len(shown) > 20 and shown == [f"record {number}" for number in range(59, 59 - len(shown), -1)]

    wait_until(in_order)


def test_a_search_covers_more_than_the_newest_records(api: Api, open_page: Open) -> None:
    api.lines("t", ["the needle", *(f"record {number}" for number in range(300))])
    page, _ = open_page(api, "#/topic/t")
    records = page.get_by_role("table", name="Records")
    expect(records).to_contain_text("record 299")
    page.get_by_role("searchbox").fill("needle")
    expect(records.locator("tbody tr[tabindex]")).to_have_count(1)
    page.get_by_role("searchbox").fill("missing")
    expect(page.get_by_text("None of the 301 records that are loaded matches")).to_be_visible()
    page.get_by_role("searchbox").fill("the needle")
    page.get_by_role("button", name="Search the topic").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("the needle")
    expect(page.get_by_role("status")).to_contain_text("1 found in 301 of 301 records")


def test_records_are_found_by_offset_and_time(api: Api, open_page: Open) -> None:
    api.lines("t", [f"record {number}" for number in range(250)])
    page, _ = open_page(api, "#/topic/t")
    page.get_by_role("combobox", name="Which records").select_option("offset")
    expect(page.get_by_role("status")).to_contain_text("150 to 249")
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_role("status")).to_contain_text("50 to 149")
    page.get_by_role("button", name="Older").click()
    expect(page.get_by_role("status")).to_contain_text("0 to 99")
    expect(page.get_by_role("button", name="Older")).to_be_disabled()
    page.get_by_role("button", name="Newer").click()
    expect(page.get_by_role("status")).to_contain_text("100 to 199")
    page.get_by_label("Offset", exact=True).fill("240")
    page.get_by_label("Offset", exact=True).press("Enter")
    expect(page.get_by_role("status")).to_contain_text("240 to 249")
    time_field = page.get_by_label("Time", exact=True)
    page.get_by_role("combobox", name="Which records").select_option("time")
    time_field.fill("2020-01-01T00:00:00")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("status")).to_contain_text("0 to 99")
    time_field.fill("2099-01-01T00:00:00")
    time_field.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("no records")


def test_an_offset_and_a_time_are_of_all_partitions(api: Api, open_page: Open) -> None:
    api.create("t", partitions=2)
    for number in range(12):
        api.append("t", f"record {number}".encode(), number % 2)
    page, _ = open_page(api, "#/topic/t/records?from=offset&at=4")
    previews = cells(page, "Records", "preview")
    expect(previews).to_have_text([f"record {number}" for number in range(8, 12)])
    page.get_by_label("Partition").select_option("1")
    expect(previews).to_have_text(["record 9", "record 11"])
    page.goto(f"{api.url}/#/topic/t/records?from=time&at=2020-01-01T00:00:00Z")
    expect(previews).to_have_text([f"record {number}" for number in range(12)])
    expect(page.get_by_role("status")).to_contain_text("12 records of 2 partitions")


def test_a_record_is_shown_in_every_form(api: Api, open_page: Open, tmp_path: Path) -> None:
    api.append("bytes", b'{"big": 12345678901234567890, "__proto__": {"x": 1}, "list": []}')
    page, _ = open_page(api, "#/topic/bytes")
    records = page.get_by_role("table", name="Records").locator("tbody tr[tabindex]")
    records.first.click()
    shown = page.get_by_label("Record 0 of partition 0")
    tree = shown.get_by_label("JSON")
    assert without_spaces(tree.inner_text()) == '{"big":12345678901234567890,"__proto__":{"x":1},"list":[]}'
    tree.get_by_text('"__proto__": {').click()
    assert without_spaces(tree.inner_text()) == '{"big":12345678901234567890,"__proto__":{"list":[]}', "it is folded"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.get_by_role("button", name="Copy").click()
    expect(shown.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == '{\n  "big": 12345678901234567890,\n  "__proto__": {\n    "x": 1\n  },\n  "list": []\n}'
    formats = page.get_by_label("Format")
    formats.select_option("hex")
    expect(shown.get_by_label("Hex")).to_contain_text("000000  7b 22 62 69 67")
    formats.select_option("text")
    expect(shown.get_by_label("Text")).to_contain_text('"list": []}')
    formats.select_option("value")
    expect(shown).to_contain_text("isn't a structured value")
    formats.select_option("avro")
    expect(shown).to_contain_text("isn't Avro")
    with page.expect_download() as download:
        shown.get_by_role("button", name="Download").click()
    assert download.value.path().read_bytes().startswith(b'{"big"')
    assert download.value.suggested_filename == "bytes-0-0"
    shown.get_by_role("button", name="Close record").click()
    expect(shown).to_have_count(0)

    api.create("values", payload="value")
    given = "\n".join(logs.weird(20, 1_764_000_000))
    types = ["--as", "id.orig_h=address", "--as", "ts=timestamp"]
    rawline(api, "produce", "values", "--format", "value", *types, given=given)
    page.goto(f"{api.url}/#/topic/values")
    records.first.click()
    tree = page.get_by_label("Structured value")
    expect(tree).to_contain_text("id.orig_h")
    expect(tree).to_contain_text("address")
    expect(tree).to_contain_text("2025-11-24T16:00:32.300000000Z timestamp")
    tree.locator("summary").first.click()
    expect(tree.get_by_text("address")).to_be_hidden()
    page.get_by_role("searchbox").fill("name=truncated_header and notice=false")
    expect(page.get_by_role("status")).to_contain_text("match")
    previews = cells(page, "Records", "preview")
    expect(previews.filter(has_not_text='"truncated_header"')).to_have_count(0)
    expect(previews.first).to_contain_text('"truncated_header"')
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Filter in the broker").fill("name=window_recision")
    # Until it filters, the status is that of the subscription before.
    with page.expect_response(lambda response: "where=" in response.url):
        page.get_by_label("Filter in the broker").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("live")
    rawline(api, "produce", "values", "--format", "value", *types, given=given)
    expect(records.first).to_contain_text("window_recision")
    expect(previews.filter(has_not_text="window_recision")).to_have_count(0)

    schema = tmp_path / "schema.json"
    schema.write_text(
        '{"type":"record","name":"Reading","namespace":"plant","doc":"x","fields":[{"name":"sensor","type":"string"},'
        '{"name":"values","type":{"type":"array","items":"double"}},{"name":"next","type":["null","Reading"],'
        '"default":null},{"name":"state","type":{"type":"enum","name":"State","symbols":["ON","OFF"]}}]}'
    )
    inner = '{"sensor":"b","values":[],"next":null,"state":"OFF"}'
    reading = f'{{"sensor":"a","values":[1.5,-2],"next":{inner},"state":"ON"}}'
    rawline(api, "produce", "avro", "--format", "avro", "--schema", str(schema), given=reading + "\n")
    page.goto(f"{api.url}/#/topic/avro")
    expect(records.first).to_contain_text('"sensor": "a"')
    records.first.click()
    avro = page.get_by_label("Record 0 of partition 0").get_by_label("Avro")
    expect(avro).to_contain_text('"next": {')
    assert without_spaces(avro.inner_text()) == reading


def test_numbers_that_are_times_are_shown_as_times(api: Api, open_page: Open) -> None:
    api.append("t", b'{"logtime": 1764000032300, "created_at": 1764000032, "count": 1764000032, "ts": 17}')
    page, _ = open_page(api, "#/topic/t", timezone_id="Asia/Tokyo")
    page.get_by_role("table", name="Records").locator("tbody tr[tabindex]").click()
    times = page.get_by_label("JSON").locator("time")
    expect(times).to_have_count(2)
    shown = [times.nth(number).get_attribute("title") for number in range(times.count())]
    assert shown == ["2025-11-25 01:00:32.300 UTC+09:00", "2025-11-25 01:00:32.000 UTC+09:00"]


def test_keys_headers_and_times_are_produced(api: Api, open_page: Open) -> None:
    api.create("compacted", partitions=3, cleanup_policy="compact")
    page, _ = open_page(api, "#/topic/compacted")
    expect(page.get_by_role("heading", name="compacted")).to_contain_text("compacted compacted")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    append = dialog.get_by_role("button", name="Append record")
    expect(append).to_be_disabled()
    dialog.get_by_role("textbox", name="Key").fill("customer-7")
    dialog.get_by_label("Record", exact=True).fill("paid")
    dialog.get_by_text("Headers and time").click()
    dialog.get_by_role("textbox", name="Headers").fill("trace: 00-ab\n\nsource: a: b")
    dialog.get_by_role("textbox", name="Time").fill("2025-11-24T16:00:32")
    append.click()
    expect(dialog.get_by_role("link")).to_have_text("offset 0")
    dialog.get_by_label("Format").select_option("null")
    append.click()
    expect(dialog.get_by_role("link")).to_have_text("offset 1")
    dialog.get_by_role("textbox", name="Headers").fill("no colon")
    append.click()
    expect(dialog.get_by_role("alert")).to_contain_text("name: value")
    # The partition is the same as for all clients: the hashes are those of Kafka's own test.
    for key, hashed in (("21", -973932308), ("foobar", -790332482), ("abc", 479470107)):
        dialog.get_by_role("textbox", name="Key").fill(key)
        chosen = dialog.get_by_role("combobox", name="Partition").locator("option").first
        expect(chosen).to_have_text(f"by key: {(hashed & 0x7FFFFFFF) % 3}")
    rawline(api, "produce", "compacted", "--key", "customer-7", given="by the command line\n")
    offsets = api.json("/topic?topic-name=compacted")["offsets"]
    [partition] = [number for number, extent in enumerate(offsets) if extent["next_offset"] > 0]
    stored = api.json(f"/records?topic-name=compacted&partition={partition}&offset=0")
    assert [record.get("key") for record in stored] == ["customer-7"] * 3
    assert stored[0]["headers"] == [{"key": "trace", "value": "00-ab"}, {"key": "source", "value": "a: b"}]
    assert (stored[0]["record"], stored[1]["record"]) == ("paid", None)
    entered = time.mktime((2025, 11, 24, 16, 0, 32, 0, 0, -1))
    assert datetime.datetime.fromisoformat(stored[0]["time"]).timestamp() == entered


def test_the_broker_is_plotted(api: Api, open_page: Open) -> None:
    api.lines("t", ["a"] * 500)
    page, _ = open_page(api, "#/broker")
    expect(page.locator(".facts")).to_contain_text("Version")
    expect(page.locator(".plot strong")).to_have_text(
        ["Bytes", "Records", "Commit latency", "Commits", "Memory of buffers", "Connections"]
    )
    # The first step comes after ten seconds; the page asks every ten.
    expect(page.get_by_role("img", name="Commits:")).to_have_attribute(
        "aria-label", re.compile(r"Commits: commits 0\.[1-9]"), timeout=30_000
    )
    expect(page.locator(".strip")).to_contain_text("commit p99")


def test_one_clock_shows_all_times(api: Api, open_page: Open) -> None:
    api.lines("t", ["a record"])
    stored = datetime.datetime.fromisoformat(api.json("/records?topic-name=t&offset=0")[0]["time"])
    tokyo = stored.astimezone(datetime.timezone(datetime.timedelta(hours=9)))
    page, _ = open_page(api, "#/topic/t", timezone_id="Asia/Tokyo")
    time_of_day = cells(page, "Records", "time").first
    shown = page.get_by_label("Record 0 of partition 0")
    page.get_by_role("table", name="Records").locator("tbody tr[tabindex]").click()
    expect(time_of_day).to_have_text(f"{tokyo:%H:%M:%S.%f}"[:-3])
    expect(shown).to_contain_text(f"{tokyo:%Y-%m-%d %H:%M:%S}")
    expect(shown).to_contain_text("UTC+09:00")
    page.get_by_role("button", name="Times: local").click()
    expect(time_of_day).to_have_text(re.compile(f"{stored:%H:%M:%S.%f}"[:-3] + "$"))
    expect(shown).to_contain_text(f"{stored:%Y-%m-%d %H:%M:%S}")
    # A time that is entered is of the same clock, and the choice is remembered.
    for clock, now in (("UTC", stored), ("local", tokyo)):
        for offset, searched in ((-60, 1), (60, 0)):
            since = f"{now + datetime.timedelta(seconds=offset):%Y-%m-%d %H:%M:%S}"
            page.goto(f"{api.url}/#/topic/t/records?from=search&for=a&since={since}")
            expect(page.get_by_role("status")).to_contain_text(f"{searched} found in {searched} of {searched}")
        page.get_by_role("button", name=f"Times: {clock}").click()
    page.goto(f"{api.url}/#/topic/t")
    page.reload()
    page.get_by_role("combobox", name="Which records").select_option("time")
    for offset, status in ((-5, "0 to 0"), (5, "no records")):
        entered = stored + datetime.timedelta(seconds=offset)
        page.get_by_label("Time", exact=True).fill(f"{entered:%Y-%m-%dT%H:%M:%S}")
        page.get_by_label("Time", exact=True).press("Enter")
        expect(page.get_by_role("status")).to_contain_text(status)
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    expect(page.get_by_role("button", name="Times: local")).to_be_visible()
    expect(page.get_by_label("Time", exact=True)).to_have_value(
        f"{tokyo + datetime.timedelta(seconds=5):%Y-%m-%dT%H:%M:%S}"
    )


def test_the_theme_follows_the_system_and_the_choice(api: Api, open_page: Open) -> None:
    def is_dark(page: Page) -> bool:
        return bool(page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)")

    dark, _ = open_page(api, color_scheme="dark")
    expect(dark.get_by_role("heading", name="Topics")).to_be_visible()
    assert is_dark(dark)
    light, _ = open_page(api, color_scheme="light")
    expect(light.get_by_role("heading", name="Topics")).to_be_visible()
    assert not is_dark(light)
    light.get_by_role("button", name="Theme").click()
    assert not is_dark(light)
    light.get_by_role("button", name="Theme").click()
    assert is_dark(light)
    light.reload()
    expect(light.get_by_role("button", name="Theme: dark")).to_be_visible()
    assert is_dark(light)


def test_it_is_used_without_a_mouse(api: Api, open_page: Open) -> None:
    for name in ("alpha", "beta", "gamma"):
        api.lines(name, [f"{name} {number}" for number in range(60)])
    page, _ = open_page(api)
    expect(page.get_by_role("row", name="gamma")).to_be_visible()
    expect(page.get_by_role("link", name="Measurements")).to_be_visible()
    keys = page.keyboard
    # The order of the focus: the link to the content, the header, the view from left to right and down.
    order = []
    for _ in range(20):
        keys.press("Tab")
        focused = "(e => e.getAttribute('aria-label') ?? e.innerText)(document.activeElement)"
        order.append(str(page.evaluate(focused)).split("\t")[0].strip())
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", order
        if order[-1] == "alpha":
            break
    header = ["Skip to the content", "Topics", "Groups", "Measurements", "Broker", "Times: local", "Theme: auto"]
    assert order[:11] == [*header, "Keyboard shortcuts", "Search topics", "New topic", "Topic ↑"], order
    # Without the tabs: the first key goes to the rows, as the link to the content does.
    for first in ("j", "ArrowDown"):
        page.evaluate("document.activeElement.blur()")
        keys.press(first)
        expect(page.get_by_role("row", name="alpha")).to_be_focused()
    page.get_by_role("link", name="Skip to the content").focus()
    keys.press("Enter")
    expect(page.get_by_role("row", name="alpha")).to_be_focused()
    for key, row in (("ArrowDown", "beta"), ("j", "gamma"), ("k", "beta"), ("Home", "alpha"), ("End", "gamma")):
        keys.press(key)
        expect(page.get_by_role("row", name=row)).to_be_focused()
    # A key that is pressed before the broker has responded isn't lost.
    page.route("**/topic?*", lambda route: (time.sleep(0.5), route.continue_()))
    keys.press("Enter")
    expect(page.get_by_role("heading", name="gamma")).to_be_visible()
    keys.press("n")
    page.unroute_all(behavior="wait")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Record", exact=True)).to_be_focused()
    keys.type("typed")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Enter")
    expect(dialog.get_by_role("link")).to_have_text("offset 60")
    keys.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("table", name="Records")).to_contain_text("typed")
    keys.press("p")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    keys.press("/")
    keys.type("typed")
    expect(page.get_by_role("table", name="Records").locator("tbody tr[tabindex]")).to_have_count(1)
    keys.press("Escape")
    page.get_by_role("table", name="Records").locator("tbody tr[tabindex]").focus()
    keys.press("Enter")
    expect(page.get_by_label("Record 60 of partition 0")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_label("Record 60 of partition 0")).to_have_count(0)
    keys.press("e")
    expect(dialog).to_contain_text("Settings of gamma")
    keys.press("Escape")
    for place, heading in (("g", "Groups"), ("b", "Broker"), ("t", "Topics")):
        keys.press("g")
        keys.press(place)
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    keys.press("?")
    expect(dialog).to_contain_text("Keyboard shortcuts")
    keys.press("Escape")
    keys.press("d")
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()


def test_a_key_is_asked_for_and_kept_in_the_tab(start_broker: Callable[..., Api], open_page: Open) -> None:
    api = start_broker("--api-key", "secret")
    api.key = "secret"
    api.lines("t", ["a"])
    page, watched = open_page(api)
    watched.allowed = {401}
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("requires a key")
    page.keyboard.press("Escape")
    # Of the requests with the wrong key, one is refused at once, the others only after the right key was given.
    wrong: list[Route] = []

    def refuse_late(route: Route) -> None:
        is_wrong = route.request.headers.get("authorization") == "Bearer wrong"
        if is_wrong:
            wrong.append(route)
        if not is_wrong or len(wrong) == 1:
            route.continue_()

    page.route("**/*", refuse_late)
    dialog.get_by_label("API key").fill("wrong")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog).to_contain_text("has refused the key")
    dialog.get_by_label("API key").fill("secret")
    dialog.get_by_role("button", name="Continue").click()
    expect(dialog).to_be_hidden()
    assert len(wrong) > 1
    for route in wrong[1:]:
        with page.expect_response(lambda response: response.status == 401):
            route.continue_()
    page.unroute("**/*")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="t", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("live")
    api.append("t", b"with a key")
    expect(page.get_by_role("table", name="Records")).to_contain_text("with a key")
    page.reload()
    expect(page.get_by_role("table", name="Records")).to_contain_text("with a key")
    assert not any("secret" in request for request in watched.requests)
    page.get_by_role("button", name="Change key").click()
    expect(dialog).to_contain_text("requires a key")


def test_a_key_sees_what_it_has_grants_for(start_broker: Callable[..., Api], open_page: Open, keys: Keys) -> None:
    everything, reader = keys.add("everything", "--all"), keys.add("reader", "--read", "shown", "--groups", "mine")
    api = start_broker("--keys", str(keys.file))
    api.key = everything
    for topic in ("shown", "hidden"):
        api.lines(topic, ["a record"])
    page, watched = open_page(api)
    watched.allowed = {401, 403}
    page.get_by_label("API key").fill(reader)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("row", name="shown")).to_be_visible()
    expect(cells(page, "Topics", "name")).to_have_text(["shown"])
    page.get_by_role("link", name="Broker", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text('add "monitor = true"')
    page.get_by_role("link", name="Groups", exact=True).click()
    expect(page.get_by_text("No groups")).to_be_visible()
    page.goto(f"{api.url}/#/topic/shown")
    expect(page.get_by_role("table", name="Records")).to_contain_text("a record")
    page.keyboard.press("n")
    page.get_by_label("Record", exact=True).fill("not allowed")
    page.get_by_role("button", name="Append record").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("grant")
    page.keyboard.press("Escape")
    page.goto(f"{api.url}/#/topic/hidden")
    expect(page.get_by_role("alert")).to_contain_text("grant")


def test_ten_thousand_topics_stay_usable(start_broker: Callable[..., Api], open_page: Open) -> None:
    api = start_broker(storage="memory:")
    connection = http.client.HTTPConnection(api.broker.address)
    for number in range(10_000):
        connection.request("POST", f"/topic?topic-name=topic-{number:05}", b"{}")
        assert connection.getresponse().read()
    connection.close()
    page, _ = open_page(api)
    topics = page.get_by_role("table", name="Topics")
    expect(topics).to_have_attribute("aria-rowcount", "10001")
    assert topics.locator("tbody tr").count() < 60, "only the rows in view are in the document"
    topics.locator("tbody tr[tabindex]").first.focus()
    page.keyboard.press("End")
    expect(page.get_by_role("row", name="topic-09999")).to_be_focused()
    page.keyboard.press("PageUp")
    page.locator(".table").evaluate("(e) => e.scrollTo(0, 140000)")
    expect(page.get_by_role("row", name="topic-05000")).to_be_visible()
    started = time.perf_counter()
    page.get_by_role("searchbox").fill("4242")
    expect(page.get_by_role("status")).to_have_text("1 of 10,000")
    print(f"a search of 10,000 topics took {(time.perf_counter() - started) * 1000:.0f} ms with the driver")
    page.get_by_role("link", name="topic-04242").click()
    expect(page.get_by_role("heading", name="topic-04242")).to_be_visible()


def test_the_page_is_small_and_quick(api: Api, open_page: Open) -> None:
    dist = REPOSITORY / "console/dist"
    size = sum(file.stat().st_size for file in dist.iterdir() if file.suffix in (".html", ".js", ".css"))
    page, watched = open_page(api)
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    entries = page.evaluate("performance.getEntriesByType('paint').map(({ name, startTime }) => [name, startTime])")
    print(f"the console has {size} bytes; first paint after {dict(entries)['first-contentful-paint']:.0f} ms")
    assert size < 200_000
    loaded = [request for request in watched.requests if "/console/" in request]
    assert len(loaded) == 2, loaded
