"""What a fetch worker may claim, by how full the spool and its server are."""

import pytest
import redis

from aragog.clock import ManualClock
from aragog.pipeline.permission.admission import Admission
from aragog.pipeline.spool.room import ALL, NONE, URGENT, claim_limit
from aragog.pipeline.spool.spool import Spool

pytestmark = pytest.mark.redis


@pytest.fixture
def clock():
    return ManualClock()


def test_everything_then_the_urgent_then_nothing_and_back(redis_client, clock):
    spool = Spool(redis_client, prefix="t:", max_bytes=100_000)
    limit = claim_limit(spool, clock=clock)
    limits, tokens = [], []
    for _ in range(3):
        limits.append(limit())
        tokens += spool.put_many([bytes(49_000)])
        clock.advance_ms(200)
    limits.append(limit())
    assert limits == [ALL, URGENT, NONE, NONE]

    spool.free(tokens)
    clock.advance_ms(200)
    assert limit() == ALL


def test_a_nearly_full_server_stores_what_the_spool_holds_before_more_is_fetched(
    redis_client, clock
):
    spool = Spool(redis_client, prefix="t:", max_bytes=10_000_000)
    limit = claim_limit(spool, Admission({"r": redis_client}, clock), clock)
    tokens = spool.put_many([b"x"])
    redis_client.config_set("maxmemory", redis_client.info("memory")["used_memory"] + 100)
    try:
        assert limit() == NONE
        spool.free(tokens)
        clock.advance_ms(2000)
        assert limit() == ALL
    finally:
        redis_client.config_set("maxmemory", 0)


def test_nothing_is_claimed_while_the_spool_does_not_answer(tmp_path):
    with redis.Redis.from_url(f"unix://{tmp_path}/nobody.sock") as client:
        assert claim_limit(Spool(client, prefix="t:", max_bytes=1))() == NONE


def test_redis_is_asked_ten_times_a_second_at_most(redis_client, clock):
    limit = claim_limit(Spool(redis_client, prefix="t:", max_bytes=1_000_000), clock=clock)
    limit()
    before = redis_client.info("stats")["total_commands_processed"]

    assert {limit() for _ in range(100)} == {ALL}
    assert redis_client.info("stats")["total_commands_processed"] - before < 5
