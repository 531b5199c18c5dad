"""
Make a text start with its lead paragraph, not with breadcrumbs, dates or the title.

An extractor often misses the lead, because it is next to the title, and keeps breadcrumbs, the date
or the title. The lead is the block that matches the page's description. The removed values are
available as fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from richpins.article.page_texts import PageTexts, letters_of
from richpins.article.text_blocks import TextBlock, text_blocks
from richpins.document import Document
from richpins.visible_text.shown_days import date_in

_LONG = 80
"""Blocks with this many letters are hardly ever headings, breadcrumbs or bylines."""
_MIN_LEAD, _MIN_LEAD_BEYOND_ASCII = 30, 15
_CUT_OFF = 3
"""Letters at the end of a description that may belong to a truncated word."""
_MAX_BESIDE = 20
"""Maximum letters before the description in a lead, such as a place name."""
_MAX_OPENING = 200
"""After this many letters of other blocks, the text has started."""
_MAX_BLOCKS = 400
"""Maximum blocks above a text that are examined, from the nearest on."""
_DESCRIPTIONS = ("description", "og:description", "twitter:description")
_APART = frozenset({"nav", "aside", "footer", "figure", "figcaption", "form", "button", "select"})
_LISTS = frozenset({"ul", "ol"})
_MAX_CLIMB = 12


def open_with_lead(texts: PageTexts, page: Document, *, with_title: bool) -> None:
    """Add the lead to a text; remove breadcrumbs, dates and, without `with_title`, the title."""
    blocks = list(text_blocks(texts))
    start = next((n for n, each in enumerate(blocks) if _begins(each, texts)), None)
    if start is None:
        return
    titles = _titles(page)
    _keep_lead(blocks[max(0, start - _MAX_BLOCKS) : start], blocks[start:], page, titles)
    opening = list(_opening(blocks, titles, with_title=with_title))
    if any(each.is_kept for each in blocks if each not in opening):
        for block in opening:
            block.leave_out()


def _begins(block: TextBlock, texts: PageTexts) -> bool:
    """Return True for a long block that was selected and is not a heading."""
    return len(block.letters) >= _LONG and texts.kinds[block.number] != "heading" and block.is_kept


def _titles(page: Document) -> list[str]:
    """
    Return the letters of the page's titles: those in its head, and headings similar to them.

    A heading that shares few words with the title has information that no field contains, so it is
    kept.
    """
    stated = [
        each for each in (page.title, page.meta("og:title"), page.meta("twitter:title")) if each
    ]
    words = {word for each in stated for word in _WORD.findall(each.casefold())}
    headings = [
        each
        for each in page.headings[:_MAX_TITLES]
        if not stated or 2 * len(words & (own := set(_WORD.findall(each.casefold())))) >= len(own)
    ]
    parts = [max(_PARTS.split(each), key=len) for each in stated]
    found = {letters_of(each).casefold() for each in (*headings, *stated, *parts)}
    # Longest first, because a heading such as "pathlib — Paths" ends with a part of itself.
    return sorted(
        (each for each in found if len(each) >= _MIN_TITLE), key=lambda it: (-len(it), it)
    )


_MAX_TITLES = 3
_MIN_TITLE = 4
_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"\s(?:[|–—-]|::|»|·)\s")


def _keep_lead(
    above: list[TextBlock], below: list[TextBlock], page: Document, titles: list[str]
) -> None:
    """Keep the nearest block above a text that matches the page's description."""
    stated = {letters_of(text).casefold() for name in _DESCRIPTIONS if (text := page.meta(name))}
    kept = "".join(each.letters for each in (*above, *below) if each.is_kept)
    for block in reversed(above):
        if block.is_kept or not any(_says(block.letters, each) for each in stated):
            continue
        if block.letters[:_LONG] in kept or block.letters in titles or _is_apart(block):
            continue
        for piece in block.pieces:
            piece.kept = True
        return


def _says(letters: str, description: str) -> bool:
    """Return True if a block is in a description, or contains a (truncated) description."""
    least = _MIN_LEAD if letters.isascii() else _MIN_LEAD_BEYOND_ASCII
    if min(len(letters), len(description)) < least:
        return False
    if letters in description:
        return True
    place = letters.find(description[:-_CUT_OFF])
    return 0 <= place <= _MAX_BESIDE and len(letters) <= _MUCH_LONGER * len(description)


_MUCH_LONGER = 3


def _is_apart(block: TextBlock) -> bool:
    """Return True if a block is in a menu, a caption or an aside, or is mostly links."""
    linked = 0
    for piece in block.pieces:
        tags = {element.tag for element in _around(piece.holder)}
        if tags & _APART:
            return True
        linked += (piece.end - piece.start) * ("a" in tags)
    return 2 * linked > len(block.letters)


