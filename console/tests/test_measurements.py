"""Measurements that `rawline measure` has rolled up, found, plotted and read in the console."""

import json
import subprocess
from collections.abc import Callable, Iterable

import measured
import pytest
from brokers import binary, wait_until
from conftest import Api, Keys, Watched
from playwright.sync_api import Locator, Page, Route, expect

Open = Callable[..., tuple[Page, Watched]]

# 2025-11-24T00:00:00Z
BEGIN_MS = 1_763_942_400_000
HOUR_MS = 60 * measured.MINUTE_MS


def measure(api: Api, topic: str, lines: Iterable[str]) -> None:
    """Appends measurements and rolls them up in the broker's storage."""
    produce = [binary(), "produce", topic, "--format", "avro", "--schema", "measurement", "--broker", api.url]
    subprocess.run(produce, input="\n".join(lines) + "\n", text=True, check=True, capture_output=True)
    roll_up = [binary(), "measure", topic, "--storage", api.broker.folder, "--broker", api.url]
    subprocess.run(roll_up, check=True, capture_output=True)


def queried(api: Api, *arguments: str) -> dict[str, object]:
    """What `rawline query` finds."""
    command = [binary(), "query", *arguments, "--format", "json", "--storage", api.broker.folder]
    found: dict[str, object] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def column(page: Page, table: str, name: str) -> Locator:
    return page.get_by_role("table", name=table, exact=True).locator(f"tbody td.column-{name}")


def expect_numbers(shown: Locator, expected: list[float]) -> None:
    """Waits until these numbers are shown, with the six digits that the page shows."""
    numbers = [float(f"{value:.6g}") for value in expected]
    wait_until(lambda: [float(text) for text in shown.all_inner_texts()] == numbers)


def choice(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name, exact=True)


def pixels(page: Page) -> list[int]:
    """The plot's red, green, blue and opacity. Of a copy: Chromium warns of reading the original twice."""
    copied = "const { width, height } = c, copy = new OffscreenCanvas(width, height).getContext('2d');"
    read = "copy.drawImage(c, 0, 0); return Array.from(copy.getImageData(0, 0, width, height).data)"
    found: list[int] = page.locator(".plot canvas").evaluate(f"(c) => {{ {copied} {read} }}")
    return found


@pytest.fixture
def machines(api: Api) -> Api:
    """A broker with a day of measurements of six machines, one in five minutes."""
    measure(api, "machines", measured.machines(BEGIN_MS, 1440, 5))
    return api


def test_measurements_show_up_when_they_are_rolled_up(api: Api, open_page: Open) -> None:
    page, _ = open_page(api)
    page.get_by_role("link", name="Measurements").click()
    expect(page.get_by_text("No measurements yet")).to_be_visible()
    expect(page.locator(".start pre")).to_contain_text("rawline measure cloud --storage STORAGE")
    measure(api, "machines", measured.machines(BEGIN_MS, 60))
    expect(page.get_by_role("table", name="Metrics")).to_be_visible()
    expect(column(page, "Metrics", "metric")).to_have_text(["cpu.load", "memory.free", "requests", "temperature"])


