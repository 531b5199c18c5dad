"""
What a sitemap or feed said of a page, and what follows from it for its next fetch. Pure.

The mark of a page holds the newest date that a file gave, and when a reading brought it as news. It
is written when there is news, and once for a page that a trusted host lists, so a file that says
the same again writes nothing.
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
"""A date this close to the response is that of the response, if most dates of a file are."""


class NamedChange(NamedTuple):
    """An entry of a file: a page and the date of its last change."""

    url: str
    start_ms: int
    """The first moment of the date, since the epoch."""
    end_ms: int
    """The last moment of a day, month or year; of an instant the same."""


class PageMark(NamedTuple):
    """What the files of a host said of one page."""

    named_ms: int = 0
    """The first moment of the newest date."""
    read_at_ms: int = 0
    """When a reading brought that date as news; 0: it was none, for the page was seen later."""
    belief: float = 0.0
    """How far the host was believed then, 0 to 1."""
    covered: bool = True
    """The files name the changes of this page: False after one that they did not name."""
    kind: str = "sitemap"
    """`sitemap` or `feed`."""

    def names_since(self, compared_at_ms: int) -> bool:
        """Whether it names a change since the page was compared."""
        return self.read_at_ms > compared_at_ms


def is_news(
    entry: NamedChange, before: PageMark | None, compared_at_ms: int, read_at_ms: int
) -> bool:
    """
    Whether an entry names a change that is not known yet.

    Of a date without a time only a new one counts, if it is not over before the page was compared.
    True again for the same reading, which may be repeated.
    """
    if entry.start_ms > read_at_ms:
        return False
    if before is None:
        return entry.start_ms > compared_at_ms
    if entry.start_ms == before.named_ms:
        return before.read_at_ms == read_at_ms
    return entry.start_ms > before.named_ms and entry.end_ms > compared_at_ms


def is_stamp(entries: Sequence[NamedChange], fetched_at_ms: int) -> bool:
    """Whether most dates of a file are the time of its response, and say nothing about pages."""
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
    Whether a page that has changed with this probability gains as much by a fetch as others do.

    A fetch of a page that has changed keeps it fresh for 1/rate seconds on average. The measure is
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
    """The mark of its cell; None if there is none, or another version wrote it."""
    if not cell:
        return None
    version, *values = orjson.loads(cell)
    size = len(PageMark._fields)
    return PageMark(*values[:size]) if version == VERSION and len(values) >= size else None
