"""
Make a main text start with its lead paragraph, not with breadcrumbs, dates or the title.

An extractor often misses the lead, which is next to the title, but keeps breadcrumbs, the date or
the title. The lead is the block that matches the page's description. What is removed here is
available in fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from richpins.article.page_texts import PageTexts, letters_of
from richpins.article.text_blocks import TextBlock
from richpins.document import Document
from richpins.visible_text.shown_days import date_in

_MIN_BODY_LETTERS = 80
"""Blocks with this many letters are rarely headings, breadcrumbs or bylines."""
_MIN_LEAD_LETTERS, _MIN_LEAD_LETTERS_BEYOND_ASCII = 30, 15
_MAX_TRUNCATED = 3
"""This many letters at the end of a description may belong to a truncated word."""
_MAX_PREFIX_LETTERS = 20
"""Maximum letters in a lead before the description, such as a place name."""
_MAX_OPENING = 200
"""After this many letters of other blocks, the text itself has started."""
_MAX_BLOCKS = 400
"""Maximum blocks examined above a text, nearest first."""
_DESCRIPTIONS = ("description", "og:description", "twitter:description")
_EXCLUDED_TAGS = frozenset(
    {"nav", "aside", "footer", "figure", "figcaption", "form", "button", "select"}
)
_LISTS = frozenset({"ul", "ol"})
_MAX_CLIMB = 12


def start_with_lead(
    texts: PageTexts, blocks: list[TextBlock], page: Document, *, with_title: bool
) -> None:
    """Add the lead to a text; remove breadcrumbs, dates and, without `with_title`, the title."""
    start = next((n for n, each in enumerate(blocks) if _is_body_start(each, texts)), None)
    if start is None:
        return
    titles = titles_of(page)
    _keep_lead(blocks[max(0, start - _MAX_BLOCKS) : start], blocks[start:], page, titles)
    opening = list(_opening(blocks, titles, with_title=with_title))
    if any(each.is_kept for each in blocks if each not in opening):
        for block in opening:
            block.remove()


def _is_body_start(block: TextBlock, texts: PageTexts) -> bool:
    return (
        block.weight >= _MIN_BODY_LETTERS
        and texts.kinds[block.number] != "heading"
        and block.is_kept
    )


def titles_of(page: Document) -> list[str]:
    """
    Return the letters of the titles in the page's head, and of headings similar to them.

    Other headings are left out: they are not removed, because no field contains their text.
    """
    declared = [
        title for title in (page.title, page.meta("og:title"), page.meta("twitter:title")) if title
    ]
    words = {word for title in declared for word in _WORD.findall(title.casefold())}
    headings = [
        title
        for title in page.headings[:_MAX_TITLES]
        if not declared
        or 2 * len(words & (own := set(_WORD.findall(title.casefold())))) >= len(own)
    ]
    parts = [max(_PARTS.split(title), key=len) for title in declared]
    titles = {letters_of(title).casefold() for title in (*headings, *declared, *parts)}
    # Longest first, because the parts of a title such as "pathlib — Paths" are titles too.
    return sorted(
        (title for title in titles if len(title) >= _MIN_LETTERS_OF_ANY_TITLE),
        key=lambda it: (-len(it), it),
    )


_MAX_TITLES = 3
_MIN_LETTERS_OF_ANY_TITLE = 4
_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"\s(?:[|–—-]|::|»|·)\s")


def _keep_lead(
    above: list[TextBlock], below: list[TextBlock], page: Document, titles: list[str]
) -> None:
    """Keep the nearest block above a text that matches the page's description."""
    descriptions = {
        letters_of(text).casefold() for name in _DESCRIPTIONS if (text := page.meta(name))
    }
    kept = "".join(item.letters for item in (*above, *below) if item.is_kept)
    for block in reversed(above):
        if block.is_kept or not any(
            _matches_description(block.letters, item) for item in descriptions
        ):
            continue
        if (
            block.letters[:_MIN_BODY_LETTERS] in kept
            or block.letters in titles
            or _is_outside_main_text(block)
        ):
            continue
        for piece in block.pieces:
            piece.kept = True
        return


def _matches_description(letters: str, description: str) -> bool:
    """Return True if a block is part of a description, or contains a (truncated) description."""
    min_letters = _MIN_LEAD_LETTERS if letters.isascii() else _MIN_LEAD_LETTERS_BEYOND_ASCII
    if min(len(letters), len(description)) < min_letters:
        return False
    if letters in description:
        return True
    position = letters.find(description[:-_MAX_TRUNCATED])
    return 0 <= position <= _MAX_PREFIX_LETTERS and len(letters) <= _MAX_LENGTH_RATIO * len(
        description
    )


_MAX_LENGTH_RATIO = 3


def _is_outside_main_text(block: TextBlock) -> bool:
    """Return True if a block is in a menu, a caption or an aside, or consists mostly of links."""
    linked = 0
    for piece in block.pieces:
        tags = {element.tag for element in _ancestors(piece.holder)}
        if tags & _EXCLUDED_TAGS:
            return True
        linked += (piece.end - piece.start) * ("a" in tags)
    return 2 * linked > len(block.letters)


