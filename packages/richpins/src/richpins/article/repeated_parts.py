"""
Complete a main text from parts that have the same structure, such as the posts of a forum.

No single element is close to all paragraphs of such a page, so a container
(`richpins.article.container`) is only one of the posts. An extractor may then return only the
signatures, or only the first post.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from richpins.article.completion import keep, letters_in
from richpins.article.container import MIN_LETTERS, find_container, long_paragraphs, paragraph_of
from richpins.article.page_texts import PageTexts
from richpins.article.surroundings import DISCUSSION
from richpins.article.text_blocks import TextBlock

_MIN_PARTS, _MIN_MISSED, _MIN_GROWTH = 3, 0.35, 1.3
_MIN_WHOLE_LETTERS, _MIN_WHOLE_SHARE = 2_000, 0.9
"""
A text is a whole article if it has at least this many letters, and this fraction of the paragraphs
around it.
"""
_LEVELS = 3
"""Two parts have the same structure if this many elements around their paragraphs look alike."""
_HOLDERS = frozenset({"div", "td", "section", "article"})
_NOT_IN_PARTS = re.compile(
    r"disqus|cookie|modal|sidebar|signature|sponsor|advert|related|recommend|promo", re.IGNORECASE
)
_COMMENTS = re.compile(r"comment|komment|coment|reactie|disqus", re.IGNORECASE)
_CODE = re.compile(r"code|highlight", re.IGNORECASE)
_DIGITS = re.compile(r"[\d_-]+")

Signature = tuple[tuple[str, str], ...]
"""The tags and first class names of an element and of those around it, innermost first."""


def complete_from_parts(texts: PageTexts, blocks: list[TextBlock]) -> bool:
    """
    Keep the paragraphs of a page's repeated parts if many of them were missed; return True if so.

    Parts called comments count only in a discussion. Outside of one, a text that is a whole article
    is left as it is.
    """
    letters = letters_in(block for block in blocks if block.is_kept)
    long = (block for block in blocks if len(block.letters) >= MIN_LETTERS)
    all_missed = letters_in(block for block in long if not block.is_kept)
    if not letters or all_missed < _MIN_MISSED * _MIN_GROWTH * letters:
        return False  # most pages end here, so few are searched
    parts = _largest_parts(texts, blocks)
    paragraphs = [block for each in parts.values() for block in each]
    total = letters_in(paragraphs)
    missed = letters_in(block for block in paragraphs if not block.is_kept)
    if total < _MIN_GROWTH * letters or missed < _MIN_MISSED * total:
        return False
    if len(parts) < _MIN_PARTS or not _may_be_text(next(iter(parts)), texts, blocks):
        return False
    keep(paragraphs)
    return True


def _may_be_text(part: Any, texts: PageTexts, blocks: list[TextBlock]) -> bool:
    names = list(_names_around(part))
    if any(DISCUSSION.search(name) for name in names):
        return True
    return not any(_COMMENTS.search(name) for name in names) and not _is_whole(texts, blocks)


def _is_whole(texts: PageTexts, blocks: list[TextBlock]) -> bool:
    own = find_container(texts, [block for block in blocks if block.is_kept])
    if own is None or letters_in(own.paragraphs) < _MIN_WHOLE_LETTERS:
        return False
    inside = (block for block in blocks if not own.distance(block))
    total = letters_in(long_paragraphs(inside, {own.element: False}))
    return letters_in(own.paragraphs) >= _MIN_WHOLE_SHARE * total


def _largest_parts(texts: PageTexts, blocks: list[TextBlock]) -> dict[Any, list[TextBlock]]:
    """
    Return the elements with the signature whose paragraphs have the most letters.

    Each element is mapped to its paragraphs.
    """
    groups: dict[Signature, dict[Any, list[TextBlock]]] = defaultdict(dict)
    texts_only = (block for block in blocks if texts.kinds[block.number] != "heading")
    for block in long_paragraphs(texts_only, {texts.root: False}, _NOT_IN_PARTS):
        holder = _holder_of(block)
        if holder is not None:
            groups[_signature(holder)].setdefault(holder, []).append(block)
    signatures = [each for each in groups if not _CODE.search(" ".join(name for _, name in each))]
    return max(
        (groups[each] for each in signatures),
        key=lambda parts: sum(letters_in(part) for part in parts.values()),
        default={},
    )


def _holder_of(block: TextBlock) -> Any:
    paragraph = paragraph_of(block)
    return paragraph if paragraph.tag in _HOLDERS else paragraph.getparent()


def _signature(element: Any) -> Signature:
    levels: list[tuple[str, str]] = []
    while element is not None and element.tag not in {"body", "html"} and len(levels) < _LEVELS:
        first, _, _ = (element.get("class") or "").strip().partition(" ")
        levels.append((element.tag, _DIGITS.sub("", first)))
        element = element.getparent()
    return tuple(levels)


def _names_around(element: Any) -> Iterator[str]:
    while element is not None:
        yield f"{element.get('class') or ''} {element.get('id') or ''}"
        element = element.getparent()
