"""
The trust in the dates of a host's sitemaps and feeds. Pure; a few numbers per host.

A signal is a date that names a change of a page since it was seen. Each fetch of such a page tests
it: if the page had changed, the signal may have been true. But the page may have changed anyway, so
what counts is how much more often named pages had changed than usual. With `p` the fraction of true
signals and `b` the probability of a change without one, the page has changed with probability p +
(1-p)b. So p is estimated by (changed - expected) / (checked - expected), less one and a half
standard deviations. `b` comes from the page's own rate, or from the fraction of the host's fetches
that find a change without a signal if that is higher, because little is known about a page after
two fetches. If every date is today's, pages change as often as without dates, so `p` is about 0 and
the host is not trusted.

Silence counts as well, if the host names its changes: `recall` is the fraction of changes on pages
in its files that were named before the fetch. If silence can be trusted, the regular interval only
has to cover the other changes, and grows by the square root (`change_rate`). This is the model of
Busa-Fekete and others (A Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals,
2025), with the two fractions estimated for each host.

Evidence halves in 30 days, and at most about 200 fetches are remembered. The trust therefore
follows a host whose behavior changes, and an untrusted host is tried again.
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
"""Hosts whose signals are true less often than this are not trusted."""
PROVEN_ROOM = 3.0
"""Evidence, in fetches not explained by change rates, from which a host is judged by it alone."""
UNPROVEN_BELIEF = 0.5
PROBES = 10
"""Maximum number of signals of an unproven host that one read of a file may act on."""
MOST_FEEDS = 3
"""Maximum number of feeds per host that are found through links of its pages."""
_PRIOR_TRUE, _PRIOR_CHECKED = 0.5, 2.0
_PRIOR_UNNAMED = 2.0
_DEVIATIONS = 1.5
_MOST_SILENCE = 0.95


class Evidence(NamedTuple):
    """Evidence from a page's fetch about the signals of its host."""

    changed: float
    """The weight of the observed change, 0 to 1."""
    named: bool
    """True if a file had named a change since the page was last compared."""
    covered: bool
    """True if a file names the changes of this page."""
    expected: float
    """The probability of a change according to the page's own rate."""


class HostTrust(NamedTuple):
    """A host's record; a tuple of numbers, as it is stored."""

    at_ms: int = 0
    """The time to which the evidence was last decayed."""
    checked: float = 0.0
    """Number of fetches of pages for which a signal had named a change."""
    changed: float = 0.0
    """How many of these pages had changed."""
    expected: float = 0.0
    """How many of these would have changed according to their own rates."""
    named: float = 0.0
    """Changes of pages in its files that were named before the fetch."""
    unnamed: float = 0.0
    """Changes of pages in its files that were not named."""
    silent: float = 0.0
    """Fetches of pages in its files for which they named no change."""
    read_at_ms: int = 0
    """When one of its files was last read, or confirmed by a 304."""
    looked_at_ms: int = 0
    """When its sitemaps and feeds were last searched for."""
    feeds: tuple[str, ...] = ()
    """The feeds found through links of its pages, at most `MOST_FEEDS`."""

    @property
    def room(self) -> float:
        """The weight of the evidence: fetches whose pages had not changed by their own rates."""
        return self.checked - self.expected

    @property
    def is_proven(self) -> bool:
        """True if there is enough evidence to use it alone."""
        return self.room >= PROVEN_ROOM

    @property
    def precision(self) -> float:
        """The fraction of its signals that are true, 0 to 1; a conservative estimate."""
        share = self.expected / self.checked if self.checked else 0.0
        deviation = math.sqrt(self.expected * (1 - share))
        excess = max(self.changed - self.expected - _DEVIATIONS * deviation, 0.0)
        return min((excess + _PRIOR_TRUE) / (self.room + _PRIOR_CHECKED), 1.0)

    @property
    def belief(self) -> float:
        """The probability that a page for which it names a change has changed."""
        if not self.is_proven:
            return UNPROVEN_BELIEF
        return self.precision if self.precision >= LEAST_BELIEF else 0.0

    @property
    def recall(self) -> float:
        """The fraction of its changes that it names, 0 to 1; a conservative estimate."""
        return self.named / (self.named + self.unnamed + _PRIOR_UNNAMED)

    @property
    def usual_change(self) -> float:
        """The fraction of fetches that find an unnamed change; one third at first."""
        return (self.unnamed + 1) / (self.silent + 3)

    @property
    def stretch(self) -> float:
        """The factor by which the interval of a page without signals may grow; at least 1."""
        if not self.is_proven:
            return 1.0
        return 1 / math.sqrt(1 - min(self.belief * self.recall, _MOST_SILENCE))


def learned(before: HostTrust, evidence: Iterable[Evidence], now_ms: int) -> HostTrust:
    """The trust after the given evidence."""
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
    """The trust with the current weight of its evidence."""
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
    """The trust after the host was searched for sitemaps and feeds."""
    return before._replace(looked_at_ms=max(before.looked_at_ms, at_ms))


def with_feed(before: HostTrust, key: str) -> HostTrust:
    """The trust with another feed of the host, if there is room."""
    return before._replace(feeds=tuple(dict.fromkeys((*before.feeds, key)))[:MOST_FEEDS])


def to_cell(trust: HostTrust) -> bytes:
    """The stored form."""
    return orjson.dumps((VERSION, *trust))


def from_cell(cell: bytes | None) -> HostTrust:
    """Decode a trust; a new one if its version is unknown."""
    if not cell:
        return HostTrust()
    version, *values = orjson.loads(cell)
    if version != VERSION or len(values) < len(HostTrust._fields):
        return HostTrust()
    trust = HostTrust(*values[: len(HostTrust._fields)])
    return trust._replace(feeds=tuple(trust.feeds))
