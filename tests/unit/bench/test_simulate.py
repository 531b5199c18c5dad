"""`bench.simulate`: its parts agree with each other and with known results."""

import json
import math
import random
from dataclasses import replace

import pytest

from aragog.settings import RefreshSettings, Settings
from bench.simulate import __main__ as command
from bench.simulate import freshness, large, sensitivity
from bench.simulate.parts import Machines
from bench.simulate.process import ProcessShape, run
from bench.simulate.small import SmallCrawl
from bench.simulate.web import KINDS, Web

SETTINGS = Settings()


@pytest.mark.parametrize("domains", [1, 50, 1000, 10_000_000])
def test_sizes_of_all_domains_add_up(domains):
    sizes = Web(domains=domains, urls=1e6).sizes()

    assert sum(count for count, _ in sizes) == domains
    assert sum(count * urls for count, urls in sizes) == pytest.approx(1e6)
    assert [urls for _, urls in sizes] == sorted((urls for _, urls in sizes), reverse=True)


def test_second_domain_is_half_as_large_as_the_first():
    (_, first), (_, second), *_ = Web().sizes()

    assert first == pytest.approx(2 * second)
    assert first == pytest.approx(1e9 / (math.log(1e7) + 0.5772), rel=0.01)


def test_classes_cover_all_domains():
    web = Web()

    assert sum(each.count for each in web.classes()) == pytest.approx(web.domains)
    assert sum(kind.share for kind in KINDS) == pytest.approx(1)


def test_process_with_equal_responses_is_limited_by_its_concurrency():
    found = run(ProcessShape(16, 50, 25, 0.0), lambda rng: 0.5, urls=20_000)

    assert found.urls_s == pytest.approx(100, rel=0.02)
    assert found.in_flight == pytest.approx(50, rel=0.02)


def test_process_is_limited_by_its_slowest_responses():
    """A fifth of the responses take 5 s, so nearly every batch of 25 takes 5 s."""

    def response_s(rng):
        return 5.0 if rng.random() < 0.2 else 0.01

    found = run(ProcessShape(4, 1000, 25, 0.0), response_s, urls=20_000)

    assert found.urls_s == pytest.approx(4 * 25 / 5, rel=0.02)
    assert found.batch_s == pytest.approx(5, rel=0.02)


def test_process_is_limited_by_its_core():
    found = run(ProcessShape(64, 1000, 25, 0.01), lambda rng: 0.1, urls=20_000)

    assert found.urls_s == pytest.approx(100, rel=0.05)
    assert found.cpu == pytest.approx(1, rel=0.05)


def test_small_crawl_fetches_every_url_once_at_the_full_rate():
    found = SmallCrawl(
        Web(domains=20, urls=20_000, exponent=0.0), SETTINGS, Machines(20, canonicalize_s=1e4)
    ).run()

    assert found.fetched + found.failed == found.urls == 20_000
    assert found.visits / found.urls == pytest.approx(2, abs=0.15)
    assert found.rate_used > 0.95
    assert all(domain.limit.factor <= 3200 for domain in found.domains)


def test_small_crawl_is_reproducible():
    web = Web(domains=50, urls=1000)
    first, second = (SmallCrawl(web, SETTINGS, Machines()).run(probes=5) for _ in range(2))

    assert first.done_s == second.done_s
    assert first.urgent_s == second.urgent_s


def test_slow_later_stages_close_the_spool_but_never_fill_it():
    settings = sensitivity.scale_settings(SETTINGS, "pipeline.spool_max_bytes", 1 / 16)
    found = SmallCrawl(Web(domains=500, urls=4000), settings, Machines(4, canonicalize_s=20)).run()

    size = sensitivity.SPOOL_BYTES / 16
    assert found.fetched + found.failed == found.urls
    assert size * 3 / 8 < found.spool_bytes <= size * 3 / 4


def test_aggregate_agrees_with_the_event_simulation():
    web, processes = Web(domains=3000, urls=60_000), 4
    exact = SmallCrawl(web, SETTINGS, Machines(processes, canonicalize_s=1e4)).run()
    one = command.capacity_s(web, SETTINGS)
    rough = large.crawl(web, SETTINGS.politeness, processes * one.urls_s)

    for share in (0.5, 0.9, 0.99):
        assert rough.share_done_s(share) == pytest.approx(exact.share_done_s(share), rel=0.2)


def test_large_crawl_ends_with_its_largest_domain():
    web = Web()
    found = large.crawl(web, SETTINGS.politeness, 1653)
    faster = large.crawl(web, SETTINGS.politeness, 16_530)

    largest_s = web.sizes()[0][1] / SETTINGS.politeness.qps
    assert found.share_done_s(1) == pytest.approx(largest_s, rel=0.1)
    assert faster.share_done_s(0.25) < found.share_done_s(0.25) / 5
    assert faster.share_done_s(1) > 0.9 * found.share_done_s(1)
    assert [at_s for at_s, _ in found.curve] == sorted(at_s for at_s, _ in found.curve)


def test_optimal_random_fetches_are_worse_than_optimal_intervals():
    rng = random.Random(1)
    rates = [rng.expovariate(1.0) / 86_400 for _ in range(500)]
    fetches_s = 500 / 86_400

    random_best = freshness.random_optimum(rates, fetches_s)
    even = sum(1 / (1 + rate * 86_400) for rate in rates) / 500
    assert even < random_best
    assert random_best < freshness.best_freshness(rates, fetches_s)


def test_pages_with_the_same_change_rate_are_fetched_equally_often():
    """With a single change rate d and fetch rate f, the optimum is known: f / (f + d)."""
    assert freshness.random_optimum([2.0] * 10, 30.0) == pytest.approx(3 / (3 + 2))


def test_policy_is_near_the_optimum():
    sample = freshness.Sample(pages=200, scarce_pages=50, days=60, cycles=2)
    found = freshness.simulate(Web(), RefreshSettings(), qps=10, sample=sample)

    assert 0.9 < found.of_best <= 1.01
    assert found.fresh > found.random_best
    assert 0 < found.scarce < 0.5


@pytest.mark.parametrize("name", [*sensitivity.CRAWL_SETTINGS, *sensitivity.REFRESH_SETTINGS])
def test_sensitivity_halves_or_doubles_a_default(name):
    for part in name.split(", "):
        section, field = part.split(".")
        value = getattr(getattr(SETTINGS, section), field) or sensitivity.SPOOL_BYTES
        other = sensitivity.scale_settings(SETTINGS, name, 0.5)
        assert getattr(getattr(other, section), field) == pytest.approx(value / 2, abs=0.5)


def test_command_writes_its_figures(tmp_path, capsys):
    file = tmp_path / "figures.json"
    command.main(["--quick", "--json", str(file)])

    figures = json.loads(file.read_text())
    assert {"crawl", "error", "by_rates", "processes", "refresh"} <= figures.keys()
    assert "days until 99% are done" in capsys.readouterr().out


def test_default_settings_use_a_process_better_than_half_of_them():
    web = Web()
    now = command.capacity_s(web, SETTINGS)
    half = replace(
        SETTINGS,
        workers=replace(SETTINGS.workers, fetch=SETTINGS.workers.fetch // 2),
        fetch=replace(SETTINGS.fetch, concurrency=SETTINGS.fetch.concurrency // 2),
    )

    assert now.urls_s > 1.8 * command.capacity_s(web, half).urls_s
    assert now.cpu < 0.6
