import time
import zlib

import pytest
import redis

from aragog.crawl.politeness.robots_cache import RECHECK_S, RobotsCache
from aragog.crawl.politeness.robots_memory import RobotsMemory
from aragog.crawl.politeness.robots_records import (
    HEAD,
    PARSER_VERSION,
    RobotsResult,
    RulesState,
    Validators,
)
from aragog.crawl.politeness.tdm_file import TdmRule
from aragog.errors import RobotsUnavailable
from aragog.runtime.clock import ManualClock
from aragog.settings import PolitenessSettings

pytestmark = pytest.mark.redis

ORIGIN = "https://example.com"
PRIVATE = b"User-agent: *\nDisallow: /private\n"
MINUTE_MS, DAY_MS = 60_000, 86_400_000


@pytest.fixture
def clock():
    return ManualClock()


def time_of_redis(clock):
    """The server's current time, which the test advances."""
    ahead_ms = int(time.time() * 1000) - clock.now_ms()
    return lambda: clock.now_ms() + ahead_ms


@pytest.fixture
def new_cache(redis_url, clock):
    """Makes caches, one per simulated process."""
    caches = []

    def make(**more):
        more = {"clock": clock, "server_ms": time_of_redis(clock)} | more
        caches.append(RobotsCache(redis_url, PolitenessSettings(), **more))
        return caches[-1]

    yield make
    for cache in caches:
        cache.close()


@pytest.fixture
def cache(new_cache):
    return new_cache()


def allows(cached, path):
    return cached.rules.allows("aragog", ORIGIN + path)


def test_unfetched_rules_are_missing(cache):
    assert cache.get(ORIGIN).state is RulesState.MISSING
    assert cache.get(ORIGIN).rules is None


def test_rules_are_shared_between_processes(new_cache, clock):
    new_cache().put(ORIGIN, 200, PRIVATE, clock.now_ms())

    cached = new_cache().get(ORIGIN)

    assert cached.state is RulesState.FRESH
    assert not allows(cached, "/private")
    assert allows(cached, "/public")
    assert cached.fetched_at_ms == pytest.approx(clock.now_ms(), abs=1000)


def test_rules_are_stale_after_a_day_and_missing_after_a_week(cache, clock):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())

    clock.advance_ms(DAY_MS)
    a_day_old = cache.get(ORIGIN)
    clock.advance_ms(6 * DAY_MS)

    assert a_day_old.state is RulesState.STALE
    assert not allows(a_day_old, "/private")
    assert cache.get(ORIGIN).state is RulesState.MISSING


@pytest.mark.parametrize("status", [401, 403, 404, 410, 499])
def test_4xx_allows_all(cache, clock, status):
    cache.put(ORIGIN, status, PRIVATE, clock.now_ms())

    cached = cache.get(ORIGIN)

    assert allows(cached, "/private")
    assert not cached.unreachable


@pytest.mark.parametrize("status", [429, 500, 503, 599, None])
def test_errors_disallow_all_and_are_retried_soon(cache, clock, status):
    cache.put(ORIGIN, status, PRIVATE, clock.now_ms())

    cached = cache.get(ORIGIN)
    clock.advance_ms(10 * MINUTE_MS)

    assert not allows(cached, "/public")
    assert cached.unreachable
    assert cached.status == status
    assert cached.retry_at_ms == clock.now_ms()
    assert cache.get(ORIGIN).state is RulesState.MISSING


@pytest.mark.parametrize("status", [429, 500, None])
def test_good_rules_stay_in_use_through_errors_while_usable(cache, clock, status):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    clock.advance_ms(DAY_MS)

    cache.put(ORIGIN, status, b"", clock.now_ms())
    cached = cache.get(ORIGIN)
    clock.advance_ms(10 * MINUTE_MS)

    assert cached.state is RulesState.FRESH
    assert cached.retry_at_ms == clock.now_ms()
    assert allows(cached, "/public")
    assert not allows(cached, "/private")
    assert cache.get(ORIGIN).state is RulesState.STALE


def test_good_rules_that_are_too_old_are_replaced_by_an_error(cache, clock):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    clock.advance_ms(7 * DAY_MS + 1)

    cache.put(ORIGIN, 503, b"", clock.now_ms())

    assert not allows(cache.get(ORIGIN), "/public")


def test_late_response_does_not_replace_a_newer_one(new_cache, clock):
    new_cache().put(ORIGIN, 200, PRIVATE, clock.now_ms())

    new_cache().put(ORIGIN, 404, b"", clock.now_ms() - 1000)

    assert not allows(new_cache().get(ORIGIN), "/private")


