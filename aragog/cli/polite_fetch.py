"""
Fetch single pages for `aragog try` and `aragog new`, even without a running crawler.

As for every fetch, robots.txt and the SSRF filter apply, and there is a pause between requests to a
host. These requests do not count toward a running crawler's rate limits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import click

from aragog.bootstrap.fetch_limits import for_robots
from aragog.cli.exit_status import ABSENT
from aragog.crawl.egress.egress import Egress
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.gate import Admission, Deny, Go, OpenGate
from aragog.crawl.fetcher.user_agent import check_user_agent
from aragog.crawl.identity.request_signer import request_signer
from aragog.crawl.politeness.robots_rules import RobotsRules, rules_for_status
from aragog.crawl.stages.page_analysis import named_agent
from aragog.crawl.stages.robots_outcomes import get_status_to_cache
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.runtime.clock import SystemClock
from aragog.settings import Settings
from urlspelling.domain import host, origin


class NotAllowed(click.ClickException):
    """robots.txt forbids a fetch."""

    exit_code = ABSENT


def fetch_all(urls: Iterable[str], settings: Settings) -> Iterator[Outcome]:
    """
    Yield the outcome of each normalized URL, in order.

    Raises:
        NotAllowed: robots.txt forbids fetching one of the URLs.
        ConfigError: the User-Agent has no contact.
    """
    signer = request_signer(settings.identity)
    egress = Egress(settings.egress, settings.fetch, SystemClock())
    with (
        Fetcher(settings.fetch, signer=signer, egress=egress) as fetcher,
        Fetcher(
            for_robots(settings.fetch),
            connections_from=fetcher,
            signer=signer,
            truncate_oversized=True,
        ) as robots,
    ):
        gate = _RobotsGate(robots, settings)
        for url in urls:
            check_user_agent(settings.fetch, url)
            if reason := gate.refusal_reason(url):
                raise NotAllowed(f"{url}: {reason}")
            yield fetcher.fetch(url, gate=gate)


class _IntervalGate(OpenGate):
    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._sent_at_s: dict[str, float] = {}

    def acquire_permit(self, url: str) -> None:
        sent_at_s = self._sent_at_s.get(host(url))
        if sent_at_s is not None:
            time.sleep(max(0.0, sent_at_s + self._interval_s - time.monotonic()))
        self._sent_at_s[host(url)] = time.monotonic()


class _RobotsGate(_IntervalGate):
    def __init__(self, robots: Fetcher, settings: Settings) -> None:
        super().__init__(1 / settings.politeness.qps)
        self._robots = robots
        self._agent = named_agent(settings.fetch)
        self._rules: dict[str, RobotsRules] = {}
        self._problems: dict[str, str] = {}
        """By origin, why there was no response to the request for robots.txt."""

    def refusal_reason(self, url: str) -> str | None:
        """Return why robots.txt forbids a URL, or None if it is allowed."""
        rules = self._get_rules(origin(url))
        if rules.allows(self._agent, url):
            return None
        problem = self._problems.get(origin(url))
        return rules.explain(self._agent, url) + (f" ({problem})" if problem else "")

    def admit(self, url: str, target_as_sent: str) -> Admission:
        reason = self.refusal_reason(url) or self.refusal_reason(target_as_sent)
        return Go() if reason is None else Deny(reason, RefusalCause.ROBOTS)

    def _get_rules(self, origin_url: str) -> RobotsRules:
        if origin_url not in self._rules:
            outcome = self._robots.fetch(f"{origin_url}/robots.txt", gate=_RobotsFileGate(self))
            body = outcome.body if isinstance(outcome, Fetched) else b""
            if outcome.status is None and outcome.reason:
                self._problems[origin_url] = outcome.reason
            self._rules[origin_url] = rules_for_status(get_status_to_cache(outcome), body)
        return self._rules[origin_url]


class _RobotsFileGate(OpenGate):
    """The gate for fetching robots.txt files. It allows any redirect."""

    def __init__(self, interval_gate: _IntervalGate) -> None:
        self._interval_gate = interval_gate

    def acquire_permit(self, url: str) -> None:
        self._interval_gate.acquire_permit(url)
