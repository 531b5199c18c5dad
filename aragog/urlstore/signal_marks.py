"""
The statements of sitemaps and feeds about a page, and their effect on its next fetch. Pure.

A page's mark has the newest date that a file gave, and when a read found it to be news. It is
written when there is news, and once for a page that a trusted host lists, so a file that repeats
the same information causes no write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import kind_of

VERSION = 1
_STAMP_MS = 60_000
"""A date this close to the response is the response's own, if most dates of a file are."""


class NamedChange(NamedTuple):
    """An entry of a file: a page and the date of its last change."""

    url: str
    start_ms: int
    """The first moment of the date, in ms since the epoch."""
    end_ms: int
    """The last moment of a day, month or year; equal to the start for an instant."""


class PageMark(NamedTuple):
    """The statements of a host's files about one page."""

    named_ms: int = 0
    """The first moment of the newest date."""
    read_at_ms: int = 0
    """When that date was first read as news; 0 if it was not news, as the page was seen later."""
    belief: float = 0.0
    """The trust in the host at that time, 0 to 1."""
    covered: bool = True
    """True if the files name this page's changes; False after a change that they did not name."""
    kind: str = "sitemap"
    """`sitemap` or `feed`."""

    def names_since(self, compared_at_ms: int) -> bool:
        """True if it names a change since the page was compared."""
        return self.read_at_ms > compared_at_ms


def is_news(
    entry: NamedChange, before: PageMark | None, compared_at_ms: int, read_at_ms: int
) -> bool:
    """
    True if an entry names a change that is not known yet.

    A date without a time only counts if it is new and had not passed when the page was compared.
    Also True if the same read is repeated.
    """
    if entry.start_ms > read_at_ms:
        return False
    if before is None:
        return entry.start_ms > compared_at_ms
    if entry.start_ms == before.named_ms:
        return before.read_at_ms == read_at_ms
    return entry.start_ms > before.named_ms and entry.end_ms > compared_at_ms


def is_stamp(entries: Sequence[NamedChange], fetched_at_ms: int) -> bool:
    """True if most dates in a file are the time of its response and carry no information."""
    now = sum(
        1
        for entry in entries
        if entry.start_ms == entry.end_ms and abs(fetched_at_ms - entry.start_ms) <= _STAMP_MS
    )
    return len(entries) > 1 and 2 * now > len(entries)


def is_worth_a_fetch(
    rate_per_s: float, usual_s: float, belief: float, settings: RefreshSettings
) -> bool:
    """
    True if a page that has changed with this probability gains as much from a fetch as others do.

    A fetch of a changed page keeps it fresh for 1/rate seconds on average. This is compared with
    the gain of every other fetch (`Kind.marginal_freshness_s`), so a page that changes all the time
    is not fetched for every signal.
    """
    if belief <= 0 or usual_s <= 0:
        return False
    least_s = kind_of(usual_s, settings.effort).marginal_freshness_s
    return rate_per_s <= 0 or belief / rate_per_s >= least_s


def expected_change(rate_per_s: float, passed_s: float) -> float:
    """The probability of a change by the page's own rate."""
    return -math.expm1(-rate_per_s * max(passed_s, 0.0))


def to_cell(mark: PageMark) -> bytes:
    """The node's cell."""
    return orjson.dumps((VERSION, *mark))


def from_cell(cell: bytes | None) -> PageMark | None:
    """Decode a mark; None if there is none, or its version is unknown."""
    if not cell:
        return None
    version, *values = orjson.loads(cell)
    size = len(PageMark._fields)
    return PageMark(*values[:size]) if version == VERSION and len(values) >= size else None
