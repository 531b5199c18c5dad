"""A domain's rate follows its latency: the limiter's scripts in virtual time."""

import pytest

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.slots import SlotRequest
from aragog.settings import PolitenessSettings
from bench.latency import (
    VirtualNode,
    changing_server,
    mixed_server,
    pool_server,
    queue_server,
    simulate,
    steady_server,
)

MAX_SLOWDOWN = PolitenessSettings().max_latency_slowdown


@pytest.fixture
def run(redis_url):
    """Runs a model: `run(server, seconds, qps=…, max_slowdown=…)`."""
    node = VirtualNode(redis_url)

    def go(server, seconds, *, qps=10.0, max_slowdown=MAX_SLOWDOWN):
        return simulate(node, server, seconds=seconds, qps=qps, max_slowdown=max_slowdown)

    yield go
    node.close()


@pytest.mark.parametrize(("server", "capacity"), [(queue_server, 5.0), (pool_server, 6.7)])
def test_overloaded_server_is_slowed_down_before_it_answers_503(run, server, capacity):
    latency_steps = run(server(), 60)
    strict = run(server(), 20, max_slowdown=1)

    assert latency_steps.busy == 0
    assert 0.5 * capacity < latency_steps.rate(20, 60) < capacity
    assert strict.busy > 20
    assert latency_steps.latency_s(0.9, 20) < strict.latency_s(0.5, 10) / 2


@pytest.mark.parametrize("server", [steady_server, mixed_server])
def test_steady_latency_keeps_the_full_rate_and_the_interval(run, server):
    steady = run(server(), 60)

    assert steady.rate(0, 60) >= 9.5
    assert steady.smallest_gap_s() >= 0.1 - 0.002


def test_fourfold_latency_cuts_the_rate_to_a_quarter(run):
    slower = run(changing_server(15, moves=False), 45)

    assert slower.rate(0, 15) == pytest.approx(10, abs=0.2)
    assert 10 / MAX_SLOWDOWN - 0.1 <= slower.rate(25, 45) <= 2.5


def test_latency_that_a_lower_rate_does_not_improve_becomes_usual(run):
    slower = run(changing_server(20, moves=False), 900, qps=2)

    assert slower.rate(60, 400) < 0.5
    assert slower.rate(880, 900) == pytest.approx(2, abs=0.1)


def test_different_server_gets_its_own_usual_latency(run):
    moved = run(changing_server(15, moves=True), 45)

    assert moved.rate(0, 45) == pytest.approx(10, abs=0.2)


def test_interval_is_stretched_to_ten_seconds_at_most(run):
    rare = run(changing_server(200, moves=False), 500, qps=0.2)

    assert max(factor for _, factor in rare.factors) > 2
    assert rare.rate(400, 500) == pytest.approx(0.1, abs=0.02)


@pytest.fixture
def limiter(redis_url, tmp_path):
    file = tmp_path / "overrides.toml"
    file.write_text('["off.example"]\nmax_latency_slowdown = 1\n')
    one = Limiter([redis_url], PolitenessSettings(), Overrides(file))
    yield one
    one.close()


def respond(limiter, key, *latencies_ms):
    for ms in latencies_ms:
        limiter.record_latency(key, ms, "192.0.2.1")
        limiter.permits.report([(limiter.reserve([SlotRequest(key)])[0], None)])


def test_latencies_are_sent_with_permits_without_extra_calls(limiter, redis_client):
    limiter.reserve([SlotRequest("a.example")])
    redis_client.config_resetstat()

    limiter.record_latency("a.example", 100.0, "192.0.2.1")

    assert "cmdstat_evalsha" not in redis_client.info("commandstats")


def test_report_shows_latency_usual_latency_and_factor(limiter):
    respond(limiter, "a.example", *[100.0] * 8)
    known = limiter.describe(["a.example"])["a.example"]
    respond(limiter, "a.example", *[400.0] * 30)
    slowed = limiter.describe(["a.example"])["a.example"]

    assert (known.latency_factor, round(known.latency_ms), known.backoff_factor) == (1, 100, 1)
    assert slowed.latency_factor == pytest.approx(MAX_SLOWDOWN, rel=0.01)
    assert 100 <= slowed.usual_latency_ms < 120
    assert slowed.latency_ms > 300
    assert slowed.qps == pytest.approx(10 / MAX_SLOWDOWN, rel=0.01)


def test_override_turns_the_rule_off_for_one_domain(limiter):
    respond(limiter, "off.example", *[100.0] * 8, *[800.0] * 10)

    assert limiter.describe(["off.example"])["off.example"].latency_factor == 1
