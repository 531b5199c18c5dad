"""The maintenance stage over ports in memory."""

import pytest

from aragog.crawl.pipeline.in_flight import SweepCounts as Sweep
from aragog.crawl.stages.maintenance import MaintenanceStage
from tests.support.stores import page


class Swept:
    """An in-flight set, site blocks and a spool that record their calls."""

    def __init__(self):
        self.sites, self.freed = [], []

    def sweep(self, ended=()):
        return Sweep(expired=3, cancelled=0)

    def replace(self, sites):
        self.sites = sorted(sites)

    def idle_tokens(self, for_s, limit):
        return [token for token in ("kept", "orphan") if token not in self.freed]

    def touch(self, tokens):
        self.freed += tokens

    def free_idle(self, tokens, for_s):
        self.freed += tokens
        return len(tokens)

    def tokens(self):
        return {"kept"}


@pytest.fixture
def maintenance(ports):
    swept = Swept()
    return MaintenanceStage(ports.store, swept, swept, swept, swept, swept, ports.settings)


def test_takedowns_are_shared_with_producers(maintenance, ports):
    ports.store.takedowns.take_down(host="gone.example")
    maintenance.share_takedowns()

    assert [name for _, name in maintenance.blocks.sites] == ["gone.example"]


def test_expired_urls_and_deleted_bodies_are_logged(maintenance, caplog):
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()

    assert "3 URLs were in flight" in caplog.text
    assert "1 bodies in the spool" in caplog.text


def test_one_run_compacts_the_links_of_any_number_of_pages(maintenance, ports):
    target = "http://target.example/"
    urls = [f"http://h{n}.example/" for n in range(2500)]
    for at in range(0, len(urls), 25):
        ports.store.write_pages([page(url, links=[target]) for url in urls[at : at + 25]])

    maintenance.compact_links()

    assert ports.store.links.count_inlinks(target) == len(urls)
