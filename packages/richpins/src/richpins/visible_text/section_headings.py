"""Find the headings of a page that start its ingredients, its steps, or another part."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from selectolax.lexbor import LexborNode

from richpins._permalinks import without_trailing_sign
from richpins._plain_text import parted_text
from richpins.document import normalize_space
from richpins.structured_data.sources import Sources
from richpins.visible_text.facts import is_fact
from richpins.visible_text.list_items import SectionKind
from richpins.visible_text.section import MAX_HEADING_CHARS
from richpins.visible_text.section_walk import HEADINGS
from richpins.visible_text.vocabulary import ENDS, IS_INGREDIENTS, IS_NEEDED, IS_STEPS, lasts

_MAX_HEADINGS = 4_000

HeadingKind = SectionKind | Literal["end"]
Head = tuple[LexborNode, HeadingKind, str]


def heads_of(sources: Sources) -> list[Head]:
    """Return the known headings in document order, each with its element, kind and text."""
    return _without_captions(_without_times(_once_only(list(_heads(sources)))))


def _once_only(heads: list[Head]) -> list[Head]:
    """Return the headings, except for labels that each step repeats, such as `Step`."""
    counts = Counter(text for _, kind, text in heads if kind == "steps")
    return [head for head in heads if head[1] != "steps" or counts[head[2]] <= _MAX_SAME]


_MAX_SAME = 2


def _without_times(heads: list[Head]) -> list[Head]:
    """
    Return the headings, except for captions of a time such as `Preparation: 20 min`.

    If no other heading names the steps, only captions in a row of such captions are left out.
    """
    named = [node for node, kind, _ in heads if kind == "steps"]
    timed = [node for node in named if _is_before_a_time(node)]
    if len(timed) == len(named):
        timed = [node for node in timed if _is_among_facts(node)]
    left_out = {node.mem_id for node in timed}
    return [head for head in heads if head[0].mem_id not in left_out]


def _without_captions(heads: list[Head]) -> list[Head]:
    """
    Return the headings, except for tabs and captions of a value such as `Method: Stove top`.

    These are kept if no other heading names the same part of the recipe.
    """
    captions = {node.mem_id for node, kind, _ in heads if kind != "end" and _is_caption(node)}
    others = {kind for node, kind, _ in heads if node.mem_id not in captions}
    return [head for head in heads if head[0].mem_id not in captions or head[1] not in others]


def _is_caption(node: LexborNode) -> bool:
    if node.tag not in _CAPTIONS:
        return False
    text = _following_text(node)
    return 0 < len(text) <= _MAX_VALUE_CHARS and text[-1:] not in ".!:" and not text[:1].isdigit()


_CAPTIONS = frozenset({"span", "dt", "strong", "b", "label", "em", "button"})
_MAX_VALUE_CHARS = 25


def _is_among_facts(node: LexborNode) -> bool:
    """Return True for a caption whose neighbor is also a caption with a time."""
    at: LexborNode | None = node
    for _ in range(_MAX_AROUND):
        if at is None or at.tag in _TITLES:
            return False
        for row in (_neighbor(at, "next"), _neighbor(at, "prev")):
            if row is not None and row.tag == at.tag:
                text = parted_text(row)
                if any(map(str.isdigit, text)) and not lasts(text) and is_fact(text):
                    return True
        at = at.parent
    return False


def _neighbor(node: LexborNode, direction: str) -> LexborNode | None:
    at: LexborNode | None = getattr(node, direction)
    while at is not None and (at.tag or "-")[:1] in {"-", "!"}:
        at = getattr(at, direction)
    return at


def _heads(sources: Sources) -> Iterator[tuple[LexborNode, HeadingKind, str]]:
    """Yield elements whose own text is a known heading, in document order."""
    for count, node in enumerate(sources.document.tree.css(HEADINGS)):
        if count > _MAX_HEADINGS:
            return
        tag = node.tag or ""
        text = node.text(deep=tag[:1] == "h" and len(tag) == 2)
        if not text or len(text) > 4 * MAX_HEADING_CHARS:
            continue
        text = without_trailing_sign(normalize_space(text))
        if text[-1:] in _MARKS:
            text = text[:-1].rstrip()  # the mark of a permalink or a footnote
        if not 2 <= len(text) <= MAX_HEADING_CHARS:
            continue
        if not text[0].isalpha():
            text = _undecorated(text)
        if tag in _TITLES and (parts := _PARTS.split(text))[1:]:
            text = next(filter(_is_heading, (parts[-1], parts[0])), text)
        if IS_INGREDIENTS.fullmatch(text) or IS_NEEDED.fullmatch(text):
            if not _is_in_menu(node):
                yield node, "ingredients", text
        elif IS_STEPS.fullmatch(text):
            if not _is_in_menu(node) and not _is_in_sentence(node):
                yield node, "steps", text
        elif tag in {"h2", "h3", "h4", "h5"} and ENDS.fullmatch(text):
            yield node, "end", text


_MARKS = frozenset("#*†¹")
_TITLES = frozenset({"h2", "h3", "h4", "h5"})
_PARTS = re.compile(r"\s{1,9}[–—|-]\s{1,9}|:\s{1,9}")


def _is_in_sentence(node: LexborNode) -> bool:
    """Return True for bold words in the middle of a sentence. They are not a heading."""
    if node.tag not in _INLINE:
        return False
    before, after = node.prev, node.next
    if before is not None and before.tag == "-text" and _ends_in_a_word(before.text() or ""):
        return True
    return (
        after is not None
        and after.tag == "-text"
        and _GONE_ON.match(after.text() or "") is not None
    )


def _ends_in_a_word(text: str) -> bool:
    """Return True for a string that ends with two letters, and perhaps a comma."""
    ending = text.rstrip().removesuffix(",")[-2:]
    return len(ending) == 2 and ending.isalpha()


_INLINE = frozenset({"strong", "b", "span", "u", "em"})
_GONE_ON = re.compile(r"\s*(?:[.,;)]|(?-i:[a-zà-öø-ÿа-яё]))")


def _is_in_menu(node: LexborNode) -> bool:
    at = node.parent
    for _ in range(_MAX_CLIMB):
        if at is None:
            return False
        if at.tag in {"nav", "footer"}:
            return True
        at = at.parent
    return False


_MAX_CLIMB = 12


def _is_before_a_time(node: LexborNode) -> bool:
    """Return True for the caption of a duration, such as `Preparation` before `20 min`."""
    return lasts(_following_text(node))


def _following_text(node: LexborNode) -> str:
    """Return the text of the element or text node after a node, without a colon at its start."""
    at: LexborNode | None = node
    for _ in range(_MAX_AROUND):
        if at is None or at.tag == "body":
            return ""
        following = at.next
        while following is not None:
            text = normalize_space(following.text() or "")
            if text:
                return text.lstrip(":–- ")
            following = following.next
        at = at.parent
    return ""


_MAX_AROUND = 3


def _is_heading(text: str) -> bool:
    return IS_INGREDIENTS.fullmatch(text) is not None or IS_STEPS.fullmatch(text) is not None


def _undecorated(text: str) -> str:
    """Return a heading without emoji and numbers at its start."""
    for place, char in enumerate(text):
        if char.isalpha():
            return text[place:]
    return text
