"""
Collect a recipe's ingredients or steps below a heading, by group.

A walk visits the siblings after the heading, then those after each of its ancestors. It visits the
children of elements that contain another heading. It stops where another part of the page begins,
or after a few hundred elements.
"""

from __future__ import annotations

from collections.abc import Mapping

from selectolax.lexbor import LexborNode

from richpins._permalinks import heading_text
from richpins.document import normalize_space
from richpins.visible_text.beside_lists import is_unrelated_block, is_unrelated_list
from richpins.visible_text.group_titles import is_list_title
from richpins.visible_text.list_items import (
    LISTS,
    MAX_ITEMS,
    MAX_SIBLINGS,
    NOT_CONTENT,
    STEP_NUMBER,
    numbered_steps,
    read_paragraphs,
)
from richpins.visible_text.section import MAX_HEADING_CHARS, Section
from richpins.visible_text.vocabulary import (
    AFTERWORD,
    NEXT_PART_HEADING,
    are_steps,
    count_amounts,
    is_repeated_heading,
)

HEADINGS = "h1,h2,h3,h4,h5,h6,strong,b,dt,legend,summary,button,p,div,span,th,u,label,em"
_TEXT_TAGS = frozenset(
    "p div section span pre article dd blockquote label li tr tbody thead main".split()
)
_MAX_ANCESTORS = 9
_MAX_DEPTH = 24
_MAX_VISITS = 400
_MAX_EXAMINED_ELEMENTS = 60
"""Maximum number of lists, paragraphs and headings read in one block."""


def collect_after(heading: LexborNode, section: Section, heading_kinds: Mapping[int, str]) -> None:
    """
    Add the entries between a heading and the next one to `section`.

    `heading_kinds` maps each known heading's `mem_id` to its kind. If there is no heading for
    steps, the walk looks for steps after the ingredients, up to two levels further out.
    """
    _SectionWalk(section, heading_kinds).run(heading)