def test_other_processes_see_new_rules_within_seconds(new_cache, clock):
    one, other = new_cache(), new_cache()
    one.put(ORIGIN, 404, b"", clock.now_ms())
    assert allows(other.get(ORIGIN), "/private")

    one.put(ORIGIN, 200, PRIVATE, clock.now_ms() + 1)
    clock.advance_ms(5001)

    assert not allows(other.get(ORIGIN), "/private")


def test_rules_expired_in_memory_are_looked_up_in_redis(new_cache, clock):
    one, other = new_cache(), new_cache()
    one.put(ORIGIN, 503, b"", clock.now_ms())
    clock.advance_ms(599_000)
    assert one.get(ORIGIN).state is RulesState.FRESH
    clock.advance_ms(2_000)
    other.put(ORIGIN, 200, PRIVATE, clock.now_ms())

    assert one.get(ORIGIN).state is RulesState.FRESH


def test_repeated_use_queries_redis_rarely_and_parses_once(cache, clock, redis_client):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    first = cache.get(ORIGIN)
    before = redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]

    again = [cache.get(ORIGIN) for _ in range(100)]

    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == before
    assert all(other.rules is first.rules for other in again)
    clock.advance_ms(5001)
    assert cache.get(ORIGIN).rules is first.rules


def test_rules_after_admission_take_no_round_trip(cache, clock, redis_client):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    cache.get(ORIGIN)
    before = redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]

    clock.advance_ms(60_000)

    assert not cache.rules_after_admission(ORIGIN).allows("aragog", ORIGIN + "/private")
    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == before


def test_rules_after_admission_are_read_again_if_evicted(cache, clock):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())

    assert not cache.rules_after_admission(ORIGIN).allows("aragog", ORIGIN + "/private")
    assert cache.rules_after_admission("https://unknown.example") is None


def test_equal_rules_of_many_origins_are_parsed_once(cache, clock):
    origins = [f"https://site-{n}.example" for n in range(50)]
    for origin in origins:
        cache.put(origin, 200, PRIVATE, clock.now_ms())

    cached = cache.get_many(origins)

    assert len({id(rules.rules) for rules in cached.values()}) == 1


def test_many_origins_cost_one_round_trip(cache, clock, redis_client):
    origins = [f"https://site-{n}.example" for n in range(100)]
    cache.get("https://warm.example")
    before = redis_client.info("commandstats")["cmdstat_evalsha"]["calls"]

    cached = cache.get_many(origins)

    assert list(cached) == origins
    assert redis_client.info("commandstats")["cmdstat_evalsha"]["calls"] == before + 1


def test_results_of_many_origins_are_stored_together(cache, clock):
    origins = [f"https://site-{n}.example" for n in range(30)]
    cache.refreshes.claim(origins)
    statuses = [200, 404, 503]
    results = [
        RobotsResult(of, statuses[n % 3], PRIVATE, clock.now_ms()) for n, of in enumerate(origins)
    ]

    cache.put_many(results)

    cached = cache.get_many(origins)
    assert [rules.status for rules in cached.values()] == 10 * statuses
    assert [rules.unreachable for rules in cached.values()] == 10 * [False, False, True]
    assert not cached[origins[0]].rules.allows("a", "http://site-0.example/private/x")
    assert cache.refreshes.claim(origins) == origins


def test_only_one_process_may_refresh_an_origin_at_a_time(new_cache, clock):
    one, other = new_cache(), new_cache()

    assert one.refreshes.claim([ORIGIN, ORIGIN]) == [ORIGIN]
    assert other.refreshes.claim([ORIGIN]) == []
    one.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    assert other.refreshes.claim([ORIGIN]) == [ORIGIN]


def test_claim_of_a_killed_worker_expires(cache):
    cache.refreshes.claim([ORIGIN])

    (remaining_s,) = cache.refreshes.claims.remaining_s([ORIGIN])
    assert 0 < remaining_s <= 60


def test_claim_can_be_released(cache):
    cache.refreshes.claim([ORIGIN])

    cache.refreshes.release([ORIGIN])

    assert cache.refreshes.claim([ORIGIN]) == [ORIGIN]


def test_used_rules_are_refreshed_before_they_expire_and_unused_ones_are_not(cache, clock):
    used, unused = "https://used.example", "https://unused.example"
    for origin in (used, unused):
        cache.put(origin, 200, PRIVATE, clock.now_ms())
    cache.get(used)

    assert cache.refreshes.take_expiring(clock.now_ms() + DAY_MS - 1) == []
    assert cache.refreshes.take_expiring(clock.now_ms() + DAY_MS) == [used]
    assert cache.refreshes.take_expiring(clock.now_ms() + DAY_MS) == []


