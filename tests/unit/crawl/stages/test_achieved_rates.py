"""How fast a crawl gets through its URLs."""

from collections import Counter

import pytest

from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.stages.achieved_rates import HOUR_MS, AchievedRates

HOUR = 480_000
OUTCOMES = Counter({
    "stored": 3_000, "gone: 404": 600, "refused: robots": 70, "cancelled": 9, "repeated": 5,
})  # fmt: skip


def rates(hours, *, created_ms=HOUR * HOUR_MS, now_ms=(HOUR + 1) * HOUR_MS, is_open=True):
    record = CrawlRecord(name="docs", number=2, created_at_ms=created_ms)
    domains = {"a.example": sum(hours.values(), Counter()), "b.example": Counter(cancelled=3)}
    return AchievedRates.of(record, hours, domains, is_open=is_open, now_ms=now_ms)


def test_only_requested_urls_count():
    found = rates({HOUR: OUTCOMES})

    assert (found.total, found.recent) == (1.0, 1.0)
    assert found.by_domain == {"a.example": 1.0, "b.example": 0.0}


def test_recent_rate_covers_this_hour_and_the_one_before():
    hours = {HOUR: Counter(stored=3_600), HOUR + 9: Counter(stored=1_800)}

    found = rates(hours, now_ms=(HOUR + 10) * HOUR_MS + HOUR_MS // 2)

    assert found.recent == pytest.approx(1_800 / 5_400)
    assert found.total == pytest.approx(5_400 / (10.5 * 3_600))


def test_crawl_that_started_minutes_ago_is_measured_from_its_start():
    started_ms = HOUR * HOUR_MS + 600_000

    found = rates({HOUR: Counter(stored=60)}, created_ms=started_ms, now_ms=started_ms + 30_000)

    assert (found.total, found.recent) == (2.0, 2.0)


def test_time_after_the_last_url_of_a_finished_crawl_does_not_lower_its_rate():
    hours = {HOUR: Counter(stored=3_600)}

    found = rates(hours, now_ms=(HOUR + 50) * HOUR_MS, is_open=False)

    assert (found.total, found.recent) == (1.0, 0.0)


def test_built_in_crawl_is_measured_from_its_first_hour():
    assert rates({HOUR: Counter(stored=3_600)}, created_ms=0).total == 1.0


def test_crawl_without_urls_has_no_rate():
    assert rates({}) == AchievedRates()
