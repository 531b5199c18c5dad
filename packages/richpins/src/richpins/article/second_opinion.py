"""
Ask a second extractor where the first one may have missed most of an article.

It is Readability's algorithm (readability-lxml). It costs twice as much as trafilatura's fast mode,
so it is asked only where the long blocks that were left out have more letters than the text. Its
answer counts if it holds the first one and is at least twice as long.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from typing import Any

from lxml import etree, html

from richpins.article import selection
from richpins.article.page_texts import ChosenBlock, PageTexts, blocks_of

_LONG_BLOCK = 80
"""Letters of a block that is rarely a link, a caption or a button."""
_LEAST_HELD, _MUCH_LONGER = 0.8, 2.0
_WINDOW = 12
"""Letters of the sequences that are looked up."""


def may_be_cut(page: PageTexts) -> bool:
    """Whether the long blocks of a page that were left out have more letters than what was kept."""
    letters: dict[int, int] = defaultdict(int)
    kept: Counter[int] = Counter()
    for piece in page.pieces:
        letters[piece.block] += piece.end - piece.start
        kept[piece.block] += piece.kept * (piece.end - piece.start)
    left_out = sum(n for block, n in letters.items() if n >= _LONG_BLOCK and not kept[block])
    return left_out > kept.total()


def add(tree: Any, page: PageTexts) -> None:
    """Keep what the second extractor chose, too, if it holds the first text and is much longer."""
    blocks = _ask(tree)
    letters = "".join(block.letters for block in blocks)
    first = "".join(page.letters[p.start : p.end] for p in page.pieces if p.kept)
    if len(letters) >= _MUCH_LONGER * len(first) and _holds(letters, first):
        selection.select(page, blocks)


def _ask(tree: Any) -> list[ChosenBlock]:
    """The blocks of Readability's article; none if the extra lacks it or it finds nothing."""
    try:
        from readability import Document  # noqa: PLC0415 - asked for few pages
        from readability.readability import Unparseable  # noqa: PLC0415
    except ModuleNotFoundError:
        return []
    # It changes what it reads, and logs what it cannot read.
    logging.getLogger("readability").setLevel(logging.CRITICAL)
    try:
        article = Document(html.tostring(tree, encoding="unicode")).summary()
        return blocks_of(html.fromstring(article))
    except (Unparseable, etree.LxmlError, ValueError):
        return []


def _holds(letters: str, first: str) -> bool:
    """Whether most of the first text stands in the other one."""
    parts = [first[at : at + _WINDOW] for at in range(0, len(first), _WINDOW)]
    return sum(part in letters for part in parts) >= _LEAST_HELD * len(parts)
