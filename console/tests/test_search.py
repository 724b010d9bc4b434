"""The search in the broker: over a whole topic, by every kind of criteria."""

import json
from collections.abc import Callable

from conftest import Api, Watched
from playwright.sync_api import Locator, Page, expect
from test_console import cells, rawline

Open = Callable[..., tuple[Page, Watched]]


def look_for(page: Page, kind: str, value: str) -> None:
    page.get_by_label("Search for").select_option(label=kind)
    field = page.get_by_label(kind, exact=True)
    field.fill(value)
    field.press("Enter")


def found(page: Page) -> Locator:
    return cells(page, "Records", "preview")


def test_a_topic_is_searched_by_text_pattern_fields_and_key(api: Api, open_page: Open) -> None:
    api.create("t", partitions=2)
    for partition in range(2):
        body = "\n".join(json.dumps({"user": {"id": n % 100}, "text": f"line {n}"}) for n in range(6000)).encode()
        api.send("POST", f"/records?topic-name=t&partition={partition}", body, "application/x-ndjson")
    api.append("t", b"a lonely NEEDLE", 1)
    page, _ = open_page(api, "#/topic/t/records?from=search")
    status = page.get_by_role("status")
    look_for(page, "Text", "needle")
    expect(status).to_contain_text("1 found in 12,001 of 12,001 records")
    expect(found(page)).to_have_text(["a lonely NEEDLE"])
    look_for(page, "Regular expression", 'line 59[0-9]{2}"')
    expect(status).to_contain_text("200 found in 12,001")
    expect(found(page).first).to_contain_text("line 5999")
    page.get_by_label("Order").select_option("oldest")
    expect(found(page).first).to_contain_text("line 5900")
    page.get_by_label("Partition").select_option("0")
    expect(status).to_contain_text("100 found in 6,000")
    page.get_by_label("From offset or time").fill("5950")
    page.get_by_label("From offset or time").press("Enter")
    expect(status).to_contain_text("50 found in 50 of 50")
    look_for(page, "Fields", "user.id=7 and text!=x")
    expect(status).to_contain_text("0 found in 50 of 50")
    page.get_by_label("From offset or time").fill("")
    page.get_by_label("From offset or time").press("Enter")
    expect(status).to_contain_text("60 found in 6,000")

    rawline(api, "produce", "keyed", "--key", "k1", given="a\nb\n")
    rawline(api, "produce", "keyed", "--key", "other", given="last\n")
    page.goto(f"{api.url}/#/topic/keyed/records?from=search&kind=key&for=other")
    expect(found(page)).to_have_text(["last"])


def test_a_search_is_continued_stopped_and_refused(api: Api, open_page: Open) -> None:
    api.lines("t", [f"line {number}" for number in range(1200)])
    page, watched = open_page(api, "#/topic/t/records?from=search&for=line&order=oldest")
    status = page.get_by_role("status")
    expect(status).to_contain_text("500 found in 500 of 1,200")
    expect(found(page).first).to_have_text("line 0")
    page.get_by_role("button", name="Continue").click()
    expect(status).to_contain_text("1,000 found in 1,000 of 1,200")
    page.get_by_role("button", name="Continue").click()
    expect(status).to_contain_text("1,200 found in 1,200 of 1,200")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)

    # Not answered, so that there is something to stop.
    page.route("**/search?*", lambda _: None)
    look_for(page, "Text", "none")
    page.get_by_role("button", name="Stop").click()
    expect(status).to_contain_text("stopped")
    page.unroute_all(behavior="ignoreErrors")
    watched.allowed = {400}
    look_for(page, "Regular expression", "a(")
    expect(page.get_by_role("alert")).to_contain_text("unclosed group")
