"""
Read the ingredients or steps in one element of a page: a list, a table, similar rows, paragraphs.

Nothing here looks beyond the element; `section_walk` decides which elements belong to a section.
"""

from __future__ import annotations

import re
from typing import Literal

from selectolax.lexbor import LexborNode

from aragog.pages.document import normalize_space
from aragog.pages.plain_text import lines_of

SectionKind = Literal["ingredients", "steps"]

NOT_CONTENT = frozenset(
    {"script", "style", "nav", "footer", "form", "aside", "header", "noscript", "select", "button"}
)
LISTS = frozenset({"ul", "ol", "table", "dl"})
MAX_ITEMS = 120
MAX_SIBLINGS = 60
STEP_NUMBER = re.compile(
    r"(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг)\s*\d{1,2}\W{0,3}", re.IGNORECASE
)
_MAX_ROW_CHARS = 150
_BULLET = re.compile(r"^\s*(?:[•·▢☐*\-–—✓✔◦▪■□●○]+)\s*")
_NUMBERING = re.compile(r"^\s*(?:step\s*)?\d{1,2}\s*[.):\]]\s*(?=\D)", re.IGNORECASE)
_UNIT_SWITCH = re.compile(r"(?:\W*\b(?:us|metric|imperial|cups|grams))+\W*", re.IGNORECASE)
_SPACE_BEFORE_MARK = re.compile(r"\s{1,9}([,.;)])")


def entries_of(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the entries of a list or the rows of a table."""
    if node.tag == "table":
        rows = (normalize_space(row.text(separator=" ")) for row in node.css("tr") if row.css("td"))
        return [row for row in rows if row]
    entries: list[str] = []
    items = node.css("li,dd") or node.css("dt")
    for item in items[: 2 * MAX_ITEMS]:
        if _holds_items(item):
            continue
        if kind == "steps":
            entries.extend(lines_of(item))
        else:
            entries.append(_row(item))
    return _without_common_end(entries)


def paragraphs_of(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the lines of an element that is no list; similar short blocks are a line each."""
    if kind == "steps":
        return [line for line in lines_of(node) if len(line) > 2]
    if _is_row(node):
        return [_row(node)]
    children = [child for child in node.iter() if child.tag not in NOT_CONTENT]
    if len(children) == 1 and len(normalize_space(node.text(deep=False) or "")) < 2:
        return paragraphs_of(children[0], kind)
    if len(children) > 2 and all(map(_is_row, children)):
        return [row for row in map(_row, children) if row]
    return lines_of(node)


def cleaned(entry: str, kind: SectionKind) -> str | None:
    """
    Return an entry without its bullet or number; None for what is no entry.

    That is a switch between systems of units, a link in square brackets to edit a part of the page,
    and a number or letter alone.
    """
    text = _BULLET.sub("", entry).strip()
    if (text[:1] == "[" and text[-1:] == "]") or _UNIT_SWITCH.fullmatch(text):
        return None
    if kind == "steps":
        text = STEP_NUMBER.sub("", _NUMBERING.sub("", text), count=1).strip()
    return text if len(text) > 1 and not text.isdigit() else None


def _holds_items(item: LexborNode) -> bool:
    """Return True if an item contains items. Stops at the first one, unlike a query."""
    return any(element.tag == "li" and element.mem_id != item.mem_id for element in item.traverse())


def _row(node: LexborNode) -> str:
    return _SPACE_BEFORE_MARK.sub(r"\1", normalize_space(node.text(separator=" ")))


def _without_common_end(entries: list[str]) -> list[str]:
    """Remove an ending that all entries share: `add to shopping list`."""
    ends = {tuple(entry.lower().split()[-2:]) for entry in entries}
    if len(entries) < 3 or len(ends) > 1:
        return entries
    words = [entry.split() for entry in entries]
    same = 0
    while same < min(map(len, words)) and len({word[-1 - same].lower() for word in words}) == 1:
        same += 1
    return [" ".join(word[: len(word) - same]) for word in words]


def _is_row(node: LexborNode) -> bool:
    """Return True for one of several similar short blocks without lists or line breaks."""
    if (node.tag or "") not in {"div", "li", "p", "tr", "label"} or node.css("br,p p,li li,tr tr"):
        return False
    parent = node.parent
    if parent is None or len(node.text()) > _MAX_ROW_CHARS:
        return False
    named = node.attributes.get("class")
    alike = 0
    for count, sibling in enumerate(parent.iter()):
        if count > MAX_SIBLINGS:
            break
        alike += sibling.tag == node.tag and sibling.attributes.get("class") == named
    return alike > 2
