"""
Complete a mostly missing main text from the element that contains the page's article.

An extractor sometimes returns only one paragraph or box of an article. If the page has exactly one
element for its article or main part, and that element contains the extracted text, all of its
paragraphs are kept if they have at least twice as many letters.

On other pages, the element is found by its paragraphs (`richpins.article.container`). They are kept
if about half of them or more were missed, and if they have 1.5 times as many letters as the
extracted text.

Single paragraphs that were missed between others are kept on all pages, if they are running text or
children of that element. Deeper boxes are often advertisements. Lines of code in separate `div`
elements are kept, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from richpins.article.container import Container, linked_letters, long_paragraphs, paragraph_of
from richpins.article.page_texts import PageTexts
from richpins.article.text_blocks import TextBlock

_ARTICLE_PATHS = (
    "//*[contains(@itemprop, 'articleBody')]",
    "//article",
    "//main | //*[@role='main']",
)
"""
Paths to an article's element, most specific first. A path is used only if it has exactly one match.
"""
_MIN_LETTERS_INSIDE, _MIN_GROWTH = 0.8, 2.0
_MIN_MISSED, _MIN_GROWTH_OF_CONTAINER = 0.45, 1.5
_MIN_LINES = 3
"""Fewer missed lines in a row may be a caption, a date or an advertisement."""


def complete(page: PageTexts, blocks: list[TextBlock]) -> bool:
    """Keep all paragraphs of the page's article if most were missed; return True if so."""
    for path in _ARTICLE_PATHS:
        matches = page.root.xpath(path)
        if len(matches) == 1:
            return _complete_from(matches[0], page, blocks)
    return False


def _complete_from(article: Any, page: PageTexts, blocks: list[TextBlock]) -> bool:
    descendants = set(article.iter())
    kept_pieces = [each for each in page.pieces if each.kept]
    letters = sum(each.end - each.start for each in kept_pieces)
    letters_inside = sum(
        each.end - each.start for each in kept_pieces if each.holder in descendants
    )
    if not letters or letters_inside < _MIN_LETTERS_INSIDE * letters:
        return False
    inside = (block for block in blocks if block.pieces[0].holder in descendants)
    paragraphs = long_paragraphs(inside, {article: False})
    if letters_in(paragraphs) < _MIN_GROWTH * letters:
        return False
    keep(paragraphs)
    return True


def complete_from_container(container: Container, blocks: list[TextBlock]) -> bool:
    """Keep all paragraphs of a container if many were missed; return True if so."""
    letters = letters_in(block for block in blocks if block.is_kept)
    total = letters_in(container.paragraphs)
    missed = letters_in(block for block in container.paragraphs if not block.is_kept)
    if not letters or total < _MIN_GROWTH_OF_CONTAINER * letters or missed < _MIN_MISSED * total:
        return False
    keep(container.paragraphs)
    return True


def fill_gaps(container: Container, blocks: list[TextBlock]) -> None:
    """Keep the missed paragraphs of a container that are between kept ones."""
    kept = [block.number for block in blocks if block.is_kept and not container.distance(block)]
    for block in container.paragraphs:
        if block.is_kept or not kept or block.number > kept[-1]:
            continue
        paragraph = paragraph_of(block)
        is_own_text = paragraph is container.element
        if is_own_text or (block.number > kept[0] and paragraph.getparent() is container.element):
            keep([block])


def fill_lines(container: Container, blocks: list[TextBlock]) -> None:
    """Keep runs of missed lines, such as code. Each is a child of the container, without links."""
    kept = [block.number for block in blocks if block.is_kept and not container.distance(block)]
    if not kept:
        return
    between = [block for block in blocks if kept[0] < block.number < kept[-1]]
    for is_line, run in groupby(between, lambda block: _is_missed_line(block, container)):
        lines = list(run)
        if is_line and len(lines) >= _MIN_LINES:
            keep(lines)


def _is_missed_line(block: TextBlock, container: Container) -> bool:
    paragraph = paragraph_of(block)
    return (
        not block.is_kept
        and paragraph.tag == "div"
        and paragraph.getparent() is container.element
        and not linked_letters(block)
    )


def letters_in(blocks: Iterable[TextBlock]) -> int:
    """Return the number of letters in blocks."""
    return sum(len(block.letters) for block in blocks)


def keep(blocks: Iterable[TextBlock]) -> None:
    """Make blocks part of the text."""
    for block in blocks:
        for piece in block.pieces:
            piece.kept = True
