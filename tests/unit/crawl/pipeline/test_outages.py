"""An outage gives one log line at its start and one at its end, and a metric in between."""

import logging

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from aragog.crawl.pipeline.outages import QUIET_S, STALE_S, OutageBoard, Outages
from aragog.errors import (
    ContentUnavailable,
    StoreDamaged,
    StoreUnavailable,
)
from aragog.runtime.clock import ManualClock

STORE = StoreUnavailable("hbase", "connection refused")
S3 = ContentUnavailable("s3", "timed out")


@pytest.fixture
def clock():
    return ManualClock(1_700_000_000_000)


@pytest.fixture
def outages(clock):
    return Outages(clock)


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "aragog.crawl.pipeline.outages")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records]


def test_outage_is_logged_once_at_its_start_and_once_at_its_end(outages, clock, lines):
    for _ in range(40):
        outages.record_failure("tasks.store", STORE)
        clock.advance_ms(1000)
    clock.advance_ms(QUIET_S * 1000)
    for _ in range(5):
        outages.record_success("tasks.store")

    (started_at, ended) = lines()
    assert started_at[0] == ended[0] == "WARNING"
    assert started_at[1].startswith("store does not respond: hbase: connection refused")
    assert ended[1] == "store responds again: 40 task runs failed in 50 s"


def test_success_of_another_task_does_not_end_an_outage(outages, clock, lines):
    outages.record_failure("tasks.store", STORE)
    clock.advance_ms(60_000)
    outages.record_success("tasks.robots")

    assert len(lines()) == 1


def test_part_that_serves_only_some_tasks_is_still_out(outages, clock, lines):
    for _ in range(20):
        outages.record_failure("tasks.store", STORE)
        clock.advance_ms(500)
        outages.record_success("tasks.store")

    assert len(lines()) == 1


def test_outages_of_two_parts_are_logged_separately(outages, lines):
    outages.record_failure("tasks.store", STORE)
    outages.record_failure("tasks.store", S3)

    assert [line[1].split()[0] for line in lines()] == ["store", "content"]


def test_damaged_file_is_not_an_outage(outages, lines):
    outages.record_failure("tasks.store", StoreDamaged("00.db", "is damaged"))

    assert lines() == []


@pytest.mark.redis
def test_board_shows_which_part_is_out_and_its_failures(outages, clock, redis_client):
    outages.board = OutageBoard(redis_client, prefix="t:")
    for _ in range(10):
        outages.record_failure("tasks.store", STORE)
        clock.advance_ms(300)
    during = outages.board.read(clock.now_ms())
    clock.advance_ms(QUIET_S * 1000)
    outages.record_success("tasks.store")
    after = outages.board.read(clock.now_ms())

    assert during["store"][0]
    assert not during["content"][0]
    assert after["store"] == (False, 10)


@pytest.mark.redis
def test_outage_without_recent_failures_is_over(outages, clock, redis_client):
    outages.board = OutageBoard(redis_client, prefix="t:")
    outages.record_failure("tasks.store", STORE)
    clock.advance_ms(STALE_S * 1000 + 1)

    assert outages.board.read(clock.now_ms())["store"] == (False, 1)


def test_outage_board_without_redis_fails_no_task(outages, tmp_path, lines):
    no_redis = redis.Redis(
        unix_socket_path=str(tmp_path / "nobody.sock"), retry=Retry(NoBackoff(), 0)
    )
    outages.board = OutageBoard(no_redis, prefix="t:")

    outages.record_failure("tasks.store", STORE)

    assert len(lines()) == 1