def test_only_use_since_the_last_fetch_counts(cache, clock):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    cache.get(ORIGIN)
    clock.advance_ms(DAY_MS)
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())

    assert cache.refreshes.take_expiring(clock.now_ms() + DAY_MS) == []


def test_soonest_to_expire_come_first_up_to_the_limit(cache, clock):
    origins = [f"https://site-{n}.example" for n in range(7)]
    for n, origin in enumerate(origins):
        cache.put(origin, 200, PRIVATE, clock.now_ms() + n)
    cache.get_many(origins)

    assert cache.refreshes.take_expiring(clock.now_ms() + 2 * DAY_MS, limit=3) == origins[:3]
    assert cache.refreshes.take_expiring(clock.now_ms() + 2 * DAY_MS, limit=30) == origins[3:]


def test_memory_is_freed_for_unused_origins(cache, clock, redis_client):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    cache.put("https://down.example", None, b"", clock.now_ms())

    assert 0 < redis_client.pttl(f"aragog:robots:{ORIGIN}") <= 7 * DAY_MS
    assert 0 < redis_client.pttl("aragog:robots:https://down.example") <= 20 * MINUTE_MS


def test_huge_body_is_truncated_and_compressed(cache, clock, redis_client):
    cache.put(ORIGIN, 200, PRIVATE + b"Disallow: /x\n" * 100_000, clock.now_ms())

    assert redis_client.strlen(f"aragog:robots:{ORIGIN}") < 10_000
    assert not allows(cache.get(ORIGIN), "/private")


@pytest.mark.parametrize("bound", [{"max_files": 5}, {"max_rules": 10}])
def test_process_keeps_a_limited_number_of_rules(new_cache, clock, bound):
    memory = RobotsMemory(max_origins=8, **bound)
    cache = new_cache(memory=memory)
    origins = [f"https://site-{n}.example" for n in range(30)]
    for n, origin in enumerate(origins):
        cache.put(origin, 200, PRIVATE + b"Disallow: /%d\n" % n, clock.now_ms())

    for origin in (cached := cache.get_many(origins)):
        assert not cached[origin].rules.allows("aragog", f"{origin}/private")
    clock.advance_ms(5001)
    again = cache.get_many(origins[::-1])

    assert not any(again[origin].rules.allows("aragog", f"{origin}/private") for origin in origins)
    assert len(memory) <= 5
    assert all(rules.state is RulesState.FRESH for rules in [*cached.values(), *again.values()])


def test_unreachable_redis_raises_robots_unavailable(tmp_path, clock):
    cache = RobotsCache(f"unix://{tmp_path}/none.sock", PolitenessSettings(), clock=clock)

    for call in (
        lambda: cache.get(ORIGIN),
        lambda: cache.put(ORIGIN, 200, b"", 1),
        lambda: cache.refreshes.claim([ORIGIN]),
        lambda: cache.refreshes.release([ORIGIN]),
        lambda: cache.refreshes.take_expiring(1),
    ):
        with pytest.raises(RobotsUnavailable):
            call()


def test_cache_works_again_after_a_redis_restart(own_redis, clock):
    cache = RobotsCache(
        own_redis.url, PolitenessSettings(), clock=clock, server_ms=time_of_redis(clock)
    )
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    with redis.Redis.from_url(own_redis.url) as client:
        client.save()

    own_redis.stop()
    own_redis.start()
    clock.advance_ms(5001)

    assert not allows(cache.get(ORIGIN), "/private")


def test_comments_and_rules_for_other_agents_are_not_kept(cache, clock, redis_client):
    noise = b"".join(b"# %d\nUser-agent: bot%d\nDisallow: /%d\n" % (n, n, n) for n in range(9999))
    cache.put(ORIGIN, 200, noise + PRIVATE, clock.now_ms())

    assert redis_client.strlen(f"aragog:robots:{ORIGIN}") < 200
    assert not allows(cache.get(ORIGIN), "/private")
    assert "line 29999," in cache.get(ORIGIN).rules.explain("aragog", ORIGIN + "/private")


def test_rules_kept_for_another_agent_are_missing(new_cache, clock):
    body = b"User-agent: one\nDisallow: /x\n\nUser-agent: two\nDisallow: /y\n"
    one, two = new_cache(agent="one/1.0"), new_cache(agent="two/1.0")
    one.put(ORIGIN, 200, body, clock.now_ms())

    assert one.get(ORIGIN).rules.allows("one", ORIGIN + "/y")
    assert two.get(ORIGIN).state is RulesState.MISSING

    two.put(ORIGIN, 200, body, clock.now_ms() + 1)

    assert not two.get(ORIGIN).rules.allows("two", ORIGIN + "/y")


