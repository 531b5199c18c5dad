"""
Keep missed paragraphs that look like the kept ones, and leave out other articles on the page.

Templates give all paragraphs of an article one class, also those in another box, behind an
advertisement, or consisting of a link. Pages that load further articles when the reader scrolls put
each into an element of its own.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from richpins.article.completion import keep, letters_in
from richpins.article.container import (
    MIN_LETTERS,
    Container,
    linked_letters,
    long_paragraphs,
    paragraph_of,
)
from richpins.article.page_texts import PageTexts
from richpins.article.text_blocks import TextBlock

_MIN_ALIKE = 2
_MAX_DISTANCE = 3
_MIN_SENTENCE_LETTERS = 60
_SENTENCE_ENDS = tuple('.!?"»…。！？\u201d')
_MIN_LEAD_LETTERS = 200

Look = tuple[str, str, str]
"""The tag and the classes of a paragraph, and the classes of its parent if it has none."""


def keep_alike(texts: PageTexts, container: Container, blocks: list[TextBlock]) -> None:
    """
    Keep missed paragraphs that look like at least two kept ones, if their parts look alike, too.

    Inside the container, a paragraph that is only a link is kept between others, if it is a
    sentence. Other missed paragraphs there are often in boxes about something else.
    """
    kept = [block for block in blocks if block.is_kept]
    looks = Counter(_look(block) for block in kept if block.weight >= MIN_LETTERS)
    usual = {look for look, count in looks.items() if look and count >= _MIN_ALIKE}
    if not usual:
        return
    first, last = kept[0].number, kept[-1].number
    missed = [
        block
        for block in blocks
        if not block.is_kept and block.number > first and _look(block) in usual
    ]
    near = (block for block in missed if _is_in_alike_part(block, container))
    keep(long_paragraphs(near, {texts.root: False}))
    keep(
        block
        for block in missed
        if block.number < last and not container.distance(block) and _is_linked_sentence(block)
    )


def _look(block: TextBlock) -> Look | None:
    """Return what a paragraph looks like; None if neither it nor its parent has a class."""
    paragraph = paragraph_of(block)
    names = (paragraph.get("class") or "").strip()
    parent = paragraph.getparent()
    names_around = "" if names or parent is None else (parent.get("class") or "").strip()
    return (paragraph.tag, names, names_around) if names or names_around else None


def _is_in_alike_part(block: TextBlock, container: Container) -> bool:
    """Return True in a part beside the container that looks like the part with the container."""
    distance = container.distance(block)
    if not 0 < distance <= _MAX_DISTANCE:
        return False
    own = next(element for element, level in container.levels.items() if level == distance - 1)
    other = block.pieces[0].holder
    while other.getparent() not in container.levels:
        other = other.getparent()
    names = (own.get("class") or "").strip()
    return bool(names) and (own.tag, names) == (other.tag, (other.get("class") or "").strip())


def _is_linked_sentence(block: TextBlock) -> bool:
    return (
        block.weight >= _MIN_SENTENCE_LETTERS
        and linked_letters(block) == len(block.letters)
        and block.text.endswith(_SENTENCE_ENDS)
    )


def without_other_articles(texts: PageTexts, blocks: list[TextBlock]) -> list[TextBlock]:
    """
    Return the blocks without those of further articles, which are removed from the text.

    The first article has the page's only h1 in an article, and running text; the others begin with
    a lower heading.
    """
    articles = [
        element
        for element in texts.root.iter("article")
        if next(element.iterancestors("article"), None) is None
    ]
    if len(articles) < _MIN_ALIKE or not _has(articles[0], "h1"):
        return blocks
    others = [element for element in articles[1:] if _has(element, "h2", "h3")]
    if len(others) + 1 < len(articles) or any(_has(element, "h1") for element in others):
        return blocks
    inside = set(articles[0].iter())
    own = (block for block in blocks if block.pieces[0].holder in inside)
    if letters_in(long_paragraphs(own, {articles[0]: False})) < _MIN_LEAD_LETTERS:
        return blocks
    elsewhere = {descendant for element in others for descendant in element.iter()}
    for block in blocks:
        if block.pieces[0].holder in elsewhere:
            block.remove()
    return [block for block in blocks if block.pieces[0].holder not in elsewhere]


def _has(element: Any, *tags: str) -> bool:
    return next(element.iter(*tags), None) is not None
