"""Each view, looked at by axe in light and dark: names, roles, contrast, and the order of headings."""

from collections.abc import Callable

from conftest import REPOSITORY, Api, Watched
from playwright.sync_api import Page, expect

Open = Callable[..., tuple[Page, Watched]]

AXE = REPOSITORY / "console/node_modules/axe-core/axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def check(page: Page, view: str) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        result = page.evaluate("rules => axe.run(document, rules)", RULES)
        found = [
            f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
            for violation in result["violations"]
            for node in violation["nodes"]
        ]
        assert not found, f"{view}, {scheme}:\n" + "\n".join(found)


def test_each_view_is_accessible_in_light_and_dark(api: Api, open_page: Open) -> None:
    api.create("orders", partitions=2, cleanup_policy="compact")
    api.lines("t", ['{"id": 7, "ts": 1764000032.5, "list": [true, null, "text"]}', "text \u202e"])
    api.send("PUT", "/group?group-name=readers", b'{"offsets":[{"topic":"t","partition":0,"offset":1}]}')
    page, _ = open_page(api)
    rows = page.locator("main .table tbody tr[tabindex]")
    page.evaluate(AXE.read_text())
    for place, ready in (
        ("#/topics", "orders"),
        ("#/topic/orders/partitions", "0"),
        ("#/groups", "readers"),
        ("#/topic/t/records?from=search&for=text", "text"),
        ("#/topic/t/records?from=offset&at=0", "text"),
    ):
        page.evaluate("place => { location.hash = place }", place)
        expect(rows.filter(has_text=ready).first).to_be_visible()
        check(page, place)
    rows.first.click()
    expect(page.get_by_label("JSON")).to_be_visible()
    check(page, "a record")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    check(page, "produce")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    check(page, "shortcuts")
    page.keyboard.press("Escape")
    page.evaluate("location.hash = '#/group/readers'")
    page.get_by_role("button", name="Reset offsets").click()
    expect(page.get_by_role("table", name="Changes")).to_be_visible()
    check(page, "reset")
    page.keyboard.press("Escape")
    check(page, "a group")
    for place, title in (("#/broker", "Broker"), ("#/measurements", "Measurements")):
        page.evaluate("place => { location.hash = place }", place)
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        check(page, place)