def test_a_metric_is_found_plotted_and_filtered(machines: Api, open_page: Open) -> None:
    page, watched = open_page(machines, "#/measurements")
    lines = page.get_by_role("table", name="Lines", exact=True)
    # The first metric, each of its series.
    expect(lines.locator("tbody tr[tabindex]")).to_have_count(6)
    expect(page.get_by_label("Series", exact=True)).to_contain_text("6 lines of 6 series, steps of 10m")
    page.get_by_label("Search metrics").fill("REQ")
    expect(page.get_by_text("1 of 4 metrics")).to_be_visible()
    page.get_by_role("row", name="requests").click()
    page.get_by_label("Search metrics").fill("")
    expect(page.locator(".plot strong")).to_have_text("requests  avg")

    choice(page, "Aggregation").select_option("rate")
    choice(page, "Lines").select_option(label="by region")
    choice(page, "Step").select_option("1h")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("3 lines of 6 series, steps of 1h")
    expect(lines.locator("tbody tr[tabindex]")).to_have_count(3)
    expect(column(page, "Lines", "line")).to_have_text(["ap-southeast-1", "eu-west-1", "us-east-1"])
    expect(page.locator(".plot strong")).to_have_text("requests  rate")
    answer = queried(machines, "machines", "requests", "--agg", "rate", "--by", "region", "--step", "1h")
    last = [line["points"][-1][1] for line in answer["series"]]  # type: ignore[attr-defined]
    expect_numbers(column(page, "Lines", "last"), last)
    named = page.get_by_role("img").get_attribute("aria-label") or ""
    assert named.startswith("requests rate: ap-southeast-1 "), named

    choice(page, "Lines").select_option("each")
    choice(page, "region").fill("eu-west-1")
    choice(page, "region").press("Enter")
    expect(lines.locator("tbody tr[tabindex]")).to_have_count(3)
    expect(page.locator(".plot strong")).to_have_text("requests  rate  region=eu-west-1")
    expect(column(page, "Lines", "line")).to_have_text(["a1", "a2", "a3"])
    choice(page, "host").fill("!~a1|a2")
    choice(page, "host").press("Enter")
    expect(lines.locator("tbody tr[tabindex]")).to_have_count(1)
    choice(page, "Lines").select_option("all")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 1 series")
    # The place is a link: what was chosen comes back.
    page.reload()
    expect(choice(page, "host")).to_have_value("!~a1|a2")
    expect(choice(page, "Aggregation")).to_have_value("rate")
    # Nothing found is a sentence of the broker's.
    watched.allowed = {404, 400}
    choice(page, "host").fill("absent")
    choice(page, "host").press("Enter")
    expect(page.locator("p.empty[role=status]")).to_contain_text(
        "region is one of: ap-southeast-1, eu-west-1, us-east-1"
    )
    choice(page, "host").fill("=~(")
    choice(page, "host").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("selector")
    choice(page, "host").fill("")
    choice(page, "host").press("Enter")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 3 series")
    # Another metric keeps the aggregation, and forgets the filters.
    page.get_by_role("row", name="temperature").click()
    expect(page.locator(".plot strong")).to_have_text("temperature  rate")
    expect(choice(page, "region")).to_have_value("")


def test_what_is_typed_stays_while_the_lines_change(machines: Api, open_page: Open) -> None:
    page, _ = open_page(machines, "#/measurements/machines?metric=cpu.load")
    series = page.get_by_label("Series", exact=True)
    expect(series).to_contain_text("6 lines of 6 series")
    held: list[Route] = []
    page.route("**/measurements/query?*", lambda route: held.append(route))
    with page.expect_request("**/measurements/query?*"):
        choice(page, "Lines").select_option("all")
    choice(page, "region").press_sequentially("eu-w")
    for route in held:
        route.continue_()
    page.unroute("**/measurements/query?*")
    expect(series).to_contain_text("1 line of 6 series")
    expect(choice(page, "region")).to_have_value("eu-w")
    choice(page, "region").press_sequentially("est-1")
    choice(page, "region").press("Enter")
    expect(series).to_contain_text("1 line of 3 series")