def test_subdomains_share_the_memory_limit_of_their_domain(redis_url, redis_client, clock):
    cap = 100_000
    settings = PolitenessSettings(robots_domain_max_bytes=cap)
    cache = RobotsCache(redis_url, settings, clock=clock, server_ms=time_of_redis(clock))
    cache.put("https://other.example", 200, PRIVATE, clock.now_ms())
    for n in range(2000):
        clock.advance_ms(1000)
        cache.put(f"https://s{n}.hostile.example", 200, PRIVATE, clock.now_ms())

    kept = redis_client.keys("aragog:robots:*.hostile.example")
    used = sum(redis_client.memory_usage(key) for key in kept)
    assert 50 < len(kept) < 400
    assert used < cap
    assert cache.get("https://s1999.hostile.example").state is RulesState.FRESH
    assert cache.get("https://s0.hostile.example").state is RulesState.MISSING
    assert cache.get("https://other.example").state is RulesState.FRESH
    assert redis_client.zcard("aragog:robots.due") == len(kept) + 1
    cache.close()


def test_origin_with_frequent_changes_takes_its_share_once(redis_url, redis_client, clock):
    settings = PolitenessSettings(robots_domain_max_bytes=10_000)
    cache = RobotsCache(redis_url, settings, clock=clock, server_ms=time_of_redis(clock))
    for n in range(200):
        clock.advance_ms(1000)
        for host in ("a", "b"):
            body = PRIVATE + b"Disallow: /%d\n" % n
            cache.put(f"https://{host}.site.example", 200, body, clock.now_ms())

    cached = cache.get_many(["https://a.site.example", "https://b.site.example"])
    assert all(of.state is RulesState.FRESH for of in cached.values())
    cache.close()


VALIDATORS = Validators('"v1"', "Mon, 07 Jul 2026 00:00:00 GMT")


def put(cache, status, body, at_ms, validators=VALIDATORS):
    cache.put_many([RobotsResult(ORIGIN, status, body, at_ms, validators)])


def test_failure_is_kept_only_without_older_rules(cache, new_cache, clock):
    failed = RobotsResult(ORIGIN, None, b"", clock.now_ms(), failure="connect")
    cache.put_many([failed])

    for each in (cache, new_cache()):
        unreachable = each.get(ORIGIN)
        assert (unreachable.unreachable, unreachable.status) == (True, None)
        assert unreachable.failure == "connect"

    put(cache, 200, PRIVATE, clock.now_ms() + 1)
    cache.put_many([failed._replace(fetched_at_ms=clock.now_ms() + 2)])
    assert (cache.get(ORIGIN).unreachable, cache.get(ORIGIN).failure) == (False, None)


def test_unchanged_file_makes_its_rules_fresh_again(cache, new_cache, clock):
    put(cache, 200, PRIVATE, clock.now_ms())
    clock.advance_ms(2 * DAY_MS)
    stale = cache.get(ORIGIN)
    put(cache, 304, b"", clock.now_ms(), Validators())

    # A new cache compares the test's clock with the server's again, so only the first knows the
    # time.
    assert cache.get(ORIGIN).fetched_at_ms == pytest.approx(clock.now_ms(), abs=1000)
    for each in (cache, new_cache()):
        fresh = each.get(ORIGIN)
        assert (fresh.state, fresh.status) == (RulesState.FRESH, 200)
        assert not allows(fresh, "/private")
        assert each.validators([ORIGIN]) == {ORIGIN: VALIDATORS}
    assert stale.state is RulesState.STALE


def test_unchanged_file_without_stored_rules_allows_nothing(cache, clock):
    put(cache, 304, b"", clock.now_ms(), Validators())
    assert cache.get(ORIGIN).state is RulesState.MISSING

    put(cache, 404, b"", clock.now_ms())
    put(cache, 304, b"", clock.now_ms() + 1, Validators())
    assert cache.get(ORIGIN).status == 404


def test_error_keeps_the_validators_with_the_rules(cache, clock):
    put(cache, 200, PRIVATE, clock.now_ms())
    put(cache, 503, b"", clock.now_ms() + 1, Validators())

    assert cache.validators([ORIGIN]) == {ORIGIN: VALIDATORS}


