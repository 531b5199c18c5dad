"""
What a page is recognized by when traps are looked for: its own words, and a sketch of its text.
Pure.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from zlib import crc32

from richpins.text_sketch import LEAST_WORDS, sketch_of

if TYPE_CHECKING:
    from richpins.document import Document

SKETCH_BYTES = 24
MOST_ESCAPES = 5
MOST_PAIRS, MOST_WORDS = 96, 1_024
_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
_LEAST_ALIKE = 0.75
"""
The share of the bins of two sketches that must agree: less than in the store, because a time of
day differs.
"""


@dataclass(frozen=True, slots=True)
class PageTraits:
    """What a page is recognized by."""

    pairs: tuple[int, ...] = ()
    """Hashes of pairs of words outside links, the lowest `MOST_PAIRS`."""
    numbers: tuple[int, ...] = ()
    """The same of pairs in which one is a number: a date, a price, a place on a map."""
    sketch: bytes = b""
    """`SKETCH_BYTES` bins of the sketch of its text, links included; empty: it has no words."""
    bands: tuple[int, ...] = ()
    """Hashes of parts of the sketch: pages that are nearly the same share one."""


def traits_of(page: Document, url: str = "") -> PageTraits:
    """The traits of the page of a URL."""
    from richpins.compared_text import (  # noqa: PLC0415 - with its parsers
        compared_text,
        text_without_links,
    )

    return traits_of_texts(compared_text(page), text_without_links(page), url)


def traits_of_texts(text: str, own: str, url: str = "") -> PageTraits:
    """
    The traits of a page with this text, of which `own` is not in links.

    Words of the URL are no words of the page: a search shows what was searched for.
    """
    echoed = set(_WORD.findall(_plain(urlsplit(url).query).lower()))
    words = _WORD.findall(own.lower())[:MOST_WORDS]
    found = [pair for pair in pairwise(words) if echoed.isdisjoint(pair)]
    pairs = _some(pair for pair in found if not _has_number(pair))
    numbers = _some(pair for pair in found if _has_number(pair))
    bins = _bins(text)
    return PageTraits(pairs, numbers, bins[:SKETCH_BYTES], _bands(bins))


def _plain(query: str) -> str:
    """A query without escapes; a URL within it is escaped again with each step."""
    for _ in range(MOST_ESCAPES):
        query = unquote(query)
    return query


def _has_number(pair: tuple[str, str]) -> bool:
    return any(character.isdecimal() for word in pair for character in word)


def _some(pairs: Iterable[tuple[str, str]]) -> tuple[int, ...]:
    """The lowest hashes: pages that share a text share most of those of its pairs."""
    return tuple(sorted({crc32(" ".join(pair).encode()) for pair in pairs})[:MOST_PAIRS])


def _bins(text: str) -> bytes:
    """The 64 bins of the sketch of a text; a short one is repeated."""
    count = len(text.split())
    if not count:
        return b""
    return b64decode(sketch_of(" ".join([text] * (LEAST_WORDS // count + 1))))


def _bands(bins: bytes) -> tuple[int, ...]:
    parts = [bins[at : at + 10] for at in range(SKETCH_BYTES, 64, 10)]
    return tuple(crc32(part, at) for at, part in enumerate(parts) if part and part.count(0) < 4)


def are_alike(one: bytes, other: bytes) -> bool:
    """Whether two sketches are of nearly the same text."""
    used = [pair for pair in zip(one, other, strict=False) if pair != (0, 0)]
    return bool(used) and sum(a == b for a, b in used) >= _LEAST_ALIKE * len(used)