def test_a_range_is_chosen_dragged_and_read(machines: Api, open_page: Open) -> None:
    page, watched = open_page(machines, "#/measurements/machines?metric=cpu.load", timezone_id="Asia/Tokyo")
    series = page.get_by_label("Series", exact=True)
    expect(series).to_contain_text("steps of 10m")
    over = page.locator(".plot .u-over")
    box = over.bounding_box()
    assert box is not None
    # The values at the pointer.
    expect(page.get_by_role("columnheader", name="At the pointer")).to_be_visible()
    page.mouse.move(box["x"] + 1, box["y"] + 40)
    expect(page.get_by_role("columnheader", name="2025-11-24 09:00")).to_be_visible()
    answer = queried(machines, "machines", "cpu.load", "--step", "10m")
    first = [line["points"][0][1] for line in answer["series"]]  # type: ignore[attr-defined]
    expect_numbers(column(page, "Lines", "point"), first)

    # A quarter to a half of the day.
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=5)
    page.mouse.up()
    expect(choice(page, "Time")).to_have_value("own")
    expect(page.get_by_label("From", exact=True)).to_have_value("2025-11-24T14:57")
    expect(page.get_by_label("To", exact=True)).to_have_value("2025-11-24T20:55")
    expect(series).to_contain_text("steps of 2m")
    page.get_by_label("From", exact=True).fill("2025-11-24T17:00")
    page.get_by_label("To", exact=True).fill("2025-11-24T18:00")
    choice(page, "Step").select_option("5m")
    # The numbers of each step.
    page.get_by_role("button", name="By steps").click()
    steps = page.get_by_role("table", name="Steps", exact=True)
    expect(steps).to_have_attribute("aria-rowcount", "13")
    found = queried(
        machines, "machines", "cpu.load", "--step", "5m", "--from", "2025-11-24T08:00", "--to", "2025-11-24T09:00"
    )
    values = [value for _, value in found["series"][0]["points"]]  # type: ignore[index]
    expect_numbers(column(page, "Steps", "value-0"), values)
    times = column(page, "Steps", "time")
    expect(times.nth(0)).to_have_text("2025-11-24 17:00")
    expect(times.nth(1)).to_have_text("2025-11-24 17:05")
    page.get_by_role("button", name="By steps").click()

    # One of the lines alone, and all again.
    def inked() -> int:
        return sum(alpha > 200 for alpha in pixels(page)[3::4])

    page.mouse.move(0, 0)
    all_lines = inked()
    row = page.get_by_role("row", name="a2")
    row.click()
    expect(row).to_have_attribute("aria-selected", "true")
    page.wait_for_timeout(100)
    assert 0 < inked() < all_lines
    row.click()
    page.wait_for_timeout(100)
    assert inked() == all_lines

    # A range without measurements, which the broker says where to find.
    watched.allowed = {404}
    choice(page, "Time").select_option("Last hour")
    expect(page.locator("p.empty[role=status]")).to_contain_text("they have some from 2025-11-24T00:00:00Z")
    choice(page, "Time").select_option("All")
    choice(page, "Step").select_option("automatic")
    expect(series).to_contain_text("steps of 10m")


def test_measurements_are_read_without_a_mouse(machines: Api, open_page: Open) -> None:
    measure(machines, "other", [measured.line("only", {}, BEGIN_MS, 1)])
    page, _ = open_page(machines)
    expect(page.get_by_role("link", name="Measurements")).to_be_visible()
    keys = page.keyboard
    keys.press("g")
    keys.press("m")
    expect(page.get_by_role("row", name="memory.free")).to_be_visible()
    keys.press("/")
    expect(page.get_by_label("Search metrics")).to_be_focused()
    keys.type("e")
    keys.press("Tab")
    keys.press("ArrowDown")
    expect(page.get_by_role("row", name="requests")).to_be_focused()
    keys.press("Enter")
    expect(page.locator(".plot strong")).to_have_text("requests  avg")
    for name in ("Aggregation", "Lines", "Step", "Time", "host", "region"):
        keys.press("Tab")
        expect(choice(page, name)).to_be_focused()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", name
    keys.type("us-east-1")
    keys.press("Enter")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 1 series")
    keys.press("Tab")
    expect(page.get_by_role("button", name="By steps")).to_be_focused()
    keys.press("Enter")
    keys.press("Tab")
    keys.press("End")
    expect(page.get_by_role("row", name="23:50")).to_be_focused()
    choice(page, "Topic").select_option("other")
    expect(page.locator(".plot strong")).to_have_text("only  avg")
    expect(column(page, "Metrics", "metric")).to_have_text(["only"])


