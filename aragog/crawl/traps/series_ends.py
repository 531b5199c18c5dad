"""Finds the ends of series of numbered URLs: numbers after the last useful page. Pure (no I/O)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from aragog.crawl.traps.templates import series_of

MAX_SERIES, NO_END = 500, 1 << 40
MIN_BEYOND, SURELY_BEYOND = 2, 8
"""
A number is beyond the end after this many useless pages with lower numbers. The second value
applies if nearly all pages of the section were useful before.
"""


class SeriesEnds:
    """
    The ends of a host's series.

    Args:
        known: by the hash of a series: the highest number of a useful page, the lowest number of a
            useless page after it, and how many of these there were.
    """

    def __init__(self, known: Iterable[tuple[int, tuple[int, int, int]]] = ()) -> None:
        self.known: OrderedDict[int, tuple[int, int, int]] = OrderedDict(known)

    def note(self, url: str, *, is_useful: bool, is_empty: bool = False) -> None:
        """Record whether a numbered page was useful. An empty page counts twice."""
        series, number = series_of(url)
        if number is None:
            return
        best, end, count = self.known.get(series, (-1, NO_END, 0))
        if is_useful:
            best = max(best, number)
            end, count = (end, count) if number < end else (NO_END, 0)
        elif number > best >= 0:
            end, count = min(end, number), count + (MIN_BEYOND if is_empty else 1)
        self.known[series] = best, end, count
        self.known.move_to_end(series)
        if len(self.known) > MAX_SERIES:
            self.known.popitem(last=False)

    def is_beyond(self, url: str, least: int = MIN_BEYOND) -> bool:
        """
        True if at least `least` pages after the last useful one were useless, and the URL's number
        is after the first of these.
        """
        series, number = series_of(url)
        if number is None:
            return False
        _, end, count = self.known.get(series, (-1, NO_END, 0))
        return count >= least and number > end
