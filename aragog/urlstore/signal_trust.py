"""
How much the dates in a host's sitemaps and feeds are trusted.

A signal is a date that reports a change to a page since its last fetch. The next fetch tests it: if
the page had not changed, the signal was false. If it had changed, it might have changed anyway. The
estimate therefore compares how often pages had changed with a signal and without. Let `p` be the
fraction of true signals and `b` the probability of a change without a signal. A page with a signal
has then changed with probability p + (1-p)b, so `p` is estimated by (changed - expected) / (checked
- expected), less one and a half standard deviations. `b` is computed from the page's own rate.
Little is known about a page after two fetches, so `b` is at least the fraction of the host's
fetches without a signal that find a change. On a host that dates everything today, pages with
signals change no more often than others, so `p` is about 0.

If a host reports its changes, the absence of a signal is evidence too. `recall` is the fraction of
changes to pages in its files that were reported before the fetch. The interval of such pages only
has to cover unreported changes (`change_rate`). This is the model of Busa-Fekete and others (A
Scalable Crawling Algorithm Utilizing Noisy Change-Indicating Signals, 2025), with the two fractions
estimated for each host.

The weight of evidence halves in 30 days, and at most about 200 fetches are remembered, so an
untrusted host is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import orjson

VERSION = 1
HALF_LIFE_MS = 30 * 86_400_000
MAX_FETCHES = 200.0
MIN_BELIEF = 0.1
"""Hosts whose signals are true less often than this are not trusted."""
PROVEN_WEIGHT = 3.0
"""With this much evidence (`HostTrust.evidence_weight`), a host is judged by it alone."""
UNPROVEN_BELIEF = 0.5
PROBES = 10
"""Maximum number of refreshes that reading a file may cause while its host is unproven."""
MAX_FEEDS = 3
"""Maximum number of feeds per host that are added because its pages link to them."""
_PRIOR_TRUE, _PRIOR_CHECKED = 0.5, 2.0
_PRIOR_UNNAMED = 2.0
_DEVIATIONS = 1.5
_MAX_SILENCE = 0.95


class Evidence(NamedTuple):
    """What a page's fetch shows about the signals of its host."""

    changed: float
    named: bool
    """True if a file had reported a change since the page was last checked."""
    covered: bool
    """True if one of the host's files lists the page (`PageMark.covered`)."""
    expected: float
    """The probability of a change according to the page's own rate."""


class HostTrust(NamedTuple):
    """The evidence about a host's signals. The values are stored in this order."""

    at_ms: int = 0
    """When the evidence was last reduced by its age."""
    checked: float = 0.0
    """Number of fetches of pages with a signal."""
    changed: float = 0.0
    """How many of these found that the page had changed."""
    expected: float = 0.0
    """How many of the checked fetches were expected to find a change, given the pages' rates."""
    named: float = 0.0
    """Number of changes to listed pages that were reported before the fetch."""
    unnamed: float = 0.0
    """Number of changes to listed pages that were not reported."""
    silent: float = 0.0
    """Number of fetches of listed pages without a reported change."""
    read_at_ms: int = 0
    """When one of the host's files was last read, or confirmed by a 304."""
    looked_at_ms: int = 0
    """When the host was last searched for sitemaps and feeds."""
    feeds: tuple[str, ...] = ()
    """The keys of the feeds that pages of the host link to, at most `MAX_FEEDS`."""

    @property
    def evidence_weight(self) -> float:
        """
        The weight of the evidence: the number of fetches for which the pages' rates predicted no
        change.
        """
        return self.checked - self.expected

    @property
    def is_proven(self) -> bool:
        return self.evidence_weight >= PROVEN_WEIGHT

    @property
    def precision(self) -> float:
        """The fraction of the host's signals that are true, 0 to 1; a conservative estimate."""
        share = self.expected / self.checked if self.checked else 0.0
        deviation = math.sqrt(self.expected * (1 - share))
        excess = max(self.changed - self.expected - _DEVIATIONS * deviation, 0.0)
        return min((excess + _PRIOR_TRUE) / (self.evidence_weight + _PRIOR_CHECKED), 1.0)

    @property
    def belief(self) -> float:
        """The probability that a page with a signal has changed; 0 if the host is not trusted."""
        if not self.is_proven:
            return UNPROVEN_BELIEF
        return self.precision if self.precision >= MIN_BELIEF else 0.0

    @property
    def recall(self) -> float:
        """The fraction of changes that the host reports, 0 to 1; a conservative estimate."""
        return self.named / (self.named + self.unnamed + _PRIOR_UNNAMED)

    @property
    def usual_change(self) -> float:
        """The fraction of fetches without a signal that find a change; one third at first."""
        return (self.unnamed + 1) / (self.silent + 3)

    @property
    def stretch(self) -> float:
        """The factor by which the interval of a page without signals may grow; at least 1."""
        if not self.is_proven:
            return 1.0
        return 1 / math.sqrt(1 - min(self.belief * self.recall, _MAX_SILENCE))


