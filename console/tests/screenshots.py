"""Takes the screenshots of docs/console: logs like Zeek's, a group, a running benchmark, measurements of machines."""

import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import logs
import measured
from conftest import FLAGS, REPOSITORY, Api, Broker
from playwright.sync_api import sync_playwright

# What `make full` builds: measurements are in it.
BINARY = REPOSITORY / "target/release/rawline"
FOLDER = REPOSITORY / "docs/console"

# The plots need some steps of ten seconds.
RUN_SECONDS = float(os.environ.get("SCREENSHOT_SECONDS", "150"))


def produce(api: Api, *arguments: str, given: list[str]) -> None:
    command = [BINARY, "produce", *arguments, "--broker", api.url]
    subprocess.run(command, input="\n".join(given) + "\n", text=True, check=True, capture_output=True)


def fill(api: Api) -> None:
    now = time.time()
    api.create("zeek.conn", partitions=4, retain_hours=168)
    api.create("zeek.dns", retain_hours=168)
    api.create("zeek.weird", payload="value", retain_hours=720)
    api.create("zeek.ssl", partitions=2, retain_bytes=10_000_000_000)
    api.create("orders", partitions=4, cleanup_policy="compact")
    produce(api, "zeek.dns", given=logs.dns(40_000, now - 400))
    for partition in range(4):
        produce(api, "zeek.conn", "--partition", str(partition), given=logs.conn(9_000 + partition * 700, now - 120))
    types = ["--format", "value", "--as", "id.orig_h=address", "--as", "ts=timestamp"]
    produce(api, "zeek.weird", *types, given=logs.weird(2_000, now - 3400))
    produce(api, "orders", "--key", "customer-7", given=['{"order": 1, "state": "paid"}'])


def measure(api: Api) -> None:
    """A day of measurements, rolled up."""
    now_minutes = int(time.time()) // 60
    lines = measured.machines((now_minutes - 1440) * measured.MINUTE_MS, 1440)
    produce(api, "machines", "--format", "avro", "--schema", "measurement", given=list(lines))
    command = [BINARY, "measure", "machines", "--storage", api.broker.folder, "--broker", api.url]
    subprocess.run(command, check=True, capture_output=True)


class Traffic:
    """Records that arrive, a group that reads them, and a benchmark, until it is stopped."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.is_running = True
        consume = [BINARY, "consume", "zeek.conn", "--group", "detector", "--follow", "--broker", api.url]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.consumers = [subprocess.Popen(consume, **quiet) for _ in range(2)]  # type: ignore[call-overload]
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        number = 0
        while self.is_running:
            number += 1
            lines = logs.conn(200 + 150 * (number % 7), time.time())
            produce(self.api, "zeek.conn", "--partition", str(number % 4), given=lines)
            produce(self.api, "zeek.dns", given=logs.dns(120, time.time()))
            # A benchmark's records: of one size, as fast as a producer in Python sends them.
            body = "\n".join(["x" * 1023] * 512).encode()
            for _ in range(4 + number % 5):
                self.api.send("POST", "/records?topic-name=bench", body, "application/x-ndjson")
            for offset in range(0, 1024, 512):
                target = f"/records?topic-name=bench&offset={offset}&max-records=0"
                request = urllib.request.Request(
                    self.api.url + target, headers={"Accept": "application/vnd.rawline.batch"}
                )
                with urllib.request.urlopen(request) as response:
                    response.read()

    def stop(self) -> None:
        self.is_running = False
        self.thread.join()
        for consumer in self.consumers:
            consumer.terminate()
            consumer.wait()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    os.environ["RAWLINE_BIN"] = str(BINARY)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        api = Api(Broker(Path(folder) / "data"))
        fill(api)
        measure(api)
        traffic = Traffic(api)
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)

        def page(place: str, scheme: str, height: int = 640):  # type: ignore[no-untyped-def]
            context = browser.new_context(viewport={"width": 1180, "height": height}, color_scheme=scheme)
            opened = context.new_page()
            opened.goto(f"{api.url}/{place}")
            return opened

        group = page("#/group/detector", "light", 620)
        time.sleep(RUN_SECONDS)
        group.screenshot(path=FOLDER / "group.png")
        topics = page("#/topics", "light", 400)
        topics.get_by_role("button", name="Records/s").click()
        topics.wait_for_timeout(5000)
        topics.screenshot(path=FOLDER / "topics.png")
        records = page("#/topic/zeek.weird/records?from=offset", "dark")
        records.locator("tbody tr[tabindex]").nth(3).click()
        records.locator(".tree").wait_for()
        records.screenshot(path=FOLDER / "records.png")
        search = "from=search&kind=where&for=service%3Dssh+and+resp_bytes%3E1900000"
        found = page(f"#/topic/zeek.conn/records?{search}", "light", 480)
        found.get_by_role("button", name="Stop").and_(found.locator(":disabled")).wait_for()
        found.locator("tbody tr[tabindex]").nth(2).click()
        found.get_by_label("JSON").wait_for()
        found.screenshot(path=FOLDER / "search.png")
        broker = page("#/broker", "light", 800)
        broker.wait_for_timeout(1500)
        broker.screenshot(path=FOLDER / "broker.png")
        plotted = page("#/measurements/machines?metric=cpu.load&agg=p99&by=tag.region", "dark", 760)
        plotted.locator(".plot .u-over").hover(position={"x": 340, "y": 120})
        plotted.wait_for_timeout(1000)
        plotted.screenshot(path=FOLDER / "measurements.png")
        print(json.dumps({file.name: file.stat().st_size for file in FOLDER.glob("*.png")}))
        browser.close()
        traffic.stop()
        api.broker.stop()


if __name__ == "__main__":
    main()
