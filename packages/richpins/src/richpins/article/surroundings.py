"""
Remove the menus, comments and teasers that an extractor kept around an article.

The element around the article's paragraphs (`richpins.article.container`) shows where the article
is. Blocks outside it are judged in groups. A group is the content of one child of an element that
also contains the article.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from richpins.article.container import Container, linked_letters, paragraph_of
from richpins.article.opening import is_title
from richpins.article.page_texts import PageTexts
from richpins.article.text_blocks import TextBlock

_MIN_LEVELS_ABOVE_TITLE = 2
"""A lead may be above the title, but then it is near the paragraphs."""
_MIN_LEVELS_OF_MENUS, _MIN_MENU_BLOCKS = 3, 3
_MIN_SHARE, _MIN_SHARE_WITH_TEASERS, _MIN_SHARE_WITH_MENUS = 0.35, 0.5, 0.6
"""
If the container has a smaller fraction of the text, it may be only one part of the article. The
first fraction is low, because comments are often longer than the article.
"""
_MIN_TEASER_SHARE, _MIN_TEASERS, _MIN_LINKED = 0.25, 3, 0.9
_MAX_TEASER_LETTERS = 150
_MIN_SENTENCE_LETTERS = 60
_SENTENCE_ENDS = tuple('.!?"»)…。！？\u201d')
_COMMENTS = re.compile(r"comment|disqus|komment|coment", re.IGNORECASE)
_SIDEBAR = re.compile(r"(?<![a-z])side-?bar(?![a-z])", re.IGNORECASE)
DISCUSSION = re.compile(r"forum|thread|topic|discussion|community|question|answer", re.IGNORECASE)
"""Names of elements around a discussion. There, the comments are the text."""


def remove_surroundings(
    texts: PageTexts, blocks: list[TextBlock], container: Container, titles: list[str]
) -> None:
    """
    Remove menus above an article, and comments and teasers below it.

    `titles` are the letters of the page's titles (`richpins.article.opening.titles_of`).
    """
    kept = [block for block in blocks if block.is_kept]
    distances = [container.distance(block) for block in kept]
    first, last = (container.paragraphs[index].number for index in (0, -1))
    above = [
        (block, distance)
        for block, distance in zip(kept, distances, strict=True)
        if distance and block.number < first
    ]
    below = [
        block
        for block, distance in zip(kept, distances, strict=True)
        if distance and block.number > last
    ]
    inside = (block for block, distance in zip(kept, distances, strict=True) if not distance)
    share = _letters(inside) / max(1, _letters(kept))
    if above:
        title = _title_above(blocks, first, titles)
        far = [b for b, d in above if b.number < title and d >= _MIN_LEVELS_ABOVE_TITLE]
        _remove(b for b in far if share >= _MIN_SHARE or not _is_sentence(b, texts))
        if share >= _MIN_SHARE_WITH_MENUS:
            far = [block for block, distance in above if distance >= _MIN_LEVELS_OF_MENUS]
            _remove(_menus(far, texts, container))
    if below and share >= _MIN_SHARE and not _is_discussion(container):
        _remove(block for block in below if _is_in_named(block, container, _COMMENTS))
    if below and share >= _MIN_SHARE_WITH_TEASERS:
        _remove(block for block in below if _is_in_named(block, container, _SIDEBAR))
    if below and share >= _MIN_SHARE_WITH_TEASERS:
        _remove(_teasers(below, [each for each in blocks if each.number > last], container))


def _title_above(blocks: list[TextBlock], first: int, titles: list[str]) -> int:
    """Return the number of the block with the title's h1 above the article; 0 without one."""
    headings = (block for block in blocks if block.number < first and _is_in_h1(block))
    return next((block.number for block in headings if is_title(block, titles)), 0)


def _is_in_h1(block: TextBlock) -> bool:
    return bool(paragraph_of(block).tag == "h1")


def _menus(blocks: list[TextBlock], texts: PageTexts, container: Container) -> Iterable[TextBlock]:
    """Yield the blocks of groups with several blocks but no sentence or title."""
    for group in _groups(blocks, container).values():
        if len(group) >= _MIN_MENU_BLOCKS and not any(
            _is_sentence(block, texts) or _is_in_h1(block) for block in group
        ):
            yield from group


def _is_sentence(block: TextBlock, texts: PageTexts) -> bool:
    return (
        block.weight >= _MIN_SENTENCE_LETTERS
        and texts.kinds[block.number] != "entry"
        and block.text.endswith(_SENTENCE_ENDS)
    )


def _is_discussion(container: Container) -> bool:
    return any(DISCUSSION.search(_names(each)) for each in container.levels)


def _is_in_named(block: TextBlock, container: Container, names: re.Pattern[str]) -> bool:
    """Return True if an element around a block, but not around the article, has such a name."""
    element = block.pieces[0].holder
    while element not in container.levels:
        if names.search(_names(element)):
            return True
        element = element.getparent()
    return False


def _teasers(
    kept: list[TextBlock], blocks: list[TextBlock], container: Container
) -> Iterable[TextBlock]:
    """Yield the kept blocks of groups in which many blocks consist of links."""
    groups = _groups(blocks, container)
    with_teasers = {element for element, group in groups.items() if _has_teasers(group)}
    for element, group in _groups(kept, container).items():
        if element in with_teasers and not any(_is_running_text(each) for each in group):
            yield from group


def _is_running_text(block: TextBlock) -> bool:
    return block.weight > _MAX_TEASER_LETTERS and block.text.endswith(_SENTENCE_ENDS)


def _has_teasers(group: list[TextBlock]) -> bool:
    links = [each for each in group if linked_letters(each) >= _MIN_LINKED * len(each.letters)]
    return len(links) >= _MIN_TEASERS and _letters(links) >= _MIN_TEASER_SHARE * _letters(group)


def _groups(blocks: Iterable[TextBlock], container: Container) -> dict[Any, list[TextBlock]]:
    """Group the blocks outside a container by the outermost element that does not surround it."""
    groups: dict[Any, list[TextBlock]] = {}
    for block in blocks:
        element = outer = block.pieces[0].holder
        while element not in container.levels:
            outer, element = element, element.getparent()
        groups.setdefault(outer, []).append(block)
    return groups


def _names(element: Any) -> str:
    return f"{element.get('class') or ''} {element.get('id') or ''}"


def _letters(blocks: Iterable[TextBlock]) -> int:
    return sum(len(block.letters) for block in blocks)


def _remove(blocks: Iterable[TextBlock]) -> None:
    for block in blocks:
        block.remove()
