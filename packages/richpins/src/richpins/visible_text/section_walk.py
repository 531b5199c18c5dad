"""
Collect a recipe's ingredients or steps below a heading, by group.

A walk visits the elements after the heading: its siblings, then the siblings of its parents, and
their children if they contain another heading. It stops where another part of the page begins, or
after a few hundred elements.
"""

from __future__ import annotations

from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from richpins._permalinks import heading_text
from richpins.document import normalize_space
from richpins.visible_text.beside_lists import is_beside_the_list, is_trail
from richpins.visible_text.group_titles import names_a_list
from richpins.visible_text.list_items import (
    LISTS,
    MAX_ITEMS,
    MAX_SIBLINGS,
    NOT_CONTENT,
    STEP_NUMBER,
    numbered_steps,
    paragraphs_of,
)
from richpins.visible_text.section import MAX_HEADING_CHARS, Section
from richpins.visible_text.vocabulary import (
    ENDS,
    IS_AFTERWORD,
    amounts,
    are_steps,
    is_heading_again,
)

HEADINGS = "h1,h2,h3,h4,h5,h6,strong,b,dt,legend,summary,button,p,div,span,th,u,label,em"
_TEXTUAL = frozenset(
    "p div section span pre article dd blockquote label li tr tbody thead main".split()
)
_MAX_CLIMB = 9
_MAX_DEPTH = 24
_MAX_VISITED = 400
_MAX_EXAMINED = 60
"""Maximum lists and paragraphs that are read in one block."""


def collect_after(head: LexborNode, section: Section, places: Mapping[int, str]) -> None:
    """
    Collect the entries between a heading and the next one. The entries are siblings of the heading
    or of its parents.

    `places` maps the `mem_id` of each known heading on the page to its kind. If there is no heading
    for steps, the search after the ingredients extends two levels further out.
    """
    _SectionWalk(section, places).run(head)


