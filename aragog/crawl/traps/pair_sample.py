"""
A permanent sample, by hash, of the word pairs on a host's pages, in bounded memory.

A pair is kept if its hash is below a limit. If there are too many pairs, the limit is halved, which
removes half of them. So a page can be compared with any number of pages of the host, but the more
there are, the fewer of its pairs are compared. Pairs that many pages have belong to the frame of
the pages: menus, footers, and sentences that occur in every record of a catalog.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple

MAX_PAIRS = 16_384
ALL = 1 << 32
MIN_OF_FRAME, PAGES_OF_FRAME = 3, 20
"""A pair is in the frame if at least this many pages, and one in this many, have it."""
MAX_COUNT = 255


class News(NamedTuple):
    """Estimates of how many of a page's pairs are new, and how many are not in the frame."""

    new: float
    own: float


NO_NEWS = News(0, 0)


class PairSample:
    """
    A sample of 32-bit hashes.

    Args:
        limit: hashes below it are kept.
        pages: number of pages that were added.
        codes: the kept hashes.
        counts: the number of pages that had each hash, up to `MAX_COUNT`.
        share: one page in this many must have a hash for it to be in the frame.
        most: maximum number of hashes.
    """

    def __init__(
        self,
        limit: int = ALL,
        pages: int = 0,
        codes: bytes = b"",
        counts: bytes = b"",
        share: int = PAGES_OF_FRAME,
        most: int = MAX_PAIRS,
    ) -> None:
        self.limit, self.pages, self.share, self.most = limit, pages, share, most
        self.counts = dict(zip(array("I", codes), counts, strict=True))

    def news(self, codes: Iterable[int]) -> News:
        """Compare a page's hashes with the sample."""
        new, own, scale = 0, 0, ALL / self.limit
        frame = self._frame
        for code in codes:
            if code < self.limit:
                count = self.counts.get(code, 0)
                new += not count
                own += count < frame
        return News(new * scale, own * scale)

    def own(self, codes: Iterable[int]) -> list[int]:
        """Return the sampled hashes of a page that are not in the frame."""
        frame, counts = self._frame, self.counts
        return [code for code in codes if code < self.limit and counts.get(code, 0) < frame]

    def is_frame(self, code: int) -> bool:
        """True if so many pages have this hash that it is in the frame."""
        return self.counts.get(code, 0) >= self._frame

    @property
    def _frame(self) -> float:
        return min(MAX_COUNT, max(MIN_OF_FRAME, self.pages / self.share))

    def add(self, codes: Iterable[int]) -> None:
        """Add a page's hashes."""
        self.pages += 1
        for code in codes:
            if code < self.limit:
                self.counts[code] = min(MAX_COUNT, self.counts.get(code, 0) + 1)
        while len(self.counts) > self.most:
            self.limit //= 2
            self.counts = {code: n for code, n in self.counts.items() if code < self.limit}

    @property
    def codes(self) -> bytes:
        """The kept hashes as 32-bit integers."""
        return array("I", self.counts).tobytes()