class _SectionWalk:
    """One walk from a heading. Its `visit` methods return False at the end of the section."""

    def __init__(self, section: Section, heading_kinds: Mapping[int, str]) -> None:
        self._section = section
        self._heading_kinds = heading_kinds
        self._visits_left = _MAX_VISITS
        # Steps without a heading are expected after the ingredients.
        self._expects_steps = (
            section.kind == "ingredients" and "steps" not in heading_kinds.values()
        )

    def run(self, heading: LexborNode) -> None:
        section, levels_left = self._section, 2 if self._expects_steps else 0
        ancestor: LexborNode | None = heading
        for _ in range(_MAX_ANCESTORS):
            if ancestor is None or ancestor.tag in {"body", "html"}:
                return
            if not self._visit_following(ancestor.next):
                return
            if section.has_enough_entries:
                section.is_closed = section.kind == "ingredients"
                levels_left -= 1
                if levels_left < 0 or section.following_steps or section.kind == "steps":
                    return
            ancestor = ancestor.parent

    def _visit_following(self, node: LexborNode | None, depth: int = 0) -> bool:
        for _ in range(MAX_SIBLINGS):
            if node is None:
                break
            if not self._visit(node, depth):
                return False
            node = node.next
        return True

    def _visit(self, node: LexborNode, depth: int) -> bool:
        tag = node.tag or ""
        self._visits_left -= 1
        if self._visits_left < 0 or depth > _MAX_DEPTH:
            return False
        if tag == "-text":
            self._add_text(normalize_space(node.text() or ""))
            return True
        if tag.startswith("-") or tag in NOT_CONTENT:
            return True
        if self._contains_heading(node):
            return self._visit_until_heading(node, depth)
        if self._section.count >= MAX_ITEMS:
            return False
        heading = _only_heading(node)
        if heading is not None and heading.css_first("br") is None:
            return self._visit_subheading(heading)
        if not is_unrelated_block(node):
            self._add_block(node, tag)
        return True

    def _add_text(self, text: str) -> None:
        section = self._section
        min_chars = 3 if section.count else 20
        if len(text) > min_chars and (
            section.kind == "steps" or section.count or count_amounts([text])
        ):
            section.add_paragraphs([text])

    def _contains_heading(self, node: LexborNode) -> bool:
        return node.mem_id in self._heading_kinds or any(
            heading.mem_id in self._heading_kinds for heading in node.css(HEADINGS)[:300]
        )

    def _visit_until_heading(self, node: LexborNode, depth: int) -> bool:
        if node.mem_id in self._heading_kinds:
            is_same_kind = self._heading_kinds[node.mem_id] == self._section.kind
            return is_same_kind and not self._section.count
        return self._visit_following(node.first_child, depth + 1)

    def _visit_subheading(self, node: LexborNode) -> bool:
        """Start a group, unless the heading starts another part of the page."""
        section = self._section
        text = heading_text(node)
        name = text.strip("0123456789 .:!-–—")
        if not name or STEP_NUMBER.fullmatch(text):
            section.end_list()
            return True
        if len(text) > MAX_HEADING_CHARS or NEXT_PART_HEADING.fullmatch(name) or text.endswith("?"):
            return not section.count
        section.begin_group(STEP_NUMBER.sub("", text).rstrip(":") or text)
        if not section.count or (node.tag or "") not in {"h1", "h2"}:
            return True
        if self._expects_steps and not section.following_steps:
            section.is_closed = True
            return True
        return False

    def _add_block(self, node: LexborNode, tag: str) -> None:
        elements = [node] if tag in LISTS else node.css("h2,h3,h4,h5,h6,ul,ol,table,p")
        if any(element.tag in LISTS for element in elements):
            self._add_lists(elements[:_MAX_EXAMINED_ELEMENTS], node)
        elif is_list_title(node):
            self._visit_list_title(node)
        elif self._section.kind == "steps" and (steps := numbered_steps(node)):
            self._section.add_numbered(steps)
        elif tag in _TEXT_TAGS or tag[:1] == "h":
            texts = self._remove_afterwords(read_paragraphs(node, self._section.kind))
            parent = node.parent.mem_id if node.parent is not None else 0
            self._section.add_row(texts, (parent, tag, node.attributes.get("class") or ""))

    def _remove_afterwords(self, texts: list[str]) -> list[str]:
        """Remove tips and invitations from `texts`. A section's first entry is always kept."""
        if self._section.kind != "steps":
            return texts
        has_entries = self._section.count
        return [
            text
            for index, text in enumerate(texts)
            if not (index or has_entries) or not AFTERWORD.search(text)
        ]

    def _add_lists(self, elements: list[LexborNode], block: LexborNode) -> None:
        for element in elements:
            if element.tag in LISTS:
                if not _is_inside_list(element, block) and not _is_outside_content(element, block):
                    self._section.add_list(element)
            elif element.tag == "p":
                if not _is_inside_list(element, block) and not _is_outside_content(element, block):
                    self._add_paragraph(element)
            elif not self._visit_subheading(element):
                return

    def _visit_list_title(self, node: LexborNode) -> None:
        name = normalize_space(node.text()).rstrip(" :：")
        if NEXT_PART_HEADING.fullmatch(name):
            self._section.is_closed = self._section.is_closed or self._section.has_enough_entries
        elif not is_repeated_heading(name):
            self._section.begin_group(name)

    def _add_paragraph(self, element: LexborNode) -> None:
        section = self._section
        if is_list_title(element):
            self._visit_list_title(element)
            return
        if (section.kind != "steps" and section.count <= 1) or is_unrelated_block(element):
            return
        paragraphs = read_paragraphs(element, "steps")
        if section.has_enough_entries and any(AFTERWORD.search(text) for text in paragraphs):
            return
        if section.kind == "steps" or section.following_steps or are_steps(paragraphs):
            section.add_paragraphs(paragraphs)


def _only_heading(node: LexborNode) -> LexborNode | None:
    """Return the only heading in a node, even inside blocks; an edit link may follow it."""
    current: LexborNode | None = node
    for _ in range(_MAX_HEADING_WRAPPERS):
        if current is None or _is_heading(current):
            return current
        if current.tag not in _HEADING_WRAPPERS:
            return None
        children = [child for child in current.iter() if child.text(strip=True)]
        if len(children) > 1 and not (_is_heading(children[0]) and _is_edit_link(children[1])):
            return None
        current = children[0] if children else None
    return None


def _is_edit_link(node: LexborNode) -> bool:
    return "edit" in (node.attributes.get("class") or "").lower()


def _is_heading(node: LexborNode) -> bool:
    tag = node.tag or ""
    return len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()


_MAX_HEADING_WRAPPERS = 5
_HEADING_WRAPPERS = frozenset({"div", "header"})


def _is_outside_content(node: LexborNode, block: LexborNode) -> bool:
    ancestor: LexborNode | None = node
    while ancestor is not None and ancestor.mem_id != block.mem_id:
        if ancestor.tag in NOT_CONTENT or is_unrelated_list(ancestor):
            return True
        ancestor = ancestor.parent
    return False


def _is_inside_list(node: LexborNode, block: LexborNode) -> bool:
    if node.mem_id == block.mem_id:
        return False  # a table around the block may only lay out the page
    ancestor = node.parent
    while ancestor is not None and ancestor.mem_id != block.mem_id:
        if ancestor.tag in LISTS:
            return True
        ancestor = ancestor.parent
    return ancestor is not None and block.tag in LISTS
