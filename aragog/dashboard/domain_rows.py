"""Rows of the dashboard's domain page, with the main reason why a domain is slow or stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from aragog.crawl.pipeline.outcome_log import LastOutcomes
from aragog.crawl.politeness.overrides import Override
from aragog.crawl.politeness.robots_records import CachedRules, RulesState
from aragog.crawl.politeness.slots import DomainReport
from aragog.crawl.stages.crawl_reports import Pace
from aragog.dashboard.components import Components
from aragog.dashboard.waiting import queued_by_domain
from aragog.errors import BrokerUnavailable
from aragog.observability.formatting import format_duration, format_time, format_time_and_distance
from urlspelling.domain import registered_domain

# A shorter pause is not shown. It only means that a permit was granted slightly ahead of time.
MIN_PAUSE_MS = 1000


@dataclass(frozen=True, slots=True)
class DomainRow:
    """One domain, as numbers and as display text."""

    domain: str
    qps: float
    """The current rate, including Crawl-delay and backoff."""
    backlog_ms: int
    """How long the domain's waiting URLs will take at this rate."""
    slots_ahead: int
    """The approximate number of planned requests."""
    waiting: int
    """The approximate number of waiting URLs, including those in the job queues."""
    next_slot_at_ms: int | None
    robots: str
    robots_age_ms: int | None
    outcomes: str
    """The most recent outcomes, such as `8 Fetched, 2 Busy`."""
    outcomes_age_ms: int | None
    errors_in_a_row: int
    backoff_factor: float
    latency_factor: float
    """The factor by which the rate is reduced, because the domain is slower than usual."""
    max_concurrent: int | None
    override: str
    """The domain's overrides."""
    stopped: bool
    refused_since_ms: int | None
    """When the domain began to refuse every request, or None if it does not refuse them."""
    refused_at_ms: int | None
    """When the domain last refused a request."""
    cause: str
    """The main reason why the domain is slow or stopped, or an empty string."""
    robots_unreachable: bool = False
    """True if no page is fetched, because robots.txt is unreachable."""

    @property
    def backlog(self) -> str:
        return format_duration(self.backlog_ms) if self.backlog_ms else "—"

    @property
    def rate(self) -> str:
        return "0/s" if self.stopped else f"{self.qps:.3g}/s"

    @property
    def robots_age(self) -> str:
        return "" if self.robots_age_ms is None else f"{format_duration(self.robots_age_ms)} old"

    @property
    def outcomes_age(self) -> str:
        return (
            "" if self.outcomes_age_ms is None else f"{format_duration(self.outcomes_age_ms)} ago"
        )


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """What the other components know about one domain."""

    report: DomainReport
    qps: float
    crawl_delay_s: float | None
    robots: CachedRules
    override: Override | None
    outcomes: LastOutcomes | None
    blocked: str | None
    taken_down: bool
    queued: int = 0
    """
    The approximate number of the domain's URLs in the job queues, without those that the limiter
    holds back.
    """


def domain_rows(keys: Sequence[str], components: Components) -> list[DomainRow]:
    """
    Return a row for each limiter key (usually a domain), in order.

    Takes one round trip per limiter node, three to Redis, and one or two to the store.

    Raises:
        TransientError: one of these servers does not respond.
        ConfigError: the overrides file is invalid.
    """
    limiter, overrides = components.limiter(), components.overrides()
    reports, robots = limiter.describe(keys), _read_robots(keys, components)
    outcomes = components.outcomes.read(keys)
    roots = {key: f"http://{key}/" for key in keys}
    taken_down = components.store().takedowns.refused(roots.values())
    queued: dict[str, int] = {}
    with suppress(BrokerUnavailable):
        queued = queued_by_domain(components)
    rows = []
    for key in keys:
        rules = robots[key].rules
        delay_s = rules.crawl_delay_s(components.user_agent) if rules else None
        facts = DomainFacts(
            report=reports[key],
            qps=1e6 / reports[key].interval_us(limiter.interval_us(key, delay_s)),
            crawl_delay_s=delay_s,
            robots=robots[key],
            override=overrides.find(key),
            outcomes=outcomes.get(key),
            blocked=overrides.blocking_setting(key),
            taken_down=roots[key] in taken_down,
            queued=queued.get(key, 0),
        )
        rows.append(domain_row(facts, components.clock.now_ms()))
    return rows


def domain_paces(keys: Sequence[str], components: Components) -> dict[str, Pace]:
    """
    Return how fast each domain is fetched, and what slows it down.

    Has the same cost as `domain_rows`, and raises the same errors.
    """
    return {
        row.domain: Pace(
            0.0 if row.stopped else row.qps, row.cause, row.robots_unreachable, row.waiting
        )
        for row in domain_rows(keys, components)
    }


def _read_robots(keys: Sequence[str], components: Components) -> dict[str, CachedRules]:
    """
    Return the robots.txt rules of each key's http and https origins. If these have none, return
    those of the domain's most recently stored origin.
    """
    domains = [key for key in keys if key == registered_domain(key)]
    newest = components.robots.last_stored_origins(domains)
    origins = {key: [f"https://{key}", f"http://{key}"] for key in keys}
    for key, origin in newest.items():
        origins[key].append(origin)
    all_origins = {origin for candidates in origins.values() for origin in candidates}
    cached = components.robots.peek(list(all_origins))
    rules: dict[str, CachedRules] = {}
    for key, candidates in origins.items():
        with_rules = (cached[origin] for origin in candidates if cached[origin].rules is not None)
        rules[key] = next(with_rules, cached[candidates[0]])
    return rules


