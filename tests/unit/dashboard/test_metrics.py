"""A scrape is bounded in time and never fails."""

import threading
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from aragog.bootstrap import parts
from aragog.dashboard.metrics import Figures
from aragog.errors import ConfigError
from aragog.pinlater.admin import Admin
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.job import NewJob
from aragog.pinlater.memory import MemoryShard
from aragog.settings import BrokerSettings, RedisSettings, Settings, StoreSettings


@pytest.fixture
def here(tmp_path):
    nobody = f"unix://{tmp_path}/nobody.sock"
    settings = Settings(
        data_dir=tmp_path,
        redis=RedisSettings(url=nobody),
        broker=BrokerSettings(url="memory://"),
        store=StoreSettings(engine="memory"),
    )
    return replace(parts(settings), admin=Admin(Cluster((MemoryShard(),))))


def scrape(here, **options):
    registry = CollectorRegistry(auto_describe=True)
    figures = Figures(here, **options)
    registry.register(figures)
    try:
        return generate_latest(registry).decode()
    finally:
        figures.close()


def test_what_answers_is_told_and_what_does_not_is_down(here):
    here.admin.cluster.enqueue("fetch", [NewJob(b"a"), NewJob(b"b", delay_ms=60_000)])

    text = scrape(here, wait_s=10)

    assert 'aragog_jobs{queue="fetch",state="pending"} 2.0' in text
    assert 'aragog_jobs_due{queue="fetch"} 1.0' in text
    assert "aragog_fold_lag_seconds 0.0" in text
    assert 'aragog_part_up{part="queues"} 1.0' in text
    assert 'aragog_part_up{part="urls"} 0.0' in text
    assert "aragog_redis_up{" in text


def test_a_part_that_hangs_is_left_out_and_is_not_asked_twice(here):
    asked, free = [], threading.Event()

    def hanging():
        asked.append(1)
        free.wait(30)
        raise ConfigError("overrides: gone")

    figures = Figures(replace(here, limiter=hanging), wait_s=0.05)
    registry = CollectorRegistry(auto_describe=True)
    registry.register(figures)
    try:
        first, second = generate_latest(registry).decode(), generate_latest(registry).decode()
    finally:
        free.set()
        figures.close()

    assert 'aragog_part_up{part="domains"} 0.0' in first
    assert 'aragog_part_up{part="domains"} 0.0' in second
    assert asked == [1]


def test_registering_reads_nothing(here):
    def never():
        pytest.fail("was read")

    CollectorRegistry(auto_describe=True).register(Figures(replace(here, limiter=never)))
