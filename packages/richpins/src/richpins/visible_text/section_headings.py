"""Find the headings of a page that start its ingredients, its steps, or another part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from selectolax.lexbor import LexborNode

from richpins._permalinks import without_trailing_mark
from richpins._plain_text import spaced_text
from richpins.document import normalize_space
from richpins.structured_data.sources import Sources
from richpins.visible_text.facts import is_fact
from richpins.visible_text.list_items import SectionKind
from richpins.visible_text.section import MAX_HEADING_CHARS
from richpins.visible_text.section_walk import HEADINGS
from richpins.visible_text.vocabulary import (
    INGREDIENTS_HEADING,
    NEXT_PART_HEADING,
    STEPS_HEADING,
    YOU_NEED_HEADING,
    is_duration,
)

_MAX_HEADINGS = 4_000

HeadingKind = SectionKind | Literal["end"]


class KnownHeading(NamedTuple):
    """A heading that starts a known part of a page."""

    element: LexborNode
    kind: HeadingKind
    text: str


def known_headings(sources: Sources) -> list[KnownHeading]:
    """Return the known headings in document order."""
    return _remove_captions(
        _remove_time_captions(_remove_repeated_labels(list(_find_headings(sources))))
    )


def _remove_repeated_labels(headings: list[KnownHeading]) -> list[KnownHeading]:
    """Remove labels that each step repeats, such as `Step`."""
    counts = Counter(text for _, kind, text in headings if kind == "steps")
    return [
        heading
        for heading in headings
        if heading.kind != "steps" or counts[heading.text] <= _MAX_LABEL_REPEATS
    ]


_MAX_LABEL_REPEATS = 2


def _remove_time_captions(headings: list[KnownHeading]) -> list[KnownHeading]:
    """
    Remove captions of times, such as `Preparation: 20 min`.

    If no other heading names the steps, only captions next to other time captions are removed.
    """
    step_headings = [node for node, kind, _ in headings if kind == "steps"]
    time_captions = [node for node in step_headings if _is_time_caption(node)]
    if len(time_captions) == len(step_headings):
        time_captions = [node for node in time_captions if _is_next_to_time_caption(node)]
    dropped_ids = {node.mem_id for node in time_captions}
    return [heading for heading in headings if heading.element.mem_id not in dropped_ids]


def _remove_captions(headings: list[KnownHeading]) -> list[KnownHeading]:
    """
    Remove tabs and captions of a short value (`Method: Stove top`).

    They are kept if no other heading names the same part of the recipe.
    """
    caption_ids = {node.mem_id for node, kind, _ in headings if kind != "end" and _is_caption(node)}
    other_kinds = {kind for node, kind, _ in headings if node.mem_id not in caption_ids}
    return [
        heading
        for heading in headings
        if heading.element.mem_id not in caption_ids or heading.kind not in other_kinds
    ]


def _is_caption(node: LexborNode) -> bool:
    if node.tag not in _CAPTION_TAGS:
        return False
    text = _following_text(node)
    return (
        0 < len(text) <= _MAX_CAPTIONED_CHARS and text[-1:] not in ".!:" and not text[:1].isdigit()
    )


_CAPTION_TAGS = frozenset({"span", "dt", "strong", "b", "label", "em", "button"})
_MAX_CAPTIONED_CHARS = 25


def _is_next_to_time_caption(node: LexborNode) -> bool:
    current: LexborNode | None = node
    for _ in range(_MAX_LEVELS):
        if current is None or current.tag in _HEADING_TAGS:
            return False
        for neighbor in (_neighbor_element(current, "next"), _neighbor_element(current, "prev")):
            if neighbor is not None and neighbor.tag == current.tag:
                text = spaced_text(neighbor)
                if any(map(str.isdigit, text)) and not is_duration(text) and is_fact(text):
                    return True
        current = current.parent
    return False


def _neighbor_element(node: LexborNode, direction: str) -> LexborNode | None:
    sibling: LexborNode | None = getattr(node, direction)
    while sibling is not None and (sibling.tag or "-")[:1] in {"-", "!"}:
        sibling = getattr(sibling, direction)
    return sibling


def _find_headings(sources: Sources) -> Iterator[KnownHeading]:
    for index, node in enumerate(sources.document.tree.css(HEADINGS)):
        if index > _MAX_HEADINGS:
            return
        tag = node.tag or ""
        text = node.text(deep=tag[:1] == "h" and len(tag) == 2)
        if not text or len(text) > 4 * MAX_HEADING_CHARS:
            continue
        text = without_trailing_mark(normalize_space(text))
        if text[-1:] in _FOOTNOTE_MARKS:
            text = text[:-1].rstrip()  # the mark of a permalink or a footnote
        if not 2 <= len(text) <= MAX_HEADING_CHARS:
            continue
        if not text[0].isalpha():
            text = _strip_decoration(text)
        if tag in _HEADING_TAGS and (parts := _HEADING_SEPARATOR.split(text))[1:]:
            text = next(filter(_is_recipe_heading, (parts[-1], parts[0])), text)
        if INGREDIENTS_HEADING.fullmatch(text) or YOU_NEED_HEADING.fullmatch(text):
            if not _is_in_menu(node):
                yield KnownHeading(node, "ingredients", text)
        elif STEPS_HEADING.fullmatch(text):
            if not _is_in_menu(node) and not _is_in_sentence(node):
                yield KnownHeading(node, "steps", text)
        elif tag in {"h2", "h3", "h4", "h5"} and NEXT_PART_HEADING.fullmatch(text):
            yield KnownHeading(node, "end", text)


_FOOTNOTE_MARKS = frozenset("#*†¹")
_HEADING_TAGS = frozenset({"h2", "h3", "h4", "h5"})
_HEADING_SEPARATOR = re.compile(r"\s{1,9}[–—|-]\s{1,9}|:\s{1,9}")


def _is_in_sentence(node: LexborNode) -> bool:
    if node.tag not in _INLINE_TAGS:
        return False
    before, after = node.prev, node.next
    if before is not None and before.tag == "-text" and _ends_with_word(before.text() or ""):
        return True
    return (
        after is not None
        and after.tag == "-text"
        and _SENTENCE_CONTINUATION.match(after.text() or "") is not None
    )


def _ends_with_word(text: str) -> bool:
    ending = text.rstrip().removesuffix(",")[-2:]
    return len(ending) == 2 and ending.isalpha()


_INLINE_TAGS = frozenset({"strong", "b", "span", "u", "em"})
_SENTENCE_CONTINUATION = re.compile(r"\s*(?:[.,;)]|(?-i:[a-zà-öø-ÿа-яё]))")


def _is_in_menu(node: LexborNode) -> bool:
    ancestor = node.parent
    for _ in range(_MAX_ANCESTORS):
        if ancestor is None:
            return False
        if ancestor.tag in {"nav", "footer"}:
            return True
        ancestor = ancestor.parent
    return False


_MAX_ANCESTORS = 12


def _is_time_caption(node: LexborNode) -> bool:
    """Return True for the caption of a duration, such as `Preparation` before `20 min`."""
    return is_duration(_following_text(node))


def _following_text(node: LexborNode) -> str:
    """Return the text of the next element or text node, without a leading colon."""
    current: LexborNode | None = node
    for _ in range(_MAX_LEVELS):
        if current is None or current.tag == "body":
            return ""
        following = current.next
        while following is not None:
            text = normalize_space(following.text() or "")
            if text:
                return text.lstrip(":–- ")
            following = following.next
        current = current.parent
    return ""


_MAX_LEVELS = 3


def _is_recipe_heading(text: str) -> bool:
    return (
        INGREDIENTS_HEADING.fullmatch(text) is not None or STEPS_HEADING.fullmatch(text) is not None
    )


def _strip_decoration(text: str) -> str:
    """Return a heading without leading emoji and numbers."""
    for index, char in enumerate(text):
        if char.isalpha():
            return text[index:]
    return text
