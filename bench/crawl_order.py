"""
The order in which a crawl reaches the pages of a large host, for measurements with one host.

Pages of a host with many folders are not fetched folder by folder. In simulated crawls of the
documentation of Rust, OpenJDK, Boost, Linux, Scala, GHC and Sage (`bench.site_leaves`), 25
consecutive pages were from 4 to 19 folders, and 500 from 24 to 138. Here, 25 are from about 17 and
500 from about 69: runs of pages of one folder, in random order within a block, and mixed as if several
batches were fetched at the same time. Each block is complete, so a host has the same pages as if
they were fetched one after the other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

FOLDER_PAGES = 40
BLOCK_PAGES = 5_000
_RUN_PAGES = 8
_WINDOW_PAGES = 100


def in_crawl_order(first: int, count: int) -> list[int]:
    """Return the numbers of the pages that are fetched at these positions."""
    return [
        position - position % BLOCK_PAGES + _order(position // BLOCK_PAGES)[position % BLOCK_PAGES]
        for position in range(first, first + count)
    ]


def fetched_of_folder(folder: int, pages: int) -> list[int]:
    """Return the pages of a folder that are among the first `pages` that are fetched."""
    numbers = range(folder * FOLDER_PAGES, (folder + 1) * FOLDER_PAGES)
    return [number for number in numbers if _position(number) < pages]


def _position(number: int) -> int:
    inside = number % BLOCK_PAGES
    return number - inside + _positions(number // BLOCK_PAGES)[inside]


@lru_cache(maxsize=64)
def _order(block: int) -> Sequence[int]:
    """Return the offsets of a block's pages in the order in which they are fetched."""
    rng = random.Random(block)
    runs = [range(at, at + _RUN_PAGES) for at in range(0, BLOCK_PAGES, _RUN_PAGES)]
    rng.shuffle(runs)
    order = list(chain.from_iterable(runs))
    for at in range(BLOCK_PAGES):
        other = at + rng.randrange(min(_WINDOW_PAGES, BLOCK_PAGES - at))
        order[at], order[other] = order[other], order[at]
    return order


@lru_cache(maxsize=64)
def _positions(block: int) -> Sequence[int]:
    positions = [0] * BLOCK_PAGES
    for position, offset in enumerate(_order(block)):
        positions[offset] = position
    return positions
