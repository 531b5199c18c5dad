"""
Complete a text that is mostly missing, from the element that contains the page's article.

An extractor sometimes returns only one paragraph or one box of an article. All paragraphs of the
article are kept if the page has exactly one element for its article or main part, that element
contains the extracted text, and its paragraphs have at least twice as many letters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from richpins.article.page_texts import PageTexts

_CALLED = (
    "//*[contains(@itemprop, 'articleBody')]",
    "//article",
    "//main | //*[@role='main']",
)
"""
Paths of elements for an article, most specific first. Each is used only if it matches one element.
"""
_LONG_BLOCK = 80
"""Blocks with this many letters are rarely links, captions or buttons."""
_MIN_HELD, _MUCH_LONGER = 0.8, 2.0
_MAX_LINKS = 0.3
_APART = frozenset(
    {"aside", "nav", "footer", "form", "figure", "figcaption", "header", "ul", "ol", "dialog"}
)
"""Includes lists, because their long entries are gallery captions, comments or teasers."""
_NAMED_APART = re.compile(
    r"comment|disqus|related|recommend|promo|teaser|newsletter|sidebar|share|author|bio|sponsor|advert|cookie|footer|"
    r"gallery|slide|carousel|caption|video|player|modal",
    re.IGNORECASE,
)


def complete(page: PageTexts) -> bool:
    """Keep all paragraphs of the page's article if most were missed; return True if so."""
    for path in _CALLED:
        found = page.root.xpath(path)
        if len(found) == 1:
            return _complete_from(found[0], page)
    return False


def _complete_from(article: Any, page: PageTexts) -> bool:
    inside = set(article.iter())
    kept = [each for each in page.pieces if each.kept]
    letters = sum(each.end - each.start for each in kept)
    held = sum(each.end - each.start for each in kept if each.holder in inside)
    if not letters or held < _MIN_HELD * letters:
        return False
    blocks = dict(_paragraphs(article, inside, page))
    if sum(blocks.values()) < _MUCH_LONGER * letters:
        return False
    for piece in page.pieces:
        piece.kept = piece.kept or piece.block in blocks
    return True


def _paragraphs(article: Any, inside: set[Any], page: PageTexts) -> Iterator[tuple[int, int]]:
    """Yield (index, letters) of each long block in the article's own text."""
    letters: Counter[int] = Counter()
    linked: Counter[int] = Counter()
    apart: set[int] = set()
    seen: dict[Any, bool] = {article: False}
    for piece in page.pieces:
        if piece.holder in inside:
            own = piece.end - piece.start
            letters[piece.block] += own
            if any(each.tag == "a" for each in _within(piece.holder, article)):
                linked[piece.block] += own
            if _is_apart(piece.holder, seen):
                apart.add(piece.block)
    for block, count in letters.items():
        if count >= _LONG_BLOCK and linked[block] <= _MAX_LINKS * count and block not in apart:
            yield block, count


def _within(element: Any, article: Any) -> Iterator[Any]:
    """Yield an element and its closest ancestors, up to the article."""
    for _ in range(_MAX_CLIMB):
        if element is None or element is article:
            return
        yield element
        element = element.getparent()


_MAX_CLIMB = 4


def _is_apart(element: Any, seen: dict[Any, bool]) -> bool:
    """Return True if an element is in a part of the article that is not running text."""
    path = []
    while element is not None and element not in seen:
        path.append(element)
        element = element.getparent()
    is_apart = seen.get(element, False)
    for each in reversed(path):
        named = f"{each.get('class') or ''} {each.get('id') or ''}"
        is_apart = is_apart or each.tag in _APART or _NAMED_APART.search(named) is not None
        seen[each] = is_apart
    return is_apart
