"""
Page changes reported by sitemaps and feeds, and their effect on the next fetch.

A page's mark contains the newest change date that a sitemap or feed has reported, and when that was
first read. A mark is only written when the date is new, and once for each page that a trusted host
lists, so reading an unchanged sitemap again writes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import kind_of

VERSION = 1
_MAX_STAMP_AGE_MS = 60_000
"""If most dates in a file are this close (ms) to the response, the server filled in the current
time."""


class ReportedChange(NamedTuple):
    """An entry of a sitemap or feed: a page and the date of its last change."""

    url: str
    start_ms: int
    """The first moment of the date, in ms since the epoch."""
    end_ms: int
    """The last moment if the date is a day, month or year; otherwise the same as the first."""


class PageMark(NamedTuple):
    """What a host's sitemaps and feeds have reported about one page."""

    reported_ms: int = 0
    """The first moment of the newest reported date."""
    read_at_ms: int = 0
    """When that date was first read as a new change; 0 if the page was checked after it."""
    belief: float = 0.0
    """How much the host was trusted at that time, from 0 to 1."""
    covered: bool = True
    """True while the files report this page's changes; False after an unreported change."""
    kind: str = "sitemap"
    """`sitemap` or `feed`."""

    def has_change_since(self, compared_at_ms: int) -> bool:
        """Return True if a change was reported since the page was last checked for changes."""
        return self.read_at_ms > compared_at_ms


def is_new_report(
    entry: ReportedChange, before: PageMark | None, compared_at_ms: int, read_at_ms: int
) -> bool:
    """
    Return True if an entry reports a change that is not known yet.

    A date without a time counts only if it is newer than the stored one, and its day had not ended
    when the page was last checked. Processing a read twice gives the same result.
    """
    if entry.start_ms > read_at_ms:
        return False
    if before is None:
        return entry.start_ms > compared_at_ms
    if entry.start_ms == before.reported_ms:
        return before.read_at_ms == read_at_ms
    return entry.start_ms > before.reported_ms and entry.end_ms > compared_at_ms


def has_mostly_response_dates(entries: Sequence[ReportedChange], fetched_at_ms: int) -> bool:
    """Return True if most dates in a file are just the time of the response."""
    stamp_count = sum(
        1
        for entry in entries
        if entry.start_ms == entry.end_ms
        and abs(fetched_at_ms - entry.start_ms) <= _MAX_STAMP_AGE_MS
    )
    return len(entries) > 1 and 2 * stamp_count > len(entries)


def is_worth_a_fetch(
    rate_per_s: float, usual_s: float, belief: float, settings: RefreshSettings
) -> bool:
    """
    Return True if fetching a page gains as much as other fetches. `belief` is the probability that
    the page has changed.

    Fetching a changed page keeps it fresh for 1/rate seconds on average. A regular fetch must gain
    `Kind.marginal_freshness_s`, so a page that changes all the time is not fetched for every
    reported change.
    """
    if belief <= 0 or usual_s <= 0:
        return False
    min_gain_s = kind_of(usual_s, settings.effort).marginal_freshness_s
    return rate_per_s <= 0 or belief / rate_per_s >= min_gain_s


def expected_change(rate_per_s: float, elapsed_s: float) -> float:
    """Return the probability that the page changed within `elapsed_s`."""
    return -math.expm1(-rate_per_s * max(elapsed_s, 0.0))


def to_cell(mark: PageMark) -> bytes:
    """Encode a mark for the page's cell."""
    return orjson.dumps((VERSION, *mark))


def from_cell(cell: bytes | None) -> PageMark | None:
    """Decode a mark; None if there is none, or its version is unknown."""
    if not cell:
        return None
    version, *values = orjson.loads(cell)
    size = len(PageMark._fields)
    return PageMark(*values[:size]) if version == VERSION and len(values) >= size else None