def _around(element: Any) -> Iterator[Any]:
    for _ in range(_MAX_CLIMB):
        if element is None:
            return
        yield element
        element = element.getparent()


def _opening(
    blocks: list[TextBlock], titles: list[str], *, with_title: bool
) -> Iterator[TextBlock]:
    """Yield the blocks at the start of a text that are breadcrumbs, dates or titles."""
    begun = 0
    for block in blocks:
        if not block.is_kept:
            continue
        if _is_in_trail(block, titles) or _is_day(block):
            yield block
        elif not _is_title(block, titles):
            begun += len(block.letters)
        elif not with_title:
            yield block
        if begun > _MAX_OPENING:
            return


def _is_title(block: TextBlock, titles: list[str]) -> bool:
    """Return True if a block is the title, or a short text followed by the title."""
    letters = block.letters
    return letters in titles or any(
        letters.endswith(each)
        and len(letters) - len(each) <= _MAX_ABOVE_TITLE
        and len(each) >= _MIN_WHOLE
        for each in titles
    )


_MAX_ABOVE_TITLE = 60
_MIN_WHOLE = 12


def _is_day(block: TextBlock) -> bool:
    """Return True for a short block with the publication date, and perhaps the author."""
    text = block.text
    if len(text) > _MAX_DAY_CHARS or not _YEAR.search(text) or _SENTENCE.search(text):
        return False
    bare = _CLOCK.sub(" ", text)
    if _NUMERIC_DAY.search(bare):
        return len(letters_of(_NUMERIC_DAY.sub("", bare))) <= _MAX_BESIDE_DAY
    return date_in(bare.strip(_SIGNS)) is not None


_MAX_DAY_CHARS = 100
_MAX_BESIDE_DAY = 40
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CLOCK = re.compile(
    r"[,–—-]?\s*(?:\b(?:at|um|à|a\slas|alle|kl\.?|klo|om|o)\s)?(?<!\d)\d{1,2}\s?[:.h時시]\s?\d\d(?:[:.]\d\d)?(?!\d)(?![./-]\d)\s?分?"
    r"(?:\s?(?:[ap]\.?m\b\.?|uhr|[A-Z]{2,4}\b))*",
    re.IGNORECASE,
)
_NUMERIC_DAY = re.compile(
    r"(?<!\d)(?:\d{1,2}[./-]\s?\d{1,2}[./-]\s?(?:19|20)\d\d|(?:19|20)\d\d\s?[./年년-]\s?\d{1,2}\s?[./月월-]\s?\d{1,2}[日일]?)(?!\d)"
)
_SENTENCE = re.compile(r"[^\W\d_]{3,}\s[^\W\d_]{2,}[^.!?]{8,}[^\W\d_]{3}[.!?]\Z")
_SIGNS = " ,|·–—-•()[]:"


def _is_in_trail(block: TextBlock, titles: list[str]) -> bool:
    """Return True if a block is part of breadcrumbs: links to sections, perhaps with the title."""
    if len(block.letters) > _MAX_OPENING:
        return False
    outer = next((each for each in _around(block.pieces[0].holder) if each.tag in _LISTS), None)
    if outer is not None:
        return _is_trail(outer, titles)
    title = next((each for each in titles if block.letters.endswith(each)), "")
    before = len(block.letters) - len(title)
    linked = sum(
        piece.end - piece.start
        for piece in block.pieces
        if any(each.tag == "a" for each in islice(_around(piece.holder), 3))
    )
    return len(title) >= _MIN_WHOLE and 0 < before <= linked


def _is_trail(outer: Any, titles: list[str]) -> bool:
    """
    Return True for a list of short links to other pages; other entries may only be a title or a
    date.
    """
    entries = [each for each in outer if letters_of(each.text_content())][: _MAX_ENTRIES + 1]
    linked = [_is_link(each) for each in entries]
    others = [each for each, is_link in zip(entries, linked, strict=True) if not is_link]
    texts = [" ".join(each.text_content().split()) for each in others]
    return len(entries) <= _MAX_ENTRIES and all(
        letters_of(text).casefold() in titles or _DAY_ALONE.fullmatch(text) for text in texts
    )


def _is_link(entry: Any) -> bool:
    """Return True if an entry is only a short link to another page."""
    letters = letters_of(entry.text_content())
    links = [each for each in entry.iter("a") if letters_of(each.text_content())]
    return (
        len(letters) <= _MAX_OF_ENTRY
        and len(links) == 1
        and letters_of(links[0].text_content()) == letters
        and "#" not in links[0].get("href", "#")
    )


_MAX_ENTRIES = 8
_MAX_OF_ENTRY = 40
_DAY_ALONE = re.compile(r"[\d./ -]{6,10}")
