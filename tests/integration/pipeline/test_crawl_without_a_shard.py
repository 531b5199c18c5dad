"""
Crawls are paused, cancelled, ended, shown and reported while one of the broker's servers is down, on every kind of
broker.
"""

import time
from contextlib import contextmanager

import pytest

from aragog.bootstrap.crawls import crawl_control
from aragog.client import Aragog
from aragog.crawl.pipeline.in_flight_values import CancelQuery, NextStep
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.errors import BrokerUnavailable
from aragog.settings import load_settings
from aragog.standalone.redis_server import RedisServer
from bench.crawl_shards import Shards
from tests.support.waiting import wait_until

URLS = [f"http://h{n % 40}.test/{n}" for n in range(200)]
AT_ONCE_S = 20.0
"""Generous for a busy machine; a connection without a response would take minutes."""


@pytest.fixture(
    params=[
        pytest.param("redis", marks=pytest.mark.redis),
        pytest.param("postgres", marks=[pytest.mark.redis, pytest.mark.postgres]),
    ]
)
def system(request, tmp_path_factory):
    """The settings of a system with two broker servers, and a function that kills the second."""
    folder = tmp_path_factory.mktemp("ar")
    broker = Shards(request.param, 2, folder)
    with RedisServer(folder / "r") as shared:
        try:
            broker.start()
            environ = {
                "ARAGOG_SETTINGS": "",
                "ARAGOG_DATA_DIR": str(folder),
                "ARAGOG_REDIS__URL": shared.url,
                "ARAGOG_FETCH__USER_AGENT": "testbot/1.0 (+https://example.com/bot)",
                **broker.settings(),
            }
            yield load_settings(environ=environ), broker
        finally:
            broker.stop()


@contextmanager
def at_once():
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < AT_ONCE_S


def test_crawl_can_be_cancelled_while_a_shard_is_down_with_exact_counts(system):
    settings, broker = system
    with Aragog(settings) as client:
        crawl_control(settings).start("docs", {})
        crawl_control(settings).start("news", {})
        list(client.enqueue_all(URLS, crawl="docs"))
        list(client.enqueue_all(URLS[:20], crawl="news"))
    assert broker.kill_last()

    control = crawl_control(settings)
    with at_once():
        cancelled = control.cancel("docs")
        names = [status.record.name for status in control.all()]
        report = control.report("news")

    assert cancelled.counts.outcomes == {"cancelled": len(URLS)}
    assert cancelled.counts.is_exact
    assert names == ["enqueued", "refresh", "docs", "news"]
    assert (report.status.counts.waiting, report.open_domains) == (20, 20)


def next_steps(settings, control, name):
    """What a stage does with each of the crawl's URLs, by what it reads now."""
    crawls, number = control.registry.read(), control.registry.get(name).number
    return SharedState.from_settings(settings).in_flight.stop(
        [CancelQuery(url, number) for url in URLS], ended=crawls.ended, paused=crawls.paused
    )


def test_crawl_can_be_paused_and_resumed_while_a_shard_is_down_without_losing_urls(system):
    settings, broker = system
    with Aragog(settings) as client:
        crawl_control(settings).start("docs", {})
        list(client.enqueue_all(URLS, crawl="docs"))
    assert broker.kill_last()

    control = crawl_control(settings)
    with at_once():
        paused = control.pause("docs")
        steps_while_paused = next_steps(settings, control, "docs")
        resumed = control.resume("docs")

    assert (paused.record.state, resumed.record.state) == ("paused", "running")
    assert steps_while_paused == [NextStep.WAITS] * len(URLS)
    assert next_steps(settings, control, "docs") == [NextStep.CONTINUES] * len(URLS)
    assert (resumed.counts.waiting, resumed.counts.is_exact) == (len(URLS), True)


def test_crawl_ends_at_its_deadline_while_a_shard_is_down_with_exact_counts(system):
    settings, broker = system
    with Aragog(settings) as client:
        crawl_control(settings).start("docs", {})
        list(client.enqueue_all(URLS, crawl="docs"))
    assert broker.kill_last()

    control = crawl_control(settings)
    until_s = time.time() + 5
    with at_once():
        started = control.start("docs", {"until_ms": int(until_s * 1000)})
    wait_until(lambda: time.time() > until_s, otherwise="the deadline passes")
    with at_once():
        ended = control.status("docs")
        steps = next_steps(settings, control, "docs")

    assert started.counts.waiting == len(URLS)
    assert ended.counts.outcomes == {"cancelled": len(URLS)}
    assert ended.counts.is_exact
    assert steps == [NextStep.ENDS] * len(URLS)
    assert control.status("docs").counts.outcomes == {"cancelled": len(URLS)}


def test_urls_can_be_cancelled_while_a_shard_is_down_without_a_dry_run(system):
    settings, broker = system
    with Aragog(settings) as client:
        crawl_control(settings).start("docs", {})
        list(client.enqueue_all(URLS, crawl="docs"))
    control = crawl_control(settings)
    assert control.waiting({"domain": ["h1.test", "h2.test"], "host": ["h1.test"]}) == 10
    assert broker.kill_last()

    with at_once():
        with pytest.raises(BrokerUnavailable):
            control.waiting({"domain": ["h1.test"]})
        cut = control.cancel_urls("domain", ["h1.test"])

    assert [rule.value for rule in cut] == ["h1.test"]
    assert (
        crawl_control(settings).registry.read().cancelled_until_s("http://h1.test/1") == cut[0].at_s
    )
