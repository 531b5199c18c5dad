"""The strongest of the causes that hold a domain back."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline.outcome_log import LastOutcomes
from aragog.crawl.politeness.overrides import Override
from aragog.crawl.politeness.quiet_hours import QuietHours
from aragog.crawl.politeness.robots_cache import CachedRules, RulesState
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.slots import DomainReport
from aragog.dashboard.domain_rows import DomainFacts, domain_row, main_cause
from aragog.fetch_record.outcome import OutcomeKind

NOW_MS = 1_700_000_000_000
IDLE = DomainFacts(
    report=DomainReport("shop.example", 10.0, None, 0, 1.0, 0, None),
    qps=10.0,
    crawl_delay_s=None,
    robots=CachedRules(RulesState.MISSING),
    override=None,
    outcomes=None,
    blocked=None,
    taken_down=False,
)
REFUSING = LastOutcomes(NOW_MS, (), NOW_MS - 60_000, NOW_MS, 12)
UNREACHABLE = CachedRules(
    RulesState.FRESH, RobotsRules.parse(b""), NOW_MS, 503, True, NOW_MS + 60_000
)


def report(facts, **changes):
    return replace(facts, report=replace(facts.report, **changes))


def test_each_cause_hides_the_weaker_ones():
    """From the weakest to the strongest, each added to the previous ones."""
    steps = [
        (lambda f: f, ""),
        (lambda f: report(f, backlog_ms=30_000), "its rate, 10 requests/s (politeness.qps)"),
        (lambda f: replace(f, override=Override("shop.example", qps=10)), "its rate, 10 requests/s (an override)"),
        (lambda f: replace(f, qps=0.2, crawl_delay_s=5.0), "Crawl-delay of 5 s in robots.txt"),
        (lambda f: report(f, latency_factor=2.5, latency_ms=1250.0, usual_latency_ms=500.0), "slowed down 2.5 times: its responses take 1.2 s, usually 500 ms"),
        (lambda f: report(f, backoff_factor=4.0, errors_in_a_row=4), "slowed down 4 times after 4 errors in a row"),
        (lambda f: report(f, paused_ms=90_000), "its server asked us to wait 1 min 30 s more (429 or 503)"),
        (lambda f: replace(f, outcomes=REFUSING), "refuses us: 12 responses since 2023-11-14 22:12:20 UTC were all 401, 402, 403, 429 or 451, the last at 2023-11-14 22:13:20 UTC"),
        (lambda f: replace(f, robots=UNREACHABLE), "robots.txt is unreachable, again 2023-11-14 22:14:20 UTC (in 1 min)"),
        (lambda f: replace(report(f, quiet_ms=60_000), override=Override("shop.example", quiet_hours=QuietHours(0, 360, "UTC"))), "its quiet hours, 00:00-06:00 UTC, for 1 min more"),
        (lambda f: report(f, stopped=True), "stopped by an operator"),
        (lambda f: replace(f, blocked="politeness.blocked_hosts contains example"), "politeness.blocked_hosts contains example"),
        (lambda f: replace(f, taken_down=True), "taken down"),
    ]  # fmt: skip
    facts = IDLE
    for change, expected in steps:
        facts = change(facts)
        assert main_cause(facts, NOW_MS) == expected


def test_permit_granted_slightly_ahead_is_not_a_pause():
    assert main_cause(report(IDLE, paused_ms=8), NOW_MS) == ""


@pytest.mark.parametrize(
    ("override", "text"),
    [
        (None, "—"),
        (Override("shop.example", qps=0.5, stopped=True), "0.5/s, stopped"),
        (Override("example", scope="host", max_concurrent=4), "each host of example, 4 at a time"),
        (Override("shop.example", crawl_delay_cap_s=0, blocked=True), "Crawl-delay up to 0 s, blocked"),
        (Override("shop.example", quiet_hours=QuietHours(480, 1080, "UTC")), "quiet 08:00-18:00 UTC"),
        (Override("shop.example", max_latency_slowdown=2), "by latency up to 2 times slower"),
    ],
)  # fmt: skip
def test_overrides_are_described_in_words(override, text):
    assert domain_row(replace(IDLE, override=override), NOW_MS).override == text


def test_row_has_texts_for_known_and_unknown_values():
    known = replace(
        IDLE,
        robots=CachedRules(RulesState.STALE, RobotsRules.parse(b""), NOW_MS - 3_600_000, 200),
        outcomes=LastOutcomes(NOW_MS - 5000, (OutcomeKind.BUSY,) + (OutcomeKind.FETCHED,) * 3),
    )
    unknown, row = domain_row(IDLE, NOW_MS), domain_row(known, NOW_MS)

    assert (row.robots, row.robots_age) == ("200, stale", "1 h old")
    assert (row.outcomes, row.outcomes_age) == ("3 Fetched, 1 Busy", "5 s ago")
    assert (unknown.robots, unknown.robots_age) == ("not known", "")
    assert (unknown.outcomes, unknown.outcomes_age) == ("—", "")
    assert (unknown.rate, unknown.backlog) == ("10/s", "—")
    assert domain_row(report(IDLE, stopped=True), NOW_MS).rate == "0/s"
