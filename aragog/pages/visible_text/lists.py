"""
Collect the entries after a heading of a recipe from lists, tables, rows and paragraphs, by group.

The module walks siblings and their children until another part of the page begins. Each section may
examine a few hundred elements.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from selectolax.lexbor import LexborNode

from aragog.pages.document import normalize_space
from aragog.pages.plain_text import lines_of
from aragog.pages.visible_text.vocabulary import ENDS, amounts, are_steps

HEADINGS = "h1,h2,h3,h4,h5,h6,strong,b,dt,legend,summary,button,p,div,span,th,u,label,em"
NOT_CONTENT = frozenset(
    {"script", "style", "nav", "footer", "form", "aside", "header", "noscript", "select", "button"}
)
MAX_HEADING_CHARS = 60
_LISTED = frozenset({"ul", "ol", "table", "dl"})
_TEXTUAL = frozenset(
    "p div section span pre article dd blockquote label li tr tbody thead main".split()
)
_MAX_CLIMB = 9
_MAX_DEPTH = 24
_MAX_SIBLINGS = 60
_MAX_ENTRIES = 120
_MAX_ROW_CHARS = 150
_BULLET = re.compile(r"^\s*(?:[•·▢☐*\-–—✓✔◦▪■□●○]+)\s*")
_NUMBERING = re.compile(r"^\s*(?:step\s*)?\d{1,2}\s*[.):\]]\s*(?=\D)", re.IGNORECASE)
_STEP_NUMBER = re.compile(
    r"(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг)\s*\d{1,2}\W{0,3}", re.IGNORECASE
)
_SWITCH = re.compile(r"(?:\W*\b(?:us|metric|imperial|cups|grams))+\W*", re.IGNORECASE)
"""Separators between systems of units; links to edit a part of the page use square brackets."""
_BEFORE_MARK = re.compile(r"\s{1,9}([,.;)])")

Groups = list[tuple[str | None, list[str]]]
SectionKind = Literal["ingredients", "steps"]


@dataclass(slots=True)
class Section:
    """The entries under one heading of a recipe."""

    kind: SectionKind
    heading: str
    groups: Groups = field(default_factory=list)
    then: Groups = field(default_factory=list)
    """Steps that follow the ingredients without a heading of their own."""
    tag: str = ""
    """The tag of the heading's element."""
    seeks_steps: bool = False
    """
    True if the page has no heading for its steps, which are then expected after the ingredients.
    """
    closed: bool = False
    """True if all ingredients were found and only steps are still missing."""
    left: int = 400
    """How many more elements may be examined."""

    @property
    def least(self) -> int:
        """The minimum number of entries of a valid section."""
        return 2 if self.kind == "ingredients" else 1

    @property
    def count(self) -> int:
        return sum(len(entries) for _, entries in self.groups)

    @property
    def entries(self) -> list[str]:
        return [entry for _, entries in self.groups for entry in entries]

    def add(self, entries: list[str], *, surely: bool = False) -> None:
        """Add the entries of one element; with `surely`, ingredients may be long."""
        if self.kind == "steps":
            self._extend(self.groups, entries, steps=True)
        elif self.then or (self.count > 1 and are_steps(entries)):
            self._extend(self.then, entries, steps=True)
        elif surely or not (self.closed or sum(map(len, entries)) > _room_for(entries)):
            self._extend(self.groups, entries, steps=False)

    def _extend(self, into: Groups, entries: list[str], *, steps: bool) -> None:
        cleaned = [text for text in (_cleaned(entry, steps=steps) for entry in entries) if text]
        if cleaned:
            if not into:
                into.append((None, []))
            into[-1][1].extend(cleaned[:_MAX_ENTRIES])

    def begin_group(self, name: str) -> None:
        """Start a group under this heading inside the section."""
        (self.then or self.groups).append((name, []))


def _room_for(ingredients: list[str]) -> int:
    """Return the allowed total length of these ingredients; those with an amount may be longer."""
    return 160 if len(ingredients) == 1 and amounts(ingredients) else 80 * max(len(ingredients), 1)


def _cleaned(entry: str, *, steps: bool) -> str | None:
    text = _BULLET.sub("", entry).strip()
    if (text[:1] == "[" and text[-1:] == "]") or _SWITCH.fullmatch(text):
        return None
    if steps:
        text = _STEP_NUMBER.sub("", _NUMBERING.sub("", text), count=1).strip()
    return text if len(text) > 1 and not text.isdigit() else None


def collect_after(head: LexborNode, section: Section, places: Mapping[int, str]) -> None:
    """
    Collect the entries after a heading, next to it or next to its parents, until another heading.

    If the page has no heading for its steps, the search after the ingredients extends two levels
    further out.
    """
    at: LexborNode | None = head
    section.seeks_steps = section.kind == "ingredients" and "steps" not in places.values()
    further = 2 if section.seeks_steps else 0
    for _ in range(_MAX_CLIMB):
        if at is None or at.tag in {"body", "html"}:
            return
        sibling = at.next
        for _ in range(_MAX_SIBLINGS):
            if sibling is None:
                break
            if not _take(sibling, section, places):
                return
            sibling = sibling.next
        if section.count >= section.least:
            section.closed = True
            further -= 1
            if further < 0 or section.then or section.kind == "steps":
                return
        at = at.parent


