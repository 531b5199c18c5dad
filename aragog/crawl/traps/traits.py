"""
The traits by which trap recognition compares pages: word pairs outside links, and a sketch
(similarity hash) of the text. Pure (no I/O).
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

from richpins.text_sketch import MIN_WORDS, sketch_of
from urlspelling.domain import host

if TYPE_CHECKING:
    from richpins.document import Document

SKETCH_BYTES = 24
BREAK = "\x1e"
"""Stands for a link in the text outside links. Words on its two sides do not form a pair."""
MAX_ESCAPES = 5
MAX_WORDS = 1_024
_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
_PIECE = re.compile(r"[^\W_]+")
ALIKE = 0.75
"""
The share of bins in which two sketches must be equal for their texts to count as alike. It is lower
than in the store, because pages may differ in the time of day that they show.
"""


@dataclass(frozen=True, slots=True)
class PageTraits:
    """The traits of one page."""

    pairs: tuple[int, ...] = ()
    """Hashes of different word pairs outside links, at most `MAX_WORDS`."""
    numbers: tuple[int, ...] = ()
    """Hashes of word pairs that contain a number, such as a date, a price or a coordinate."""
    sketch: bytes = b""
    """A sketch of the text, including links, with `SKETCH_BYTES` bins; empty without words."""
    bands: tuple[int, ...] = ()
    """Hashes of parts of the sketch. Pages that are nearly the same share at least one."""
    canonical: str = ""
    """The URL that the page declares as canonical, if it is another one of the same host."""


def traits_of(page: Document, url: str = "") -> PageTraits:
    """Return the traits of a page."""
    from richpins.compared_text import (  # noqa: PLC0415 - with its parsers
        compared_text,
        text_without_links,
    )

    return traits_of_texts(
        compared_text(page), text_without_links(page, BREAK), url, canonical=_canonical(page, url)
    )


def _canonical(page: Document, url: str) -> str:
    for link in page.link_elements:
        if "canonical" in link.rel and link.in_head and link.href:
            named = page.resolve(link.href) or ""
            return named if named != url and host(named) == host(url) else ""
    return ""


def traits_of_texts(text: str, own: str, url: str = "", *, canonical: str = "") -> PageTraits:
    """
    Return the traits of a page with this text. `own` is the text outside links, with a `BREAK` in
    place of each link.

    Words in the query and numbers in the URL do not count as the page's own: a search page repeats
    the words that were searched for, and a calendar the requested day. Two neighboring words of the
    path, such as a filter that the title repeats, do not count either.
    """
    split = urlsplit(url)
    echoed = set(_WORD.findall(_plain(split.query).lower()))
    echoed |= {word for word in _PIECE.findall(split.path.lower()) if word.isdecimal()}
    path = set(_PIECE.findall(unquote(split.path).lower()))
    found = [
        pair
        for pair in _pairs_of(own.lower())
        if echoed.isdisjoint(pair) and not path.issuperset(pair)
    ]
    pairs = _codes(pair for pair in found if not _has_number(pair))
    numbers = _codes(pair for pair in found if _has_number(pair))
    bins = _bins(text)
    return PageTraits(pairs, numbers, bins[:SKETCH_BYTES], _bands(bins), canonical)


def _pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the first `MAX_WORDS` pairs of neighboring words that no link separates."""
    found: list[tuple[str, str]] = []
    for piece in text.split(BREAK):
        found += pairwise(_WORD.findall(piece))
        if len(found) >= MAX_WORDS:
            break
    return found[:MAX_WORDS]


def _plain(query: str) -> str:
    """Unescape a query completely. Nested URLs are escaped several times."""
    for _ in range(MAX_ESCAPES):
        query = unquote(query)
    return query


def _has_number(pair: tuple[str, str]) -> bool:
    return any(character.isdecimal() for word in pair for character in word)


def _codes(pairs: Iterable[tuple[str, str]]) -> tuple[int, ...]:
    return tuple({crc32(" ".join(pair).encode()) for pair in pairs})


def _bins(text: str) -> bytes:
    """Return the 64 bins of a text's sketch. A short text is repeated until it is long enough."""
    count = len(text.split())
    if not count:
        return b""
    return b64decode(sketch_of(" ".join([text] * (MIN_WORDS // count + 1))))


def _bands(bins: bytes) -> tuple[int, ...]:
    parts = [bins[at : at + 10] for at in range(SKETCH_BYTES, 64, 10)]
    return tuple(crc32(part, at) for at, part in enumerate(parts) if part and part.count(0) < 4)


def are_alike(one: bytes, other: bytes, least: float = ALIKE) -> bool:
    """True if two sketches belong to nearly the same text."""
    used = [pair for pair in zip(one, other, strict=False) if pair != (0, 0)]
    return bool(used) and sum(a == b for a, b in used) >= least * len(used)