def test_file_older_than_a_week_is_fetched_in_full(cache, clock):
    put(cache, 200, PRIVATE, clock.now_ms())
    clock.advance_ms(5 * DAY_MS)
    put(cache, 304, b"", clock.now_ms(), Validators())
    clock.advance_ms(3 * DAY_MS)

    assert cache.get(ORIGIN).rules is not None
    assert cache.validators([ORIGIN]) == {ORIGIN: Validators()}


def test_rules_from_an_older_parser_are_fetched_in_full(cache, clock, redis_client):
    put(cache, 200, PRIVATE, clock.now_ms())
    key, version = f"aragog:robots:{ORIGIN}", b"[%d, " % PARSER_VERSION
    record = redis_client.get(key)
    assert record.count(version) == 1
    redis_client.set(key, record.replace(version, b"[%d, " % (PARSER_VERSION - 1)))

    assert cache.validators([ORIGIN]) == {ORIGIN: Validators()}


def test_invalid_validators_are_not_kept(cache, clock):
    put(cache, 200, PRIVATE, clock.now_ms(), Validators('"' + "x" * 300 + '"', None))
    assert cache.validators([ORIGIN]) == {ORIGIN: Validators()}

    put(cache, 404, b"", clock.now_ms() + 1)
    assert cache.validators([ORIGIN]) == {ORIGIN: Validators()}
    assert cache.validators(["https://unknown.example"]) == {
        "https://unknown.example": Validators()
    }


@pytest.mark.parametrize("status", [200, 404])
def test_rules_of_tdmrep_json_are_kept_with_any_robots_txt(new_cache, clock, status):
    rules = (TdmRule("/a/", "1", "", 1),)
    new_cache(requires_tdm=True).put_many(
        [RobotsResult(ORIGIN, status, PRIVATE, clock.now_ms(), tdm=rules)]
    )

    cached = new_cache(requires_tdm=True).get(ORIGIN)

    assert cached.rules.tdm == rules
    assert allows(cached, "/private") is (status == 404)
    statements = cached.rules.statements("aragog", ORIGIN + "/a/b", ())
    assert "n" in [statement.value for statement in statements]


def test_crawl_that_needs_tdmrep_json_refetches_rules_without_it(new_cache, clock):
    new_cache().put(ORIGIN, 200, PRIVATE, clock.now_ms())

    assert new_cache().get(ORIGIN).state is RulesState.FRESH
    assert new_cache(requires_tdm=True).get(ORIGIN).state is RulesState.MISSING

    new_cache(requires_tdm=True).put_many(
        [RobotsResult(ORIGIN, 200, PRIVATE, clock.now_ms() + 1, tdm=())]
    )

    assert new_cache(requires_tdm=True).get(ORIGIN).state is RulesState.FRESH


@pytest.mark.parametrize(
    "other",
    [
        b"(\xb5/\xfd" + bytes(60),  # different compression
        zlib.compress(b"not JSON"),
        zlib.compress(b'{"lists": [[[true, "/", 1, "one more"]]], "groups": {"*": [0]}}'),
        zlib.compress(b"[]"),
        b"",
    ],
)
def test_rules_in_another_versions_format_are_refetched(cache, clock, redis_client, other):
    """They failed every batch that read them for as long as the record existed."""
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    key = f"aragog:robots:{ORIGIN}"
    head = redis_client.get(key)[: HEAD.size]
    redis_client.set(key, head[:1] + b"another!" + head[9:] + bytes(2) + other)
    clock.advance_ms(RECHECK_S * 1000)

    assert cache.get(ORIGIN).state is RulesState.MISSING
    assert cache.peek([ORIGIN])[ORIGIN].state is RulesState.MISSING
    # After an error they are dropped; otherwise robots.txt would be requested without a pause.
    cache.put(ORIGIN, 503, b"", clock.now_ms())
    assert cache.get(ORIGIN).unreachable
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    assert not allows(cache.get(ORIGIN), "/private")


def test_record_that_is_too_short_is_refetched(cache, clock, redis_client):
    redis_client.set(f"aragog:robots:{ORIGIN}", b"\1short")

    assert cache.get(ORIGIN).state is RulesState.MISSING
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    assert not allows(cache.get(ORIGIN), "/private")


def test_error_replaces_rules_without_a_file_that_a_job_needs(cache, clock):
    cache.put(ORIGIN, 200, PRIVATE, clock.now_ms())
    cache.mark_insufficient([ORIGIN])

    cache.put(ORIGIN, 503, b"", clock.now_ms() + 1)

    cached = cache.get(ORIGIN)
    assert cached.unreachable, "the job would ask for robots.txt again and again"
    assert not allows(cached, "/")