def _ancestors(element: Any) -> Iterator[Any]:
    for _ in range(_MAX_CLIMB):
        if element is None:
            return
        yield element
        element = element.getparent()


def _opening(
    blocks: list[TextBlock], titles: list[str], *, with_title: bool
) -> Iterator[TextBlock]:
    """Yield breadcrumbs, dates and titles before the text; entries after a colon belong to it."""
    body_letters = 0
    is_announced = False
    for block in blocks:
        if not block.is_kept:
            continue
        is_entry = any(each.tag in _LISTS for each in _ancestors(block.pieces[0].holder))
        is_announced = is_announced and is_entry
        if not is_announced and (_is_in_trail(block, titles) or _is_date(block)):
            yield block
        elif not is_title(block, titles):
            body_letters += len(block.letters)
        elif not with_title:
            yield block
        is_announced = is_announced or (not is_entry and block.text.endswith((":", "：")))
        if body_letters > _MAX_OPENING:
            return


def is_title(block: TextBlock, titles: list[str]) -> bool:
    """Return True if a block is the title, or a short text followed by the title."""
    letters = block.letters
    return letters in titles or any(
        letters.endswith(title)
        and len(letters) - len(title) <= _MAX_ABOVE_TITLE
        and len(title) >= _MIN_TITLE_LETTERS
        for title in titles
    )


_MAX_ABOVE_TITLE = 60
_MIN_TITLE_LETTERS = 12


def _is_date(block: TextBlock) -> bool:
    """Return True for a short block with the publication date, possibly after the author."""
    text = block.text
    if len(text) > _MAX_DATE_CHARS or not _YEAR.search(text) or _SENTENCE.search(text):
        return False
    without_time = _CLOCK.sub(" ", text)
    if _NUMERIC_DATE.search(without_time):
        return len(letters_of(_NUMERIC_DATE.sub("", without_time))) <= _MAX_LETTERS_WITH_DATE
    return date_in(without_time.strip(_PUNCTUATION)) is not None


_MAX_DATE_CHARS = 100
_MAX_LETTERS_WITH_DATE = 40
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CLOCK = re.compile(
    r"[,–—-]?\s*(?:\b(?:at|um|à|a\slas|alle|kl\.?|klo|om|o)\s)?(?<!\d)\d{1,2}\s?[:.h時시]\s?\d\d(?:[:.]\d\d)?(?!\d)(?![./-]\d)\s?分?"
    r"(?:\s?(?:[ap]\.?m\b\.?|uhr|[A-Z]{2,4}\b))*",
    re.IGNORECASE,
)
_NUMERIC_DATE = re.compile(
    r"(?<!\d)(?:\d{1,2}[./-]\s?\d{1,2}[./-]\s?(?:19|20)\d\d|(?:19|20)\d\d\s?[./年년-]\s?\d{1,2}\s?[./月월-]\s?\d{1,2}[日일]?)(?!\d)"
)
_SENTENCE = re.compile(r"[^\W\d_]{3,}\s[^\W\d_]{2,}[^.!?]{8,}[^\W\d_]{3}[.!?]\Z")
_PUNCTUATION = " ,|·–—-•()[]:"


def _is_in_trail(block: TextBlock, titles: list[str]) -> bool:
    """Return True if a block is in breadcrumbs: links to sections, and perhaps the title."""
    if len(block.letters) > _MAX_OPENING:
        return False
    outer_list = next(
        (each for each in _ancestors(block.pieces[0].holder) if each.tag in _LISTS), None
    )
    if outer_list is not None:
        return _is_trail(outer_list, titles)
    title = next((each for each in titles if block.letters.endswith(each)), "")
    before = len(block.letters) - len(title)
    linked = sum(
        piece.end - piece.start
        for piece in block.pieces
        if any(each.tag == "a" for each in islice(_ancestors(piece.holder), 3))
    )
    return len(title) >= _MIN_TITLE_LETTERS and 0 < before <= linked


def _is_trail(outer_list: Any, titles: list[str]) -> bool:
    """
    Return True for a list of short links to other pages; other entries may only be a title or a
    date.
    """
    entries = [entry for entry in outer_list if letters_of(entry.text_content())][
        : _MAX_ENTRIES + 1
    ]
    linked = [_is_link(entry) for entry in entries]
    others = [entry for entry, is_link in zip(entries, linked, strict=True) if not is_link]
    texts = [" ".join(entry.text_content().split()) for entry in others]
    return len(entries) <= _MAX_ENTRIES and all(
        letters_of(text).casefold() in titles or _DATE_ONLY.fullmatch(text) for text in texts
    )


def _is_link(entry: Any) -> bool:
    """Return True if an entry is just a short link to another page."""
    letters = letters_of(entry.text_content())
    links = [each for each in entry.iter("a") if letters_of(each.text_content())]
    return (
        len(letters) <= _MAX_ENTRY_LETTERS
        and len(links) == 1
        and letters_of(links[0].text_content()) == letters
        and "#" not in links[0].get("href", "#")
    )


_MAX_ENTRIES = 8
_MAX_ENTRY_LETTERS = 40
_DATE_ONLY = re.compile(r"[\d./ -]{6,10}")
