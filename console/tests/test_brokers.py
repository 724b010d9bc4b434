"""The brokers of a cluster, each with its zone and its journals."""

from collections.abc import Callable
from pathlib import Path

import pytest
from brokers import Broker, s3_server, s3_server_program
from conftest import Api, Watched
from playwright.sync_api import Page, expect

Open = Callable[..., tuple[Page, Watched]]


@pytest.mark.skipif(not s3_server_program().exists(), reason="`make tools` builds the S3 server")
def test_the_brokers_of_a_cluster_are_listed(open_page: Open, tmp_path: Path) -> None:
    with s3_server(tmp_path) as variables:
        flags = ["--cache-dir", "--zone"]
        brokers = []
        try:
            for number, zone in enumerate(("zone-a", "zone-b")):
                given = [flags[0], str(tmp_path / f"cache-{number}"), flags[1], zone]
                brokers.append(Broker("s3://bucket/cluster", *given, variables=variables))
            Api(brokers[0]).lines("t", ["a"])
            page, _ = open_page(Api(brokers[1]), "#/broker")
            table = page.get_by_role("table", name="Brokers")
            rows = table.locator("tbody tr[tabindex]")
            expect(rows).to_have_count(2)
            expect(rows.filter(has_text="zone-a")).to_contain_text("live")
            expect(rows.filter(has_text="zone-b")).to_contain_text("this one")
            # A busy machine may have let the second one take over.
            expect(rows.filter(has_text="journal 0")).to_have_count(1)
            expect(rows.filter(has_text="nothing")).to_have_count(1)
        finally:
            for broker in brokers:
                broker.stop()
