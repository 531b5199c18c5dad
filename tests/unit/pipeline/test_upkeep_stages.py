"""Refreshing, maintenance and watches over ports in memory."""

import pytest

from aragog.stages.maintenance import MaintenanceStage
from aragog.stages.refresh import RefreshStage
from aragog.stages.watches import WatchBatch, apply_watches
from tests.support.stores import NOW_MS, body, page

URLS = [f"http://h{n}.example/" for n in range(5)]


@pytest.fixture
def stage(ports):
    return RefreshStage(
        ports.store.schedule, ports.limiter, ports.robots, ports.enqueuer,
        ports.counters, ports.clock, ports.settings,
    )  # fmt: skip


def test_due_urls_are_enqueued_as_refreshes_and_the_tick_is_noted(stage, ports):
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in URLS])

    assert stage.run().enqueued == len(URLS)

    assert sorted(ports.sent.urls()) == URLS
    assert all(job.refresh for message in ports.sent.messages for job in message.message.jobs)
    assert ports.counters.ticks == 1


def test_a_tick_takes_all_that_came_due_however_much_it_is(stage, ports):
    # More than a thousand for each of the five seconds of a tick.
    urls = [f"http://h{n % 600}.example/{n}" for n in range(6000)]
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in urls])

    assert stage.run().enqueued == len(urls)


def test_the_second_beat_of_a_tick_only_notes_that_it_ran(stage, ports):
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in URLS])
    stage.run()

    assert stage.run().enqueued == 0
    assert ports.counters.ticks == 2


class Swept:
    """An in-flight set, site blocks and a spool that note what they are asked."""

    def __init__(self):
        self.sites, self.freed = [], []

    def sweep(self):
        return 3

    def replace(self, sites):
        self.sites = sorted(sites)

    def idle(self, for_s, limit):
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
    return MaintenanceStage(ports.store, swept, swept, swept, swept, ports.settings)


def test_takedowns_are_shared_with_producers(maintenance, ports):
    ports.store.takedowns.take_down(host="gone.example")
    maintenance.share_takedowns()

    assert [name for _, name in maintenance.blocks.sites] == ["gone.example"]


def test_dropped_notes_and_freed_bodies_are_logged(maintenance, caplog):
    maintenance.sweep_in_flight()
    maintenance.sweep_spool()

    assert "3 URLs were in flight" in caplog.text
    assert "1 bodies in the spool" in caplog.text


def test_the_later_of_two_requests_of_an_owner_counts_whatever_their_order(ports):
    apply_watches(
        WatchBatch((URLS[0],), "team", watch=False, at_ms=NOW_MS + 2), ports.store.schedule
    )
    apply_watches(
        WatchBatch((URLS[0],), "team", watch=True, at_ms=NOW_MS + 1), ports.store.schedule
    )
    apply_watches(
        WatchBatch((URLS[1],), "team", watch=True, at_ms=NOW_MS + 1), ports.store.schedule
    )

    assert [ports.store.schedule.watchers(url) for url in URLS[:2]] == [[], ["team"]]


def test_one_run_compacts_the_links_of_any_number_of_pages(maintenance, ports):
    target = "http://target.example/"
    urls = [f"http://h{n}.example/" for n in range(2500)]
    for at in range(0, len(urls), 25):
        ports.store.write_pages([page(url, links=[target]) for url in urls[at : at + 25]])

    maintenance.compact_links()

    assert ports.store.links.count_inlinks(target) == len(urls)
