"""
How far the dates of a host's sitemaps and feeds are believed. Pure; a few numbers a host.

A signal is a date that names a change of a page since it was seen. Each fetch of such a page tests
it: if the page had changed, the signal may have been true. It may also have changed anyway, so what
counts is how much more often named pages had changed than is usual. With `p` the share of true
signals and `b` the probability of a change without one, the page has changed with probability
p + (1-p)b, so p is estimated by (changed - expected) / (checked - expected), less one and a half
standard deviations. `b` is that of the page's own rate, or the share of the host's fetches that
find a change without a signal, if that is more: of a page that was fetched twice little is known.
Where every date is that of today, pages change as often as without dates, so `p` is about 0, and
the host is not trusted at all.

Silence counts as well, as far as the host names its changes: `recall` is the share of the changes
found on pages of its files that were named before the fetch. Where silence can be trusted, the
interval by the clock has to cover the other changes alone, and grows by the square root
(`change_rate`). This is the model of Busa-Fekete and others (A Scalable Crawling Algorithm
Utilizing Noisy Change-Indicating Signals, 2025), with the two shares estimated for each host.

Evidence halves in 30 days, and at most about 200 fetches are remembered, so a host that changes its
ways is trusted accordingly, and one that was not trusted is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import orjson

VERSION = 1
HALF_LIFE_MS = 30 * 86_400_000
MOST_CHECKED = 200.0
LEAST_BELIEF = 0.1
"""Hosts whose signals are true less often are not trusted at all."""
PROVEN_ROOM = 3.0
"""Evidence, in fetches that no rate explains, from which a host is trusted by that alone."""
UNPROVEN_BELIEF = 0.5
PROBES = 10
"""Signals of an unproven host that one reading of a file may act on."""
MOST_FEEDS = 3
"""Feeds of one host that are found by links of its pages."""
_PRIOR_TRUE, _PRIOR_CHECKED = 0.5, 2.0
_PRIOR_UNNAMED = 2.0
_DEVIATIONS = 1.5
_MOST_SILENCE = 0.95


class Evidence(NamedTuple):
    """What a fetch of a page shows about the signals of its host."""

    changed: float
    """The weight of the change that was found, 0 to 1."""
    named: bool
    """A file had named a change since the page was compared last."""
    covered: bool
    """A file names the changes of this page."""
    expected: float
    """The probability of a change by the page's own rate."""


class HostTrust(NamedTuple):
    """A host's record; a tuple of numbers, as it is stored."""

    at_ms: int = 0
    """The instant to which the evidence was last decayed."""
    checked: float = 0.0
    """Fetches of pages of which a signal had named a change."""
    changed: float = 0.0
    """How many of them had changed."""
    expected: float = 0.0
    """How many of them would have changed by their own rates."""
    named: float = 0.0
    """Changes of pages in its files that were named before the fetch."""
    unnamed: float = 0.0
    """Those that were not."""
    silent: float = 0.0
    """Fetches of pages in its files of which they named no change."""
    read_at_ms: int = 0
    """When one of its files was read last, or confirmed by a 304."""
    looked_at_ms: int = 0
    """When its sitemaps and feeds were last looked for."""
    feeds: tuple[str, ...] = ()
    """The feeds that links of its pages led to, at most `MOST_FEEDS`."""

    @property
    def room(self) -> float:
        """The weight of the evidence: fetches whose pages had not changed by their own rates."""
        return self.checked - self.expected

    @property
    def is_proven(self) -> bool:
        """There is evidence enough to go by it alone."""
        return self.room >= PROVEN_ROOM

    @property
    def precision(self) -> float:
        """The share of its signals that are true, 0 to 1; a cautious estimate."""
        share = self.expected / self.checked if self.checked else 0.0
        deviation = math.sqrt(self.expected * (1 - share))
        excess = max(self.changed - self.expected - _DEVIATIONS * deviation, 0.0)
        return min((excess + _PRIOR_TRUE) / (self.room + _PRIOR_CHECKED), 1.0)

    @property
    def belief(self) -> float:
        """The probability that a page has changed of which it names a change."""
        if not self.is_proven:
            return UNPROVEN_BELIEF
        return self.precision if self.precision >= LEAST_BELIEF else 0.0

    @property
    def recall(self) -> float:
        """The share of its changes that it names, 0 to 1; a cautious estimate."""
        return self.named / (self.named + self.unnamed + _PRIOR_UNNAMED)

    @property
    def usual_change(self) -> float:
        """The share of fetches that find a change of which nothing was said; one third at first."""
        return (self.unnamed + 1) / (self.silent + 3)

    @property
    def stretch(self) -> float:
        """By how much the interval of a page of which nothing is said may grow; at least 1."""
        if not self.is_proven:
            return 1.0
        return 1 / math.sqrt(1 - min(self.belief * self.recall, _MOST_SILENCE))


def learned(before: HostTrust, evidence: Iterable[Evidence], now_ms: int) -> HostTrust:
    """The trust after these fetches."""
    after = decayed(before, now_ms)
    for one in evidence:
        if one.named:
            after = after._replace(
                checked=after.checked + 1,
                changed=after.changed + one.changed,
                expected=after.expected + max(one.expected, after.usual_change),
            )
        if one.covered and one.named:
            after = after._replace(named=after.named + one.changed)
        elif one.covered:
            silent, unnamed = after.silent + 1, after.unnamed + one.changed
            after = after._replace(silent=silent, unnamed=unnamed)
    return after


def decayed(trust: HostTrust, now_ms: int) -> HostTrust:
    """The trust with the weight that its evidence has now."""
    passed_ms = max(now_ms - trust.at_ms, 0)
    factor = 0.5 ** (passed_ms / HALF_LIFE_MS)
    seen = max(trust.checked, trust.silent)
    if seen * factor > MOST_CHECKED:
        factor = MOST_CHECKED / seen
    return trust._replace(
        at_ms=max(now_ms, trust.at_ms),
        checked=trust.checked * factor,
        changed=trust.changed * factor,
        expected=trust.expected * factor,
        named=trust.named * factor,
        unnamed=trust.unnamed * factor,
        silent=trust.silent * factor,
    )


def read(before: HostTrust, at_ms: int) -> HostTrust:
    """The trust after one of the host's files was read, or confirmed by a 304."""
    return before._replace(read_at_ms=max(before.read_at_ms, at_ms))


def looked_at(before: HostTrust, at_ms: int) -> HostTrust:
    """The trust after the sitemaps and feeds of the host were looked for."""
    return before._replace(looked_at_ms=max(before.looked_at_ms, at_ms))


def with_feed(before: HostTrust, key: str) -> HostTrust:
    """The trust with one more feed of the host, if there is room."""
    return before._replace(feeds=tuple(dict.fromkeys((*before.feeds, key)))[:MOST_FEEDS])


def to_cell(trust: HostTrust) -> bytes:
    """The stored form."""
    return orjson.dumps((VERSION, *trust))


def from_cell(cell: bytes | None) -> HostTrust:
    """The trust of its stored form; a new one for what another version wrote."""
    if not cell:
        return HostTrust()
    version, *values = orjson.loads(cell)
    if version != VERSION or len(values) < len(HostTrust._fields):
        return HostTrust()
    trust = HostTrust(*values[: len(HostTrust._fields)])
    return trust._replace(feeds=tuple(trust.feeds))
