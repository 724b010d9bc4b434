"""Groups of consumers: their lag, and changes of their offsets."""

import json
from collections.abc import Callable

from conftest import Api, Keys, Watched
from playwright.sync_api import Page, expect

Open = Callable[..., tuple[Page, Watched]]


def commit(api: Api, group: str, *offsets: tuple[str, int, int]) -> None:
    named = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in offsets]
    api.send("PUT", f"/group?group-name={group}", json.dumps({"offsets": named}).encode())


def committed(api: Api, group: str) -> dict[int, int]:
    found = json.loads(api.send("GET", f"/group?group-name={group}"))
    return {offset["partition"]: offset["offset"] for offset in found["offsets"]}


def test_groups_are_shown_with_members_and_lag(api: Api, open_page: Open) -> None:
    api.create("t", partitions=2)
    api.lines("t", ["a"] * 5)
    api.send("PUT", "/group?group-name=readers", b'{"offsets":[{"topic":"t","partition":0,"offset":2}]}')
    api.send("POST", "/member?group-name=workers", b'{"topics":["t"],"client":"<b>worker</b>"}')
    page, _ = open_page(api, "#/groups")
    expect(page.get_by_role("table", name="Groups")).to_contain_text("workers")
    page.get_by_role("row", name="readers").click()
    expect(page.locator(".facts")).to_contain_text("3")
    expect(page.get_by_role("img")).to_have_attribute("aria-label", "Lag: all partitions 3, highest 3")
    page.get_by_role("table", name="Committed offsets").locator("tbody tr[tabindex]").click()
    expect(page.get_by_role("status")).to_contain_text("2 to 4")
    page.goto(f"{api.url}/#/group/workers")
    expect(page.locator(".members")).to_contain_text("<b>worker</b>")
    expect(page.locator(".members")).to_contain_text("2 partitions")


def test_groups_are_found_by_name_and_topic_and_sorted_by_lag(api: Api, open_page: Open) -> None:
    for topic, records in (("orders", 9), ("payments", 4)):
        api.lines(topic, ["a"] * records)
    commit(api, "billing", ("orders", 0, 7), ("payments", 0, 1))
    commit(api, "audit", ("orders", 0, 9))
    page, _ = open_page(api, "#/groups")
    table = page.get_by_role("table", name="Groups")
    lags, names = (table.locator(f"tbody td.column-{column}") for column in ("lag", "name"))
    expect(names).to_have_text(["audit", "billing"])
    expect(lags).to_have_text(["0", "5"])
    expect(table.locator("tbody td.column-topics")).to_have_text(["orders", "orders, payments"])
    page.get_by_role("button", name="Lag").click()
    expect(names).to_have_text(["billing", "audit"])
    for search in ("BILL", "payments"):
        page.get_by_role("searchbox").fill(search)
        expect(names).to_have_text(["billing"])
        expect(page.get_by_role("status")).to_have_text("1 of 2")
    page.get_by_role("searchbox").fill("missing")
    expect(page.get_by_text("No group matches")).to_be_visible()


def test_offsets_are_reset_after_a_preview_and_deleted(api: Api, open_page: Open) -> None:
    api.create("t", partitions=3)
    for partition, records in ((0, 5), (1, 8)):
        for _ in range(records):
            api.append("t", b"a", partition)
    commit(api, "readers", ("t", 0, 2), ("t", 1, 8))
    page, _ = open_page(api, "#/group/readers")
    dialog = page.get_by_role("dialog")
    changes = dialog.get_by_role("table", name="Changes").locator("tbody tr")
    page.get_by_role("button", name="Reset offsets").click()
    expect(changes).to_have_text(["0202 read again", "1808 read again", "2none0first commit"])
    dialog.get_by_label("Continue at").select_option("shift")
    expect(dialog.get_by_role("button", name="Reset")).to_be_disabled()
    dialog.get_by_label("Records", exact=True).fill("-3")
    expect(changes).to_have_text(["0202 read again", "1853 read again", "2none0first commit"])
    dialog.get_by_label("Continue at").select_option("time")
    dialog.get_by_label("Time", exact=True).fill("2099-01-01T00:00:00")
    expect(changes).to_have_text(["0253 skipped", "2none0first commit"])
    assert committed(api, "readers") == {0: 2, 1: 8}, "a preview changes nothing"
    dialog.get_by_role("button", name="Reset").click()
    expect(dialog).to_have_count(0)
    assert committed(api, "readers") == {0: 5, 1: 8, 2: 0}
    page.get_by_role("button", name="Reset offsets").click()
    dialog.get_by_label("Continue at").select_option("end")
    expect(dialog.get_by_text("Nothing changes")).to_be_visible()
    expect(dialog.get_by_role("button", name="Reset")).to_be_disabled()
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("3 committed offsets in 1 topics")
    expect(dialog.get_by_role("button", name="Delete group")).to_be_disabled()
    dialog.get_by_label("Type readers to confirm").fill("readers")
    dialog.get_by_role("button", name="Delete group").click()
    expect(page.get_by_text("No groups of consumers")).to_be_visible()


def test_a_group_with_members_is_not_reset(api: Api, open_page: Open) -> None:
    api.create("t")
    api.send("POST", "/member?group-name=workers", b'{"topics":["t"],"client":"worker"}')
    page, _ = open_page(api, "#/group/workers")
    expect(page.get_by_role("button", name="Reset offsets")).to_be_disabled()
    expect(page.get_by_role("button", name="Delete")).to_be_disabled()


def test_a_reset_needs_the_grant_to_read(start_broker: Callable[..., Api], open_page: Open, keys: Keys) -> None:
    everything, writer = keys.add("everything", "--all"), keys.add("writer", "--write", "t", "--groups", "readers")
    api = start_broker("--keys", str(keys.file))
    api.key = everything
    api.lines("t", ["a"] * 3)
    commit(api, "readers", ("t", 0, 2))
    page, watched = open_page(api, "#/group/readers")
    watched.allowed = {401, 403}
    page.get_by_label("API key").fill(writer)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Reset offsets").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no grant to read topic t")
    assert committed(api, "readers") == {0: 2}
