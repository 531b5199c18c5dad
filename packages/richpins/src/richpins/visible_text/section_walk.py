"""
Collect a recipe's ingredients or steps below a heading, by group.

A walk visits the elements after the heading: its siblings, then the siblings of its parents, and
their children if they contain another heading. It stops where another part of the page begins, or
after a few hundred elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from richpins._permalinks import heading_text
from richpins.document import normalize_space
from richpins.visible_text.beside_lists import is_beside_the_list, is_menu, is_trail
from richpins.visible_text.group_titles import GroupTitle, is_title, names_a_list, names_a_part
from richpins.visible_text.list_items import (
    COUNTED,
    LISTS,
    MAX_ITEMS,
    MAX_SIBLINGS,
    NOT_CONTENT,
    STEP_NUMBER,
    SectionKind,
    cleaned,
    entries_of,
    paragraphs_of,
    with_amounts,
)
from richpins.visible_text.vocabulary import (
    ENDS,
    IS_AFTERWORD,
    amounts,
    are_listed_steps,
    are_steps,
    ends_steps,
    is_heading_again,
    is_step,
    without_amount,
)

HEADINGS = "h1,h2,h3,h4,h5,h6,strong,b,dt,legend,summary,button,p,div,span,th,u,label,em"
MAX_HEADING_CHARS = 60
_TEXTUAL = frozenset(
    "p div section span pre article dd blockquote label li tr tbody thead main".split()
)
_MAX_CLIMB = 9
_MAX_DEPTH = 24
_MAX_VISITED = 400
_MAX_EXAMINED = 60
"""Maximum lists and paragraphs that are read in one block."""

_LEAST_ITEMS = 3
"""Minimum steps of a list without numbers, if they do not end in full stops."""

Groups = list[tuple[str | None, list[str]]]
"""Entries by the heading above them; None for entries before the first heading."""


@dataclass(slots=True)
class Section:
    """The entries under one heading of a recipe."""

    kind: SectionKind
    heading: str
    groups: Groups = field(default_factory=list)
    then: Groups = field(default_factory=list)
    """Steps that follow the ingredients without a heading."""
    at: LexborNode | None = None
    """The heading element, or the list or block itself if it has no heading."""
    listed: int = 0
    """Number of entries that are items of ordered lists, or of the section's first list."""
    lists: list[list[list[str]]] = field(default_factory=list)
    """The words of the ingredients in each list so far, without amounts."""
    has_numbered: bool = False
    """True after an ordered list with several steps."""
    behind: list[list[str]] = field(default_factory=list)
    """Paragraphs after an ordered list of steps; they are steps only if another list follows."""
    is_closed: bool = False
    """True once the section is complete: all ingredients or all steps were found."""

    @property
    def least(self) -> int:
        """The minimum number of entries of a valid section."""
        return 2 if self.kind == "ingredients" else 1

    @property
    def is_enough(self) -> bool:
        """True if the section has enough entries, and for steps, a long enough one."""
        if self.count < self.least:
            return False
        return self.kind == "ingredients" or self.is_list or any(map(is_step, self.entries))

    @property
    def is_list(self) -> bool:
        """True for several steps that are all list items; these need no full stops."""
        entries = self.entries
        return 1 < len(entries) == self.listed and are_listed_steps(entries)

    @property
    def count(self) -> int:
        return sum(len(entries) for _, entries in self.groups)

    @property
    def entries(self) -> list[str]:
        return [entry for _, entries in self.groups for entry in entries]

    def add(self, entries: list[str], *, surely: bool = False) -> None:
        """
        Add the entries of one element.

        With `surely`, accept long ingredients and short steps.
        """
        if self.kind == "steps":
            self._add_steps(entries, surely=surely)
            return
        was_closed = self.is_closed
        entries = self._until_the_end(with_amounts(entries))
        if self.then or (self.count > 1 and are_steps(entries)):
            _extend(self.then, entries, "steps")
        elif (surely or not (was_closed or sum(map(len, entries)) > _room_for(entries))) and (
            not self._are_again(entries)
        ):
            _extend(self.groups, entries, "ingredients")

    def _are_again(self, entries: list[str]) -> bool:
        """
        Return True if these ingredients are repeated with other amounts or units, or steps for
        printing.
        """
        names = _names_of(entries)
        if len(names) < (_LEAST_ITEMS if self.kind == "ingredients" else 2):
            return False
        again = any(_are_alike(names, others) for others in self.lists)
        self.lists.append(names)
        return again

    def _until_the_end(self, entries: list[str]) -> list[str]:
        """Return the entries before a line such as `Equipment`, which starts another part."""
        if not (self.is_enough or len(entries) > self.least):
            return entries
        ends = (
            n
            for n, entry in enumerate(entries)
            if self.count + n >= self.least
            and len(entry) <= MAX_HEADING_CHARS
            and (entry.endswith(("?", "？")) or ENDS.fullmatch(entry))
            and not any(map(str.isnumeric, entry))
        )
        end = next(ends, None)
        self.is_closed = self.is_closed or end is not None
        return entries[:end]

    def _add_steps(self, entries: list[str], *, surely: bool) -> None:
        """Add the steps before a line such as `Notes:`, which starts another part."""
        counted = self._counted(entries)
        bare = [COUNTED.sub("", entry) for entry in entries]
        may_end = self.is_enough and not (surely or counted)
        end = next((n for n, text in enumerate(bare) if ends_steps(text)), len(entries))
        if self.is_closed or (may_end and not any(map(is_step, bare))):
            self.is_closed = self.is_closed or end < len(entries)
            return
        if self._are_again(entries[:end]):
            return
        _extend(self.groups, entries[:end], "steps")
        self.listed += min(counted, end)
        self.is_closed = end < len(entries) and self.is_enough

    def _counted(self, entries: list[str]) -> int:
        """Return how many entries have the next step numbers, such as `3.` after two steps."""
        numbers = [int(match[1] or match[2]) for text in entries if (match := COUNTED.match(text))]
        expected = range(self.count + 1, self.count + 1 + len(entries))
        return len(entries) if numbers == list(expected) else 0

    def add_list(self, element: LexborNode) -> None:
        """Add the entries of a list."""
        if self.kind == "steps" and is_menu(element):
            return
        before = self.count
        entries = entries_of(element, self.kind)
        is_numbered = element.tag == "ol" and self.kind == "steps" and are_listed_steps(entries)
        if is_numbered:
            for paragraphs in self.behind:
                self.add(paragraphs)
            self.behind.clear()
        self.add(entries, surely=is_numbered)
        self.has_numbered = self.has_numbered or (is_numbered and len(entries) > 1)
        if element.tag == "ol" or (
            element.tag == "ul" and not before and self.count >= _LEAST_ITEMS
        ):
            self.listed += self.count - before

    def add_paragraphs(self, texts: list[str]) -> None:
        """Add paragraphs; after an ordered list of steps, hold them back."""
        if self.has_numbered and not self._counted(texts):
            self.behind.append(texts)
        else:
            self.add(texts)

    def end_list(self) -> None:
        """Forget the ordered list at a heading, after which paragraphs may be steps again."""
        self.has_numbered = False
        self.behind.clear()

    def begin_group(self, name: str) -> None:
        """Start a group with this heading inside the section."""
        self.end_list()
        (self.then or self.groups).append((name, []))


