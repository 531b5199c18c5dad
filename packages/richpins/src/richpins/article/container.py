"""
Find the element around an article's paragraphs by counting the letters in long paragraphs.

As in Arc90's Readability, the element around a long paragraph scores the paragraph's number of
letters, the next outer element half as many, and so on. The element with the highest score is the
container. Comments, teasers, lists and captions do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from richpins.article.page_texts import INLINE, PageTexts
from richpins.article.text_blocks import TextBlock

MIN_LETTERS = 80
"""Blocks with this many letters are rarely links, captions or buttons."""
_MAX_LINK_SHARE = 0.3
_MAX_LEVELS = 4
"""A paragraph's letters count for at most this many elements around it."""
_MIN_LINE_BREAKS = 2
"""An element with this many line breaks contains several paragraphs."""
_MAX_CLIMB = 4
_EXCLUDED_TAGS = frozenset(
    {"aside", "nav", "footer", "form", "figure", "figcaption", "header", "ul", "ol", "dl", "dialog"}
)
"""Includes lists, because long list entries are gallery captions, comments or teasers."""
_EXCLUDED_NAMES = re.compile(
    r"comment|disqus|related|recommend|promo|teaser|newsletter|"
    r"(?<!with)(?<!with[_-])(?<!has)(?<!has[_-])(?<!no[_-])sidebar|share|author|bio|sponsor|advert|cookie|footer|"
    r"gallery|slide|carousel|caption|video|player|modal|pop-?up|popmake",
    re.IGNORECASE,
)
_COMMENT_NAMES = re.compile(r"comment|disqus", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Container:
    """The element around an article's paragraphs."""

    levels: dict[Any, int]
    """
    Maps the element to 0, and each element around it to its number of levels above the element.
    """
    paragraphs: list[TextBlock]
    """The long paragraphs in the element."""

    @property
    def element(self) -> Any:
        return next(iter(self.levels))

    def distance(self, block: TextBlock) -> int:
        """
        Return how many levels above the element its common ancestor with a block is: 0 if the
        element contains the block.
        """
        return self.levels[next(e for e in _chain(block.pieces[0].holder) if e in self.levels)]


def find_container(
    texts: PageTexts,
    blocks: list[TextBlock],
    *,
    anywhere: bool = False,
    under_any_name: bool = False,
) -> Container | None:
    """
    Return the container of a page's article; None without long paragraphs.

    With `anywhere`, paragraphs in comments, asides and the like count as well. With
    `under_any_name`, an element's name matters only if it means comments, because some pages are
    entirely in an element called `sidebar` or `share`.
    """
    texts_only = (block for block in blocks if texts.kinds[block.number] != "heading")
    names = _COMMENT_NAMES if under_any_name else _EXCLUDED_NAMES
    paragraphs = long_paragraphs(texts_only, None if anywhere else {texts.root: False}, names)
    letters: dict[Any, float] = defaultdict(float)
    known_mixed: dict[Any, bool] = {}
    for block in paragraphs:
        for level, element in enumerate(_around(block, known_mixed)):
            letters[element] += block.weight / 2**level
    if not letters:
        return None
    element = max(letters, key=lambda each: letters[each])
    levels = {each: level for level, each in enumerate(_chain(element))}
    container = Container(levels, [])
    container.paragraphs.extend(each for each in paragraphs if not container.distance(each))
    return container


def _around(block: TextBlock, known_mixed: dict[Any, bool]) -> Iterator[Any]:
    """Yield the elements that score a paragraph's letters, innermost first."""
    paragraph = paragraph_of(block)
    holders = (each for each in _chain(paragraph.getparent()) if each.tag not in INLINE)
    if paragraph not in known_mixed:
        known_mixed[paragraph] = _has_paragraphs(paragraph)
    has_paragraphs = known_mixed[paragraph]
    if has_paragraphs:
        yield paragraph
    for _, element in zip(range(_MAX_LEVELS - has_paragraphs), holders, strict=False):
        if element.tag == "html":
            return
        yield element


def _has_paragraphs(element: Any) -> bool:
    """Return True if an element has line breaks or blocks next to its own text."""
    tags = [child.tag for child in element]
    return tags.count("br") >= _MIN_LINE_BREAKS or any(
        tag not in INLINE and tag != "br" for tag in tags
    )


def paragraph_of(block: TextBlock) -> Any:
    """Return the innermost element around a block's text that is not inline."""
    return next(each for each in _chain(block.pieces[0].holder) if each.tag not in INLINE)


def _chain(element: Any) -> Iterator[Any]:
    while element is not None:
        yield element
        element = element.getparent()


def long_paragraphs(
    blocks: Iterable[TextBlock],
    known_apart: dict[Any, bool] | None,
    names: re.Pattern[str] = _EXCLUDED_NAMES,
) -> list[TextBlock]:
    """
    Return the long blocks of running text.

    `known_apart` caches which elements are in parts that are not running text; with None, all parts
    of the page count as running text. `names` matches the names of such parts.
    """
    return [
        block
        for block in blocks
        if block.weight >= MIN_LETTERS
        and (
            known_apart is None
            or not any(_is_apart(piece.holder, known_apart, names) for piece in block.pieces)
        )
        and (linked_letters(block) <= _MAX_LINK_SHARE * len(block.letters) or _is_hypertext(block))
    ]


def _is_hypertext(block: TextBlock) -> bool:
    """Return True for several sentences in which individual phrases are links."""
    links = sum(piece.holder.tag == "a" and not piece.is_tail for piece in block.pieces)
    return links >= _MIN_LINKS and len(_SENTENCE_END.findall(block.text)) >= _MIN_SENTENCES


_MIN_LINKS, _MIN_SENTENCES = 2, 2
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[.!?](?=\s|\Z)")


def linked_letters(block: TextBlock) -> int:
    """Return how many letters of a block are in links."""
    return sum(
        piece.end - piece.start
        for piece in block.pieces
        if any(e.tag == "a" for _, e in zip(range(_MAX_CLIMB), _chain(piece.holder), strict=False))
    )


def _is_apart(element: Any, cache: dict[Any, bool], names: re.Pattern[str]) -> bool:
    path = []
    while element is not None and element not in cache:
        path.append(element)
        element = element.getparent()
    apart = cache.get(element, False)
    for ancestor in reversed(path):
        own_names = f"{ancestor.get('class') or ''} {ancestor.get('id') or ''}"
        apart = apart or (
            ancestor.tag != "body"
            and (ancestor.tag in _EXCLUDED_TAGS or names.search(own_names) is not None)
        )
        cache[ancestor] = apart
    return apart
