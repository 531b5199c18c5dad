"""Refreshing due URLs over ports in memory."""

import pytest

from aragog.crawl.stages.refresh import RefreshStage
from tests.support.stores import NOW_MS, body, page

URLS = [f"http://h{n}.example/" for n in range(5)]


@pytest.fixture
def stage(ports):
    return RefreshStage(
        ports.store.schedule, ports.limiter, ports.robots, ports.enqueuer,
        ports.counters, ports.clock, ports.settings,
    )  # fmt: skip


def test_due_urls_are_enqueued_as_refreshes_and_the_tick_is_recorded(stage, ports):
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in URLS])

    assert stage.run().enqueued == len(URLS)

    assert sorted(ports.sent.urls()) == URLS
    assert all(job.refresh for message in ports.sent.messages for job in message.message.jobs)
    assert ports.counters.ticks == 1


def test_tick_takes_all_due_urls(stage, ports):
    # More than a thousand for each of the five seconds of a tick.
    urls = [f"http://h{n % 600}.example/{n}" for n in range(6000)]
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in urls])

    assert stage.run().enqueued == len(urls)


def test_second_run_within_a_tick_only_records_that_it_ran(stage, ports):
    ports.store.write_pages([page(url, content=body(url), due_at_ms=NOW_MS - 1) for url in URLS])
    stage.run()

    assert stage.run().enqueued == 0
    assert ports.counters.ticks == 2
