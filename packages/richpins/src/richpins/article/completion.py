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

_ARTICLE_PATHS = (
    "//*[contains(@itemprop, 'articleBody')]",
    "//article",
    "//main | //*[@role='main']",
)
"""
Paths of elements for an article, most specific first. Each is used only if it matches one element.
"""
_MIN_BLOCK_LETTERS = 80
"""Blocks with this many letters are rarely links, captions or buttons."""
_MIN_LETTERS_INSIDE, _MIN_GROWTH = 0.8, 2.0
_MAX_LINK_SHARE = 0.3
_EXCLUDED_TAGS = frozenset(
    {"aside", "nav", "footer", "form", "figure", "figcaption", "header", "ul", "ol", "dialog"}
)
"""Includes lists, because their long entries are gallery captions, comments or teasers."""
_EXCLUDED_NAMES = re.compile(
    r"comment|disqus|related|recommend|promo|teaser|newsletter|sidebar|share|author|bio|sponsor|advert|cookie|footer|"
    r"gallery|slide|carousel|caption|video|player|modal",
    re.IGNORECASE,
)


def complete(page: PageTexts) -> bool:
    """Keep all paragraphs of the page's article if most were missed; return True if so."""
    for path in _ARTICLE_PATHS:
        matches = page.root.xpath(path)
        if len(matches) == 1:
            return _complete_from(matches[0], page)
    return False


def _complete_from(article: Any, page: PageTexts) -> bool:
    descendants = set(article.iter())
    kept_pieces = [each for each in page.pieces if each.kept]
    letters = sum(each.end - each.start for each in kept_pieces)
    letters_inside = sum(
        each.end - each.start for each in kept_pieces if each.holder in descendants
    )
    if not letters or letters_inside < _MIN_LETTERS_INSIDE * letters:
        return False
    blocks = dict(_paragraphs(article, descendants, page))
    if sum(blocks.values()) < _MIN_GROWTH * letters:
        return False
    for piece in page.pieces:
        piece.kept = piece.kept or piece.block in blocks
    return True


def _paragraphs(article: Any, inside: set[Any], page: PageTexts) -> Iterator[tuple[int, int]]:
    """Yield (index, letters) of each long block in the article's own text."""
    letters: Counter[int] = Counter()
    linked: Counter[int] = Counter()
    excluded: set[int] = set()
    known_apart: dict[Any, bool] = {article: False}
    for piece in page.pieces:
        if piece.holder in inside:
            own = piece.end - piece.start
            letters[piece.block] += own
            if any(ancestor.tag == "a" for ancestor in _near_ancestors(piece.holder, article)):
                linked[piece.block] += own
            if _is_apart(piece.holder, known_apart):
                excluded.add(piece.block)
    for block, total in letters.items():
        if (
            total >= _MIN_BLOCK_LETTERS
            and linked[block] <= _MAX_LINK_SHARE * total
            and block not in excluded
        ):
            yield block, total


def _near_ancestors(element: Any, article: Any) -> Iterator[Any]:
    """Yield an element and its closest ancestors, up to the article."""
    for _ in range(_MAX_CLIMB):
        if element is None or element is article:
            return
        yield element
        element = element.getparent()


_MAX_CLIMB = 4


def _is_apart(element: Any, cache: dict[Any, bool]) -> bool:
    """Return True if an element is in a part of the article that is not running text."""
    path = []
    while element is not None and element not in cache:
        path.append(element)
        element = element.getparent()
    is_apart = cache.get(element, False)
    for ancestor in reversed(path):
        names = f"{ancestor.get('class') or ''} {ancestor.get('id') or ''}"
        is_apart = (
            is_apart or ancestor.tag in _EXCLUDED_TAGS or _EXCLUDED_NAMES.search(names) is not None
        )
        cache[ancestor] = is_apart
    return is_apart
