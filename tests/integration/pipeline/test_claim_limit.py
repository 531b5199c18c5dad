"""Which jobs a fetch worker may claim, by how full the spool and its server are."""

import pytest
import redis

from aragog.crawl.pipeline.memory_limit import Admission
from aragog.crawl.pipeline.messages import URGENT
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.spool_room import ALL_PRIORITIES, NO_PRIORITY, claim_limit
from aragog.runtime.clock import ManualClock
from pinlater.gates import Allowance

pytestmark = pytest.mark.redis


@pytest.fixture
def clock():
    return ManualClock()


def test_claims_shrink_to_urgent_ones_then_none_and_recover(redis_client, clock):
    spool = Spool(redis_client, prefix="t:", max_bytes=100_000)
    limit = claim_limit(spool, clock=clock)
    limits, tokens = [], []
    for _ in range(3):
        limits.append(limit())
        tokens += spool.put_many([bytes(49_000)])
        clock.advance_ms(200)
    limits.append(limit())
    assert [limit.lowest for limit in limits] == [ALL_PRIORITIES, URGENT, NO_PRIORITY, NO_PRIORITY]

    spool.free(tokens)
    clock.advance_ms(200)
    assert limit() == Allowance(ALL_PRIORITIES)


def test_workers_claim_fewer_batches_near_the_high_mark(redis_client, clock):
    spool = Spool(redis_client, prefix="t:", max_bytes=8_000_000)  # the high mark: 3,000,000
    limit = claim_limit(spool, clock=clock)
    limits = []
    for _ in range(10):
        limits.append(limit())
        spool.put_many([bytes(329_000)])
        clock.advance_ms(200)

    assert limits == [
        *[Allowance(ALL_PRIORITIES)] * 7,
        Allowance(ALL_PRIORITIES, 6),
        Allowance(ALL_PRIORITIES, 3),
        Allowance(ALL_PRIORITIES, 1),
    ]


def test_fetching_resumes_below_the_high_mark_and_claimed_batches_fit_above_it(redis_client, clock):
    spool = Spool(redis_client, prefix="t:", max_bytes=8_000_000)
    limit = claim_limit(spool, clock=clock)
    tokens = spool.put_many([bytes(100_000)] * 30)

    assert limit() == Allowance(URGENT)
    assert spool.reserve(20, urgent=False)
    spool.free(tokens[:10])
    clock.advance_ms(200)
    assert limit().lowest == ALL_PRIORITIES


def test_nearly_full_server_stores_the_spool_before_fetching_more(redis_client, clock):
    spool = Spool(redis_client, prefix="t:", max_bytes=10_000_000)
    limit = claim_limit(spool, Admission({"r": redis_client}, clock=clock), clock)
    tokens = spool.put_many([b"x"])
    redis_client.config_set("maxmemory", redis_client.info("memory")["used_memory"] + 100)
    try:
        assert limit() == Allowance(NO_PRIORITY)
        spool.free(tokens)
        clock.advance_ms(2000)
        assert limit() == Allowance(ALL_PRIORITIES)
    finally:
        redis_client.config_set("maxmemory", 0)


def test_nothing_is_claimed_while_the_spool_is_unreachable(tmp_path):
    with redis.Redis.from_url(f"unix://{tmp_path}/nobody.sock") as client:
        assert claim_limit(Spool(client, prefix="t:", max_bytes=1))() == Allowance(NO_PRIORITY)


def test_redis_is_queried_ten_times_a_second_at_most(redis_client, clock):
    limit = claim_limit(Spool(redis_client, prefix="t:", max_bytes=1_000_000), clock=clock)
    limit()
    before = redis_client.info("stats")["total_commands_processed"]

    assert {limit() for _ in range(100)} == {Allowance(ALL_PRIORITIES)}
    assert redis_client.info("stats")["total_commands_processed"] - before < 5
