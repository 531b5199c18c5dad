"""The spool on a real Redis: limited, exact in its counts, and always open for later stages."""

from contextlib import ExitStack

import pytest
import redis

from aragog.crawl.pipeline.spool import OVERHEAD_BYTES, Spool
from aragog.crawl.pipeline.spool_room import SpoolSpace
from aragog.errors import SpoolUnavailable
from aragog.runtime.clock import ManualClock, SystemClock

pytestmark = pytest.mark.redis

MB = 2**20
BODY = bytes(10_000 - OVERHEAD_BYTES)


def spool_of(client, max_bytes=100_000):
    return Spool(client, prefix="t:", max_bytes=max_bytes)


def test_bodies_are_returned_in_order_and_count_until_freed(redis_client):
    spool = spool_of(redis_client)
    tokens = spool.offer_many([b"one", b"two"])

    assert spool.get_many([tokens[1], "unknown.5", tokens[0]]) == [b"two", None, b"one"]
    assert spool.state().used_bytes == 6 + 2 * OVERHEAD_BYTES

    spool.free([tokens[0], "unknown.5"])
    spool.free([tokens[0]])
    assert spool.state().used_bytes == 3 + OVERHEAD_BYTES
    spool.free(tokens)
    assert spool.state().used_bytes == 0
    assert redis_client.keys("t:*") == []


def test_fetches_leave_the_reserve_for_later_stages(redis_client):
    spool = spool_of(redis_client)
    taken = [spool.offer_many([BODY]) for _ in range(12)]

    assert [tokens is not None for tokens in taken] == [True] * 7 + [False] * 5
    assert spool.offer_many([b"x" * 20_000]) is None
    assert spool.put_many([BODY])
    assert spool.state().used_bytes == 80_000


def test_bodies_that_do_not_fit_together_are_all_refused(redis_client):
    spool = spool_of(redis_client)
    spool.offer_many([BODY])

    assert spool.offer_many([BODY] * 7) is None
    assert spool.state().used_bytes == 10_000
    assert len(redis_client.keys("t:spool:*")) == 1


def test_reserved_body_is_accepted_although_later_stages_filled_the_spool(redis_client):
    # Pages were fetched twice while the store stage was blocked.
    spool = spool_of(redis_client)
    reservation = spool.reserve(1, urgent=False)
    spool.put_many([BODY] * 9)

    assert spool.offer_many([BODY]) is None
    assert spool.offer_many([BODY], reservation)


def test_reservations_count_before_their_bodies_arrive(redis_client):
    spool = spool_of(redis_client)
    reservations = [spool.reserve(1, urgent=True) for _ in range(6)]

    assert [r is None for r in reservations] == [False] * 4 + [True] * 2
    assert spool.state().closed

    tokens = spool.offer_many([BODY], reservations[0])
    assert tokens
    assert spool.state().used_bytes == 10_000 + 3 * 16_384
    spool.free([*tokens, *filter(None, reservations)])
    assert spool.state().used_bytes == 0
    assert redis_client.keys("t:*") == []


def test_bodies_larger_than_their_reservation_are_refused(redis_client):
    spool = spool_of(redis_client)
    spool.put_many([BODY] * 5)
    reservation = spool.reserve(1, urgent=False)

    assert spool.offer_many([bytes(40_000)], reservation) is None
    assert spool.state().used_bytes == 50_000 + 16_384


def test_batch_too_large_for_the_free_space_is_fetched_in_part(redis_client):
    # The spool was slightly below its high mark, so it stayed open, but no batch fit below its
    # limit. For minutes, nothing was fetched, and claiming continued.
    spool = spool_of(redis_client)
    spool.put_many([BODY] * 3)
    assert not spool.state().closed
    assert spool.reserve(3, urgent=False) is None

    with SpoolSpace(spool, SystemClock()).reservation(3, urgent=False) as reserved:
        assert reserved.bodies == 1
        assert spool.state().closed
    with SpoolSpace(spool, SystemClock()).reservation(1, urgent=False) as reserved:
        assert reserved.bodies == 1
    assert spool.state().used_bytes == 30_000


def test_ordinary_fetches_leave_space_for_urgent_ones(redis_client):
    # Batches claimed while the spool was open filled it to its limit, so a URL of priority 0 was
    # not fetched before a later stage stored something.
    spool = spool_of(redis_client, max_bytes=400_000)
    spool_space = SpoolSpace(spool, ManualClock())
    spool.put_many([BODY])

    with ExitStack() as stack:
        ordinary = [stack.enter_context(spool_space.reservation(8, urgent=False)) for _ in range(3)]
        assert spool.state().closed
        urgent = stack.enter_context(spool_space.reservation(4, urgent=True))

    assert [reserved.bodies if reserved else 0 for reserved in ordinary] == [8, 4, 0]
    assert urgent.bodies == 4


def test_empty_spool_accepts_a_body_larger_than_itself(redis_client):
    spool = spool_of(redis_client)

    assert spool.offer_many([bytes(300_000)])
    assert spool.state().full


def test_spool_closes_at_the_high_mark_and_opens_at_the_low_mark_for_all(redis_client):
    spool, other = spool_of(redis_client), spool_of(redis_client)
    tokens = []
    closed = []
    for _ in range(6):
        tokens += spool.offer_many([BODY])
        closed.append(other.state().closed)
    assert closed == [False] * 3 + [True] * 3

    opened = []
    while tokens:
        spool.free([tokens.pop()])
        opened.append(not other.state().closed)
    assert opened == [False] * 2 + [True] * 4


def test_later_stages_can_put_and_free_when_memory_is_full(own_redis):
    with redis.Redis.from_url(own_redis.url) as client:
        spool = spool_of(client)
        tokens = spool.offer_many([BODY, BODY])
        client.config_set("maxmemory", 1)

        with pytest.raises(SpoolUnavailable):
            spool.offer_many([BODY])
        more = spool.put_many([b"page data"])
        assert spool.get_many([*tokens, *more]) == [BODY, BODY, b"page data"]
        spool.state()
        spool.free([*tokens, *more])
        assert spool.state().used_bytes == 0


def test_recently_read_body_is_not_idle(redis_client):
    spool = spool_of(redis_client)
    old, read = spool.put_many([b"old", b"read"])
    redis_client.zincrby("t:spool.index", -10_000, old)
    redis_client.zincrby("t:spool.index", -10_000, read)
    assert set(spool.idle_tokens(9, 100)) == {old, read}

    spool.get_many([read])

    assert spool.idle_tokens(9, 100) == [old]
    assert spool.free_idle([old, read], 9) == 1
    assert spool.get_many([old, read]) == [None, b"read"]


def test_memory_limit_of_the_server_limits_the_spool(redis_client):
    redis_client.config_set("maxmemory", 40 * MB)
    try:
        assert Spool(redis_client, prefix="t:").bounds().max_bytes == 10 * MB
    finally:
        redis_client.config_set("maxmemory", 0)