def _take(node: LexborNode, section: Section, places: Mapping[int, str], depth: int = 0) -> bool:
    """Add the entries of a node. Return False if another part of the page begins with it."""
    tag = node.tag or ""
    section.left -= 1
    if section.left < 0 or depth > _MAX_DEPTH:
        return False
    if tag == "-text":
        text = normalize_space(node.text() or "")
        least = 3 if section.count else 20
        if len(text) > least and (section.kind == "steps" or section.count or amounts([text])):
            section.add([text])
        return True
    if tag.startswith("-") or tag in NOT_CONTENT:
        return True
    if node.mem_id in places or any(
        heading.mem_id in places for heading in node.css(HEADINGS)[:300]
    ):
        return _take_until_head(node, section, places, depth)
    if section.count >= _MAX_ENTRIES:
        return False
    if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit() and node.css_first("br") is None:
        return _take_heading(node, section)
    lists = [node] if tag in _LISTED else node.css("h2,h3,h4,h5,h6,ul,ol,table,p")
    if any(element.tag in _LISTED for element in lists):
        _take_lists(lists, node, section)
    elif tag in _TEXTUAL or tag[:1] == "h":
        section.add(_paragraphs(node, section.kind))
    return True


def _take_lists(lists: list[LexborNode], node: LexborNode, section: Section) -> None:
    """Add lists and headings in a block, and the paragraphs between them once there are steps."""
    for element in lists[:60]:
        if element.tag in _LISTED:
            if not _has_list_above(element, node):
                section.add(entries_of(element, section.kind))
        elif element.tag == "p":
            lone = not _has_list_above(element, node)
            if lone and (section.kind == "steps" or section.count > 1):
                paragraphs = _paragraphs(element, "steps")
                if section.kind == "steps" or section.then or are_steps(paragraphs):
                    section.add(paragraphs)
        elif not _take_heading(element, section):
            return


def _has_list_above(node: LexborNode, top: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.mem_id != top.mem_id:
        if parent.tag in _LISTED:
            return True
        parent = parent.parent
    return parent is not None and node.mem_id != top.mem_id and top.tag in _LISTED


def _take_until_head(
    node: LexborNode, section: Section, places: Mapping[int, str], depth: int
) -> bool:
    """Add the entries of a block up to the heading of the next part."""
    if node.mem_id in places:
        same = places[node.mem_id] == section.kind
        return same and not section.count
    child = node.first_child
    for _ in range(_MAX_SIBLINGS):
        if child is None:
            break
        if not _take(child, section, places, depth + 1):
            return False
        child = child.next
    return True


def _take_heading(node: LexborNode, section: Section) -> bool:
    text = normalize_space(node.text())
    if not text:
        return True
    bare = text.strip("0123456789 .:!-–—")
    if not bare or _STEP_NUMBER.fullmatch(text):
        return True
    if len(text) <= MAX_HEADING_CHARS and not ENDS.fullmatch(bare):
        section.begin_group(_STEP_NUMBER.sub("", text).rstrip(":") or text)
        ends = bool(section.count) and (node.tag or "") in {"h1", "h2"}
        if ends and section.seeks_steps and not section.then:
            section.closed, ends = True, False
        return not ends
    return not section.count


def entries_of(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the entries of a list or the rows of a table."""
    if node.tag == "table":
        rows = (normalize_space(row.text(separator=" ")) for row in node.css("tr") if row.css("td"))
        return [row for row in rows if row]
    entries: list[str] = []
    items = node.css("li,dd") or node.css("dt")
    for item in items[: 2 * _MAX_ENTRIES]:
        if _holds_items(item):
            continue
        if kind == "steps":
            entries.extend(lines_of(item))
        else:
            entries.append(_row(item))
    return _without_common_end(entries)


def _holds_items(item: LexborNode) -> bool:
    """Return True if an item contains items. Stops at the first one, unlike a query."""
    return any(element.tag == "li" and element.mem_id != item.mem_id for element in item.traverse())


def _row(node: LexborNode) -> str:
    return _BEFORE_MARK.sub(r"\1", normalize_space(node.text(separator=" ")))


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


def _paragraphs(node: LexborNode, kind: SectionKind) -> list[str]:
    if kind == "steps":
        return [line for line in lines_of(node) if len(line) > 2]
    if _is_row(node):
        return [_row(node)]
    children = [child for child in node.iter() if child.tag not in NOT_CONTENT]
    if len(children) == 1 and len(normalize_space(node.text(deep=False) or "")) < 2:
        return _paragraphs(children[0], kind)
    if len(children) > 2 and all(map(_is_row, children)):
        return [row for row in map(_row, children) if row]
    return lines_of(node)


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
        if count > _MAX_SIBLINGS:
            break
        alike += sibling.tag == node.tag and sibling.attributes.get("class") == named
    return alike > 2
