"""A scrape takes bounded time and never fails."""

import re
import threading
from concurrent import futures
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import redis
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import pinlater
from aragog.bootstrap.dashboard import components
from aragog.crawl.politeness.slots import DomainReport
from aragog.dashboard.scraped_metrics import MetricsCollector
from aragog.errors import ConfigError, LimiterUnavailable
from aragog.observability.instruments import REFRESH_URLS, SLOTS
from aragog.runtime.clock import ManualClock
from pinlater.admin import Admin
from pinlater.cluster import Cluster
from pinlater.models import EVENTS, NewJob
from pinlater.testing.memory_shard import MemoryShard
from scripts.reference_docs import metrics_in_code
from tests.support.cases import missing


@pytest.fixture
def system(offline):
    return replace(components(offline), admin=Admin(Cluster((MemoryShard(),))))


def scrape(system, **options):
    registry = CollectorRegistry(auto_describe=True)
    collector = MetricsCollector(system, **options)
    registry.register(collector)
    try:
        return generate_latest(registry).decode()
    finally:
        collector.close()


def test_available_components_are_reported_and_others_are_down(system):
    system.admin.cluster.enqueue("fetch", [NewJob(b"a"), NewJob(b"b", delay_ms=60_000)])

    text = scrape(system, wait_s=10)

    expected = """
        aragog_jobs{queue="fetch",state="pending"} 2.0
        aragog_jobs_due{queue="fetch"} 1.0
        aragog_compaction_lag_seconds 0.0
        aragog_part_up{part="queues"} 1.0
        aragog_part_up{part="urls"} 0.0
        aragog_redis_up{
    """
    assert missing(expected, text) == []


def test_every_metric_of_a_scrape_is_in_the_reference(system):
    system.admin.cluster.enqueue("fetch", [NewJob(b"a")])
    families = text_string_to_metric_families(scrape(system, wait_s=10))

    known = {metric.name.removesuffix("_total") for metric in metrics_in_code()}
    assert {family.name for family in families} <= known


def test_counters_start_at_zero(system):
    """Prometheus sees no increase in a series that starts at 1 and would miss the first failure."""
    system.admin.cluster.enqueue("fetch", [NewJob(b"a")])
    text = scrape(system, wait_s=10)

    for event in ("failed", "expired", "retried", "stale", "succeeded"):
        assert f'aragog_queue_events_total{{event="{event}",queue="fetch"}} 0.0' in text


def test_counters_of_all_processes_start_at_zero(system):
    system = replace(system, totals=EmptyTotals())
    text = scrape(system, wait_s=10)

    for event in ("reserved", "used", "missed"):
        assert f'aragog_slots_total{{event="{event}"}} 0.0' in text
    assert 'aragog_refresh_urls_total{decision="postponed"} 0.0' in text


def test_every_label_value_is_initialized():
    for counter in (SLOTS, REFRESH_URLS):
        assert set(counter.values) <= set(counter.children)


class EmptyTotals:
    def read(self):
        return {}


def test_url_counters_start_at_zero_and_are_missing_while_redis_is_down(system):
    class FakeCounters:
        counts: ClassVar = {}

        def read(self):
            return self.counts

    system = replace(system, counters=FakeCounters(), in_flight=NothingInFlight())
    assert "aragog_urls_total{" not in scrape(system, wait_s=10)

    FakeCounters.counts = {"enqueued": 7}
    text = scrape(system, wait_s=10)
    assert 'aragog_urls_total{event="enqueued"} 7.0' in text
    for event in ("fetched", "failed", "refused"):
        assert f'aragog_urls_total{{event="{event}"}} 0.0' in text


class NothingInFlight:
    def count(self):
        return 0


def test_every_event_counted_by_a_queue_is_known():
    lua = "".join(each.read_text() for each in Path(pinlater.__file__).parent.glob("lua/*.lua"))
    counted = {name for name in re.findall(r"\bcount\('(\w+)'", lua) if not name.startswith("late")}

    assert counted | {"claimed"} == set(EVENTS)


@pytest.fixture
def slow(system):
    """A system whose limiter blocks until released."""

    class Slow:
        def __init__(self):
            self.calls, self.free, self.clock = 0, threading.Semaphore(0), ManualClock()
            self.error = None
            self.components = replace(system, limiter=self.limiter, clock=self.clock)

        def limiter(self):
            self.calls += 1
            self.free.acquire(timeout=30)
            if self.error:
                raise self.error
            return self

        def busiest_domains(self, count):
            return [DomainReport("a.test", 10.0, None, self.calls * 1000, 1.0, 0, None)]

    return Slow()


@pytest.fixture
def registry(slow):
    collector = MetricsCollector(slow.components, wait_s=0.05, max_age_s=60)
    registry = CollectorRegistry(auto_describe=True)
    registry.register(collector)
    registry.collector = collector
    yield registry
    for _ in range(10):
        slow.free.release()
    collector.close()


def wait_until_read(registry):
    """Wait until the running read of the domains has finished."""
    part = registry.collector._components["domains"]
    futures.wait([part._running], 30)


def test_hanging_part_is_not_read_twice_and_is_down_after_the_window(slow, registry):
    first = generate_latest(registry).decode()
    slow.clock.advance_ms(61_000)
    second = generate_latest(registry).decode()

    assert 'aragog_part_up{part="domains"}' not in first
    assert 'aragog_part_up{part="domains"} 0.0' in second
    assert slow.calls == 1


def test_slow_part_is_up_and_shows_its_last_values(slow, registry):
    generate_latest(registry)
    slow.free.release()
    wait_until_read(registry)
    slow.clock.advance_ms(30_000)

    text = generate_latest(registry).decode()

    assert slow.calls == 2
    assert 'aragog_part_up{part="domains"} 1.0' in text
    assert 'aragog_domain_backlog_seconds{domain="a.test"} 1.0' in text


def test_old_values_expire(slow, registry):
    generate_latest(registry)
    slow.free.release()
    wait_until_read(registry)
    generate_latest(registry)
    slow.clock.advance_ms(61_000)

    text = generate_latest(registry).decode()

    assert 'aragog_part_up{part="domains"} 0.0' in text
    assert "a.test" not in text


def test_failing_part_is_down_immediately(slow, registry):
    generate_latest(registry)
    slow.free.release()
    wait_until_read(registry)
    slow.error = ConfigError("overrides: gone")
    slow.free.release()
    generate_latest(registry)
    wait_until_read(registry)

    assert 'aragog_part_up{part="domains"} 0.0' in generate_latest(registry).decode()


def test_timeout_of_a_busy_server_is_not_an_outage(slow, registry):
    generate_latest(registry)
    slow.free.release()
    wait_until_read(registry)
    slow.error = LimiterUnavailable("redis://host", "TimeoutError")
    slow.error.__cause__ = redis.TimeoutError("Timeout reading from socket")
    slow.free.release()
    generate_latest(registry)
    wait_until_read(registry)

    assert 'aragog_part_up{part="domains"} 1.0' in generate_latest(registry).decode()


def test_registering_reads_nothing(system):
    def never():
        pytest.fail("was read")

    CollectorRegistry(auto_describe=True).register(MetricsCollector(replace(system, limiter=never)))