class _SectionWalk:
    """One walk from a heading. Its `visit` methods return False at the end of the section."""

    def __init__(self, section: Section, places: Mapping[int, str]) -> None:
        self._section = section
        self._places = places
        self._left = _MAX_VISITED
        # Steps without a heading are expected after the ingredients.
        self._seeks_steps = section.kind == "ingredients" and "steps" not in places.values()

    def run(self, head: LexborNode) -> None:
        section, further = self._section, 2 if self._seeks_steps else 0
        at: LexborNode | None = head
        for _ in range(_MAX_CLIMB):
            if at is None or at.tag in {"body", "html"} or not self._visit_following(at.next):
                return
            if section.is_enough:
                section.is_closed = section.kind == "ingredients"
                further -= 1
                if further < 0 or section.then or section.kind == "steps":
                    return
            at = at.parent

    def _visit_following(self, node: LexborNode | None, depth: int = 0) -> bool:
        """Visit a node and its next siblings."""
        for _ in range(MAX_SIBLINGS):
            if node is None:
                break
            if not self._visit(node, depth):
                return False
            node = node.next
        return True

    def _visit(self, node: LexborNode, depth: int) -> bool:
        tag = node.tag or ""
        self._left -= 1
        if self._left < 0 or depth > _MAX_DEPTH:
            return False
        if tag == "-text":
            self._add_text(normalize_space(node.text() or ""))
            return True
        if tag.startswith("-") or tag in NOT_CONTENT:
            return True
        if self._holds_heading(node):
            return self._visit_until_heading(node, depth)
        if self._section.count >= MAX_ITEMS:
            return False
        heading = _only_heading(node)
        if heading is not None and heading.css_first("br") is None:
            return self._visit_subheading(heading)
        if not is_beside_the_list(node):
            self._add_block(node, tag)
        return True

    def _add_text(self, text: str) -> None:
        section = self._section
        least = 3 if section.count else 20
        if len(text) > least and (section.kind == "steps" or section.count or amounts([text])):
            section.add_paragraphs([text])

    def _holds_heading(self, node: LexborNode) -> bool:
        return node.mem_id in self._places or any(
            heading.mem_id in self._places for heading in node.css(HEADINGS)[:300]
        )

    def _visit_until_heading(self, node: LexborNode, depth: int) -> bool:
        """Visit the children of a block up to the heading of the next part."""
        if node.mem_id in self._places:
            same = self._places[node.mem_id] == self._section.kind
            return same and not self._section.count
        return self._visit_following(node.first_child, depth + 1)

    def _visit_subheading(self, node: LexborNode) -> bool:
        """Start a group, unless the heading starts another part of the page."""
        section = self._section
        text = heading_text(node)
        bare = text.strip("0123456789 .:!-–—")
        if not bare or STEP_NUMBER.fullmatch(text):
            section.end_list()
            return True
        if len(text) > MAX_HEADING_CHARS or ENDS.fullmatch(bare) or text.endswith("?"):
            return not section.count
        section.begin_group(STEP_NUMBER.sub("", text).rstrip(":") or text)
        if not section.count or (node.tag or "") not in {"h1", "h2"}:
            return True
        if self._seeks_steps and not section.then:
            section.is_closed = True
            return True
        return False

    def _add_block(self, node: LexborNode, tag: str) -> None:
        """Add the lists in a block, or its paragraphs if it has none."""
        elements = [node] if tag in LISTS else node.css("h2,h3,h4,h5,h6,ul,ol,table,p")
        if any(element.tag in LISTS for element in elements):
            self._add_lists(elements[:_MAX_EXAMINED], node)
        elif names_a_list(node):
            self._visit_name(node)
        elif self._section.kind == "steps" and (steps := numbered_steps(node)):
            self._section.add_numbered(steps)
        elif tag in _TEXTUAL or tag[:1] == "h":
            texts = self._without_afterwords(paragraphs_of(node, self._section.kind))
            parent = node.parent.mem_id if node.parent is not None else 0
            self._section.add_row(texts, (parent, tag, node.attributes.get("class") or ""))

    def _without_afterwords(self, texts: list[str]) -> list[str]:
        """Return the strings without tips and invitations. The first string is always kept."""
        if self._section.kind != "steps":
            return texts
        begun = self._section.count
        return [t for n, t in enumerate(texts) if not (n or begun) or not IS_AFTERWORD.search(t)]

    def _add_lists(self, elements: list[LexborNode], block: LexborNode) -> None:
        """Add the lists and headings in a block, and paragraphs after the first steps."""
        for element in elements:
            if element.tag in LISTS:
                if not _is_inside_list(element, block) and not _is_off(element, block):
                    self._section.add_list(element)
            elif element.tag == "p":
                if not _is_inside_list(element, block) and not _is_off(element, block):
                    self._add_paragraph(element)
            elif not self._visit_subheading(element):
                return

    def _visit_name(self, node: LexborNode) -> None:
        """Start a group at the title of the next list; stop at the title of another part."""
        name = normalize_space(node.text()).rstrip(" :：")
        if ENDS.fullmatch(name):
            self._section.is_closed = self._section.is_closed or self._section.is_enough
        elif not is_heading_again(name):
            self._section.begin_group(name)

    def _add_paragraph(self, element: LexborNode) -> None:
        section = self._section
        if names_a_list(element):
            self._visit_name(element)
            return
        if (section.kind != "steps" and section.count <= 1) or is_beside_the_list(element):
            return
        paragraphs = paragraphs_of(element, "steps")
        if section.is_enough and any(IS_AFTERWORD.search(text) for text in paragraphs):
            return
        if section.kind == "steps" or section.then or are_steps(paragraphs):
            section.add_paragraphs(paragraphs)


def _only_heading(node: LexborNode) -> LexborNode | None:
    """Return a heading, even if it is in blocks that contain only it and its edit links."""
    at: LexborNode | None = node
    for _ in range(_MAX_AROUND_HEADING):
        if at is None or _is_heading(at):
            return at
        if at.tag not in _AROUND_HEADING:
            return None
        inner = [child for child in at.iter() if child.text(strip=True)]
        if len(inner) > 1 and not (_is_heading(inner[0]) and _is_edit(inner[1])):
            return None
        at = inner[0] if inner else None
    return None


def _is_edit(node: LexborNode) -> bool:
    """Return True for the edit links next to a wiki's heading."""
    return "edit" in (node.attributes.get("class") or "").lower()


def _is_heading(node: LexborNode) -> bool:
    tag = node.tag or ""
    return len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()


_MAX_AROUND_HEADING = 5
_AROUND_HEADING = frozenset({"div", "header"})


def _is_off(node: LexborNode, block: LexborNode) -> bool:
    """Return True if an element is in a form, menu or footer inside the block."""
    at: LexborNode | None = node
    while at is not None and at.mem_id != block.mem_id:
        if at.tag in NOT_CONTENT or is_trail(at):
            return True
        at = at.parent
    return False


def _is_inside_list(node: LexborNode, block: LexborNode) -> bool:
    """Return True if there is a list between a node and the block that contains it."""
    if node.mem_id == block.mem_id:
        return False  # a table around the block may arrange the page
    parent = node.parent
    while parent is not None and parent.mem_id != block.mem_id:
        if parent.tag in LISTS:
            return True
        parent = parent.parent
    return parent is not None and block.tag in LISTS