def _extend(groups: Groups, entries: list[str], kind: SectionKind) -> None:
    """Add entries to the last group, and start a new group at each title."""
    for entry in entries[:MAX_ITEMS]:
        text = cleaned(entry, kind)
        if not text or is_heading_again(text):
            continue
        is_part = kind == "steps" and names_a_part(text)
        if is_part or is_title(GroupTitle(text) if isinstance(entry, GroupTitle) else text):
            groups.append((text.rstrip(" :："), []))
            continue
        if not groups:
            groups.append((None, []))
        if kind == "steps" and groups[-1][1][-1:] == [text] and len(text) >= _LONG_STEP:
            continue  # repeated for another screen size
        groups[-1][1].append(text)


def _names_of(entries: list[str]) -> list[list[str]]:
    """Return the words of each entry, without its amount and unit."""
    return [words for e in entries if (words := _WORD.findall(without_amount(e).casefold()))]


_LONG_STEP = 20
_WORD = re.compile(r"[^\W\d_]{3,}")


def _are_alike(first: list[list[str]], other: list[list[str]]) -> bool:
    """Return True for lists of equal length with nearly the same words."""
    if len(first) != len(other):
        return False
    words, others = (Counter(word for each in names for word in each) for names in (first, other))
    common = (words & others).total()
    return 2 * common >= _LEAST_ALIKE * (words.total() + others.total())


_LEAST_ALIKE = 0.85


def _room_for(ingredients: list[str]) -> int:
    """Return the maximum total length of these ingredients; those with an amount may be longer."""
    measured = amounts(ingredients)
    return 160 * measured + 80 * max(len(ingredients) - measured, 0)


def collect_after(head: LexborNode, section: Section, places: Mapping[int, str]) -> None:
    """
    Collect the entries after a heading, among its siblings or its parents' siblings, until another
    heading.

    `places` has the kind of each known heading of the page by its `mem_id`. If there is no heading
    for steps, the search after the ingredients extends two levels further out.
    """
    _SectionWalk(section, places).run(head)


class _SectionWalk:
    """One walk from a heading. Its `visit` methods return False at the end of the section."""

    def __init__(self, section: Section, places: Mapping[int, str]) -> None:
        self._section = section
        self._places = places
        self._left = _MAX_VISITED
        # If steps have no heading, they are expected after the ingredients.
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
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit() and node.css_first("br") is None:
            return self._visit_subheading(node)
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
        elif tag in _TEXTUAL or tag[:1] == "h":
            texts = self._without_afterwords(paragraphs_of(node, self._section.kind))
            self._section.add_paragraphs(texts)

    def _without_afterwords(self, texts: list[str]) -> list[str]:
        """Return the texts without tips and invitations; the first text is always kept."""
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
    parent = node.parent
    while parent is not None and parent.mem_id != block.mem_id:
        if parent.tag in LISTS:
            return True
        parent = parent.parent
    return parent is not None and node.mem_id != block.mem_id and block.tag in LISTS
