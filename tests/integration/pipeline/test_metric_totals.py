"""Measurements of all processes are summed in Redis and shown to Prometheus."""

from dataclasses import replace

import pytest
import redis
from prometheus_client import CollectorRegistry, generate_latest

from aragog.bootstrap.dashboard import components
from aragog.bootstrap.stores import url_store
from aragog.crawl.pipeline.metric_totals import MetricShipper, MetricTotals
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.dashboard.scraped_metrics import MetricsCollector
from aragog.observability.instruments import (
    SLOT_LATENESS_SECONDS,
    SLOTS,
    STAGE_SECONDS,
    Measurement,
    read_measurements,
    timed,
)
from aragog.settings import ContentSettings, RedisSettings, Settings, StoreSettings
from tests.support.origin import page

pytestmark = pytest.mark.redis


@pytest.fixture
def totals(redis_client):
    return MetricTotals(redis_client, prefix="aragog:")


def text_of(settings):
    registry = CollectorRegistry(auto_describe=True)
    collector = MetricsCollector(components(settings), wait_s=30)
    registry.register(collector)
    try:
        return generate_latest(registry).decode()
    finally:
        collector.close()


def test_two_processes_are_summed_into_a_histogram_with_ascending_buckets(
    totals, redis_url, tmp_path
):
    observer = STAGE_SECONDS.labels("test.stage")
    one, other = MetricShipper(totals.add), MetricShipper(totals.add)
    for seconds in (0.003, 0.4, 0.4, 100):
        observer.observe(seconds)
    one.ship()
    one.ship()
    other.ship()

    text = text_of(
        Settings(
            data_dir=tmp_path,
            redis=RedisSettings(url=redis_url),
            store=StoreSettings(engine="memory"),
        )
    )

    buckets = [line for line in text.splitlines() if 'stage="test.stage"' in line]
    counts = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in buckets}
    name = "aragog_stage_seconds"
    assert counts[name + '_bucket{le="0.005",stage="test.stage"}'] == 2
    assert counts[name + '_bucket{le="0.25",stage="test.stage"}'] == 2
    assert counts[name + '_bucket{le="0.5",stage="test.stage"}'] == 6
    assert counts[name + '_bucket{le="+Inf",stage="test.stage"}'] == 8
    assert counts[name + '_count{stage="test.stage"}'] == 8
    assert counts[name + '_sum{stage="test.stage"}'] == pytest.approx(201.606)


def test_amounts_that_cannot_be_added_now_are_added_later(totals):
    refuse = [True]

    def add(amounts):
        if refuse.pop():
            raise redis.ConnectionError
        totals.add(amounts)

    shipper = MetricShipper(add)
    SLOTS.labels("test").add(3)
    shipper.ship()
    lost = totals.read()
    refuse.append(False)
    SLOTS.labels("test").add()
    shipper.close()

    assert lost == {}
    assert totals.read()[Measurement("aragog_slots", "test", "")] == 4


def test_block_that_raises_is_measured_too():
    observer = STAGE_SECONDS.labels("test.raises")

    with pytest.raises(KeyError), timed(observer):
        raise KeyError

    assert sum(n for part, n in observer.read().items() if part != "sum") == 1


def test_crawl_measures_slots_store_and_content(crawl_harness):
    harness = crawl_harness({"/*": page(b"<title>here</title>")}, qps=1000)
    before = read_measurements()

    harness.crawl(["http://a.test/a", "http://a.test/b"], EnqueueOptions())

    grown = {cell: n - before.get(cell, 0) for cell, n in read_measurements().items()}
    late = {c: n for c, n in grown.items() if c.instrument == SLOT_LATENESS_SECONDS.name}
    assert grown[Measurement("aragog_slots", "used", "")] >= 3  # two pages and robots.txt
    assert (
        grown[Measurement("aragog_slots", "reserved", "")]
        >= grown[Measurement("aragog_slots", "used", "")]
    )
    assert (
        sum(n for c, n in late.items() if c.part != "sum")
        == grown[Measurement("aragog_slots", "used", "")]
    )


@pytest.mark.parametrize(
    ("layout", "expected"), [("packs", ("pack_put", "pack_read")), ("objects", ("put", "get"))]
)
def test_store_operations_are_measured_by_name(tmp_path, layout, expected):
    settings = replace(
        Settings(data_dir=tmp_path),
        store=StoreSettings(engine="sqlite"),
        content=ContentSettings(layout=layout),
    )
    store = url_store(settings)
    before = read_measurements()

    store.put("http://example.com/", {"a": b"1"})
    store.put_content("http://example.com/", b"body")
    body = store.content("http://example.com/").body
    store.close()

    names = {
        (cell.instrument, cell.label)
        for cell, n in read_measurements().items()
        if n > before.get(cell, 0)
    }
    assert body == b"body"
    assert {("aragog_content_seconds", name) for name in expected} <= names
    assert ("aragog_store_seconds", "values_many") in names or ("aragog_store_seconds", "get") in (
        names
    )


def test_measurement_of_a_newer_version_does_not_break_the_others(totals, redis_client):
    totals.add({Measurement("a", "", ""): 1.0})
    (key,) = redis_client.keys("*")
    redis_client.hset(key, '["a", "b", "c", "more"]', 2)

    assert totals.read() == {Measurement("a", "", ""): 1.0}