def test_hostile_names_are_text(api: Api, open_page: Open) -> None:
    hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>\u202e"\\{}\n'
    lines = [measured.line("plain", {"__proto__": "x", "toString": "y", hostile: str(number)}, BEGIN_MS, number)
             for number in range(2)]  # fmt: skip
    lines += [measured.line(hostile, {hostile: hostile, "a,b=": "c&d"}, BEGIN_MS + n * HOUR_MS, n) for n in range(3)]
    lines += [measured.line("not finite", {}, BEGIN_MS + n * HOUR_MS, value)  # type: ignore[arg-type]
              for n, value in enumerate(("NaN", "Infinity", 1.5, "-Infinity"))]  # fmt: skip
    measure(api, "hostile", lines)
    page, _ = open_page(api, "#/measurements")
    expect(page.get_by_role("table", name="Metrics")).to_contain_text("<script>alert(2)</script>\\u{202e}")
    page.get_by_role("table", name="Metrics").get_by_role("row", name="<script>").click()
    lines_table = page.get_by_role("table", name="Lines", exact=True)
    expect(lines_table).to_contain_text("a,b==c&d")
    choice(page, "Lines").select_option(index=3)
    expect(lines_table).to_contain_text("<script>alert(2)</script>")
    choice(page, "a,b=").fill("c&d")
    choice(page, "a,b=").press("Enter")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 1 series")
    # An input can't hold the end of a line.
    page.locator(".filters input").first.fill("=~(?s).*alert.*")
    page.locator(".filters input").first.press("Enter")
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 1 series")
    page.get_by_role("button", name="By steps").click()
    expect(page.get_by_role("table", name="Steps", exact=True)).to_have_attribute("aria-rowcount", "4")
    assert page.locator("#content img:not([role]), #content script").count() == 0
    shown = page.locator("body").inner_text()
    assert "\u202e" not in shown

    page.goto(f"{api.url}/#/measurements/hostile?metric=plain&by=tag.__proto__")
    expect(lines_table).to_contain_text("plain __proto__=x")
    choice(page, "toString").fill("y")
    choice(page, "toString").press("Enter")
    choice(page, "Lines").select_option("each")
    expect(column(page, "Lines", "line")).to_have_text(["0", "1"])
    page.goto(f"{api.url}/#/measurements/hostile?metric=not+finite&step=1h&agg=last")
    expect(lines_table).to_contain_text("1.5")
    page.get_by_role("button", name="By steps").click()
    expect(column(page, "Steps", "value-0")).to_have_text(["NaN", "+Inf", "1.5", "-Inf"])


def test_the_view_is_there_if_the_broker_can_query(start_broker: Callable[..., Api], open_page: Open) -> None:
    api = start_broker(storage="memory:")
    with_response = "**/measurements"
    page, _ = open_page(api)
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    with page.expect_response(with_response):
        page.reload()
    expect(page.get_by_role("link", name="Broker")).to_be_visible()
    expect(page.get_by_role("link", name="Measurements")).to_have_count(0)
    page.goto(f"{api.url}/#/measurements")
    expect(page.get_by_text("This broker can't query measurements")).to_be_visible()


def test_a_key_sees_the_measurements_of_its_topics(
    start_broker: Callable[..., Api], open_page: Open, keys: Keys
) -> None:
    everything, reader = keys.add("everything", "--all"), keys.add("reader", "--read", "shown")
    api = start_broker("--keys", str(keys.file))
    for topic in ("shown", "hidden"):
        line = measured.line("cpu", {"host": topic}, BEGIN_MS, 1)
        for command in (
            ["produce", topic, "--format", "avro", "--schema", "measurement"],
            ["measure", topic, "--storage", api.broker.folder],
        ):
            named = [binary(), *command, "--broker", api.url, "--api-key", everything]
            subprocess.run(named, input=line + "\n", text=True, check=True, capture_output=True)
    page, watched = open_page(api, "#/measurements")
    watched.allowed = {401, 403}
    page.get_by_label("API key").fill(reader)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("link", name="Measurements")).to_be_visible()
    expect(choice(page, "Topic").locator("option")).to_have_text(["shown"])
    expect(page.get_by_label("Series", exact=True)).to_contain_text("1 line of 1 series")
    page.goto(f"{api.url}/#/measurements/hidden")
    expect(page.get_by_role("alert").first).to_contain_text("grant")


def test_the_plot_is_drawn_in_light_and_dark(machines: Api, open_page: Open) -> None:
    page, _ = open_page(machines, "#/measurements", color_scheme="light")
    expect(page.locator(".plot canvas")).to_be_visible()
    light = pixels(page)
    page.keyboard.press("d")
    page.keyboard.press("d")
    expect(page.get_by_role("button", name="Theme: dark")).to_be_visible()
    page.wait_for_timeout(200)
    assert pixels(page) != light