def domain_row(facts: DomainFacts, now_ms: int) -> DomainRow:
    """Return a row of the domain page."""
    report, outcomes = facts.report, facts.outcomes
    fetched_at_ms = facts.robots.fetched_at_ms
    backlog_ms = report.backlog_ms + round(facts.queued * 1000 / facts.qps)
    return DomainRow(
        domain=report.key,
        qps=facts.qps,
        backlog_ms=backlog_ms,
        slots_ahead=round(backlog_ms / 1000 * facts.qps),
        waiting=report.waiting + facts.queued,
        next_slot_at_ms=report.next_slot_at_ms,
        robots=_robots_text(facts.robots),
        robots_age_ms=None if fetched_at_ms is None else max(0, now_ms - fetched_at_ms),
        outcomes=_outcomes_text(outcomes),
        outcomes_age_ms=max(0, now_ms - outcomes.at_ms) if outcomes else None,
        errors_in_a_row=report.errors_in_a_row,
        backoff_factor=report.backoff_factor,
        latency_factor=report.latency_factor,
        max_concurrent=report.max_concurrent,
        override=_override_text(facts.override),
        stopped=report.stopped,
        refused_since_ms=outcomes.refused_since_ms if outcomes and outcomes.refuses_us else None,
        refused_at_ms=outcomes.refused_at_ms if outcomes and outcomes.refuses_us else None,
        cause=main_cause(facts, now_ms),
        robots_unreachable=facts.robots.unreachable,
    )


def main_cause(facts: DomainFacts, now_ms: int) -> str:
    """Return the main reason why the domain is slow or stopped, or an empty string."""
    report, robots = facts.report, facts.robots
    if facts.taken_down:
        return "taken down"
    if facts.blocked:
        return facts.blocked
    if report.stopped:
        return "stopped by an operator"
    if report.quiet_ms:
        hours = facts.override.quiet_hours if facts.override else None
        remaining = format_duration(report.quiet_ms)
        return f"its quiet hours, {hours or 'set by an operator'}, for {remaining} more"
    if robots.unreachable:
        retry_text = (
            f", again {format_time_and_distance(robots.retry_at_ms, now_ms)}"
            if robots.retry_at_ms
            else ""
        )
        return f"robots.txt is unreachable{retry_text}"
    if facts.outcomes and facts.outcomes.refuses_us:
        return _refusal_text(facts.outcomes)
    if report.paused_ms > MIN_PAUSE_MS:
        return f"its server asked us to wait {format_duration(report.paused_ms)} more (429 or 503)"
    if report.backoff_factor > 1:
        errors = f"{report.errors_in_a_row} errors in a row" if report.errors_in_a_row else "errors"
        return f"slowed down {report.backoff_factor:g} times after {errors}"
    if report.latency_factor > 1:
        return f"slowed down {latency_text(report)}"
    if not report.backlog_ms:
        return ""
    if facts.crawl_delay_s and facts.qps < report.qps:
        return f"Crawl-delay of {facts.crawl_delay_s:g} s in robots.txt"
    source = "an override" if facts.override and facts.override.qps else "politeness.qps"
    return f"its rate, {facts.qps:.3g} requests/s ({source})"


def latency_text(report: DomainReport) -> str:
    """Return a text that says how much latency slows the domain down, and why."""
    latency = format_duration(report.latency_ms or 0)
    usual = format_duration(report.usual_latency_ms or 0)
    return f"{report.latency_factor:.3g} times: its responses take {latency}, usually {usual}"


def _refusal_text(outcomes: LastOutcomes) -> str:
    return (
        f"refuses us: {outcomes.refusals:,} responses since "
        f"{format_time(outcomes.refused_since_ms)} were all 401, 402, 403, 429 or 451, the last "
        f"at {format_time(outcomes.refused_at_ms)}"
    )


def _robots_text(cached: CachedRules) -> str:
    if cached.rules is None:
        return "not known"
    status = "no response" if cached.status is None else str(cached.status)
    stale_note = ", stale" if cached.state is RulesState.STALE else ""
    return f"{status}{stale_note}"


def _outcomes_text(outcomes: LastOutcomes | None) -> str:
    if outcomes is None:
        return "—"
    return ", ".join(f"{n} {kind}" for kind, n in Counter(outcomes.kinds).most_common())


def _override_text(override: Override | None) -> str:
    if override is None:
        return "—"
    parts = [f"each host of {override.name}"] if override.scope == "host" else []
    if override.qps is not None:
        parts.append(f"{override.qps:g}/s")
    if override.max_concurrent is not None:
        parts.append(f"{override.max_concurrent} at a time")
    if override.crawl_delay_cap_s is not None:
        parts.append(f"Crawl-delay up to {override.crawl_delay_cap_s:g} s")
    if override.quiet_hours is not None:
        parts.append(f"quiet {override.quiet_hours}")
    if override.max_latency_slowdown is not None:
        parts.append(f"by latency up to {override.max_latency_slowdown:g} times slower")
    parts += [word for word in ("stopped", "blocked") if getattr(override, word)]
    return ", ".join(parts) or "—"