def add_evidence(before: HostTrust, evidence: Iterable[Evidence], now_ms: int) -> HostTrust:
    """Return the trust after adding this evidence."""
    after = decayed(before, now_ms)
    for sample in evidence:
        if sample.named:
            after = after._replace(
                checked=after.checked + 1,
                changed=after.changed + sample.changed,
                expected=after.expected + max(sample.expected, after.usual_change),
            )
        if sample.covered and sample.named:
            after = after._replace(named=after.named + sample.changed)
        elif sample.covered:
            silent, unnamed = after.silent + 1, after.unnamed + sample.changed
            after = after._replace(silent=silent, unnamed=unnamed)
    return after


def decayed(trust: HostTrust, now_ms: int) -> HostTrust:
    """Return the trust with its evidence reduced by its age at `now_ms`."""
    elapsed_ms = max(now_ms - trust.at_ms, 0)
    factor = 0.5 ** (elapsed_ms / HALF_LIFE_MS)
    most_fetches = max(trust.checked, trust.silent)
    if most_fetches * factor > MAX_FETCHES:
        factor = MAX_FETCHES / most_fetches
    return trust._replace(
        at_ms=max(now_ms, trust.at_ms),
        checked=trust.checked * factor,
        changed=trust.changed * factor,
        expected=trust.expected * factor,
        named=trust.named * factor,
        unnamed=trust.unnamed * factor,
        silent=trust.silent * factor,
    )


def record_read(before: HostTrust, at_ms: int) -> HostTrust:
    """Return the trust after one of the host's files was read, or confirmed by a 304."""
    return before._replace(read_at_ms=max(before.read_at_ms, at_ms))


def record_search(before: HostTrust, at_ms: int) -> HostTrust:
    """Return the trust after the host was searched for sitemaps and feeds."""
    return before._replace(looked_at_ms=max(before.looked_at_ms, at_ms))


def with_feed(before: HostTrust, key: str) -> HostTrust:
    """Return the trust with one more feed, unless it already has `MAX_FEEDS`."""
    return before._replace(feeds=tuple(dict.fromkeys((*before.feeds, key)))[:MAX_FEEDS])


def to_cell(trust: HostTrust) -> bytes:
    """Encode the trust in a host for its cell."""
    return orjson.dumps((VERSION, *trust))


def from_cell(cell: bytes | None) -> HostTrust:
    """Decode the trust in a host; without evidence if the cell is empty or of unknown version."""
    if not cell:
        return HostTrust()
    version, *values = orjson.loads(cell)
    if version != VERSION or len(values) < len(HostTrust._fields):
        return HostTrust()
    trust = HostTrust(*values[: len(HostTrust._fields)])
    return trust._replace(feeds=tuple(trust.feeds))
