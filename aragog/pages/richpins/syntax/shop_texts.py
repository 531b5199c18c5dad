"""
Find the labels and phrases of shops in a page, in one pass over its bytes.

The pass covers what follows the first h1, without scripts and styles. It is made only for pages
about a product, so other pages do not pay for these words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation

from aragog.pages.richpins.syntax.shop_words import LABELS, STATES

MAX_PLACES = 100
"""Maximum number of places of one word that are examined."""
MAX_BYTES = 1_048_576
"""Maximum number of bytes searched, scripts and styles not counted."""
_MAX_PIECES = 2_000

_WORDS = list(dict.fromkeys((*LABELS, *STATES)))
_AUTOMATON = BytesAhoCorasick(
    [word.encode() for word in _WORDS], implementation=Implementation.DFA
)  # fmt: skip
_HIDDEN = re.compile(rb"<(script|style)")


class ShopTexts:
    """The places of labels and phrases in a page's bytes, whose ASCII letters are in lower case."""

    def __init__(self, lowered: bytes, heading: int) -> None:
        """Search from the offset of the first h1 on; -1 without one."""
        self._places: dict[str, list[int]] = {}
        for start, end in _visible(lowered, heading):
            for number, at, _ in _AUTOMATON.find_matches_as_indexes(
                lowered[start:end], overlapping=True
            ):
                places = self._places.setdefault(_WORDS[number], [])
                if len(places) < MAX_PLACES:
                    places.append(start + at)

    def places(self, word: str) -> list[int]:
        """Return the first offsets of a word."""
        return self._places.get(word, [])


def _visible(lowered: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the parts from an offset on that are neither scripts nor styles."""
    left = MAX_BYTES
    for _ in range(_MAX_PIECES if at >= 0 else 0):
        hidden = _HIDDEN.search(lowered, at)
        end = hidden.start() if hidden else len(lowered)
        yield at, min(end, at + left)
        left -= end - at
        at = lowered.find(b"</" + hidden[1], end) if hidden and left > 0 else -1
        if at < 0:
            return
