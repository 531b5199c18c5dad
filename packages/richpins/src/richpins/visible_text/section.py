"""
Collect one part of a recipe: its entries by group, and the lines that may become entries later.

For each line or list of the page, a section decides whether it is an entry, a repetition, or the
beginning of another part. `section_walk` determines the order of the lines.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from richpins.visible_text.beside_lists import is_menu
from richpins.visible_text.group_titles import GroupTitle, is_title, names_a_part
from richpins.visible_text.list_items import (
    COUNTED,
    MAX_ITEMS,
    SectionKind,
    are_called_ingredients,
    cleaned,
    entries_of,
    with_amounts,
)
from richpins.visible_text.vocabulary import (
    ENDS,
    amounts,
    are_listed_steps,
    are_steps,
    ends_steps,
    is_heading_again,
    is_step,
    without_amount,
)

MAX_HEADING_CHARS = 60
_MIN_ITEMS = 3
"""Minimum number of steps in an unnumbered list whose steps have no full stops."""

Row = tuple[int, str, str]
"""The parent, the tag and the class of a block."""
Groups = list[tuple[str | None, list[str]]]
"""Pairs of a heading and the entries below it. The heading is None for entries before the first."""


@dataclass(slots=True)
class Section:
    """The entries under one heading of a recipe."""

    kind: SectionKind
    heading: str
    groups: Groups = field(default_factory=list)
    then: Groups = field(default_factory=list)
    """Steps that follow the ingredients without a separate heading."""
    at: LexborNode | None = None
    """The heading's element, or the list or block itself if there is no heading."""
    listed: int = 0
    """How many of the entries are items in ordered lists, or in the section's first list."""
    lists: list[list[list[str]]] = field(default_factory=list)
    """For each list so far, the words of its entries without amounts."""
    has_numbered: bool = False
    """True after an ordered list with several steps."""
    behind: list[list[str]] = field(default_factory=list)
    """Paragraphs after an ordered list of steps. They are steps only if another list follows."""
    row: Row | None = None
    """The form of the last paragraph of steps. Its neighbors of the same form are also steps."""
    between: list[list[str]] = field(default_factory=list)
    """
    Short lines after the paragraph of `row`. They are kept if another of the same form follows.
    """
    is_in_other_units: bool = False
    """True while reading a list whose class names a system of units or a print version."""
    is_closed: bool = False
    """True once all entries are found. Steps may still follow ingredients."""

    @property
    def least(self) -> int:
        """The minimum number of entries in a valid section."""
        return 2 if self.kind == "ingredients" else 1

    @property
    def is_enough(self) -> bool:
        """True once there are enough entries for a valid section, including a long enough step."""
        if self.count < self.least:
            return False
        return self.kind == "ingredients" or self.is_list or any(map(is_step, self.entries))

    @property
    def is_list(self) -> bool:
        """True for several steps that are all list items. Such steps may lack full stops."""
        entries = self.entries
        return 1 < len(entries) == self.listed and are_listed_steps(entries)

    @property
    def count(self) -> int:
        return sum(len(entries) for _, entries in self.groups)

    @property
    def entries(self) -> list[str]:
        return [entry for _, entries in self.groups for entry in entries]

    def add(self, entries: list[str], *, surely: bool = False) -> None:
        """Add one element's entries. With `surely`, ingredients may be long and steps short."""
        if self.kind == "steps":
            self._add_steps(entries, surely=surely)
            return
        was_closed = self.is_closed
        entries = self._until_the_end(with_amounts(entries))
        bare = [COUNTED.sub("", entry) for entry in entries]
        if self.then or (self.count > 1 and are_steps(bare)):
            _extend(self.then, entries, "steps")
        elif (surely or not (was_closed or sum(map(len, entries)) > _room_for(entries))) and (
            not self._are_again(entries)
        ):
            _extend(self.groups, entries, "ingredients")

    def _are_again(self, entries: list[str]) -> bool:
        """Return True if entries repeat earlier ones in other amounts or units, or for printing."""
        names = _names_of(entries)
        if len(names) < (_MIN_ITEMS if self.kind == "ingredients" else 2):
            return False
        most = len(names) // _DIVIDED if self.is_in_other_units else 0
        again = any(_are_alike(names, others, most) for others in self.lists)
        self.lists.append(names)
        return again

    def _until_the_end(self, entries: list[str]) -> list[str]:
        """Return the entries before a line such as `Equipment`, which begins another part."""
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
        """Add steps up to a line that begins another part, such as `Notes:`."""
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
        """Return the number of entries if they continue the numbering (`3.` after two), else 0."""
        numbers = [int(match[1] or match[2]) for text in entries if (match := COUNTED.match(text))]
        expected = range(self.count + 1, self.count + 1 + len(entries))
        return len(entries) if numbers == list(expected) else 0

    def add_list(self, element: LexborNode) -> None:
        """Add the entries of a list."""
        if self.kind == "steps" and (is_menu(element) or are_called_ingredients(element)):
            return
        before = self.count
        self.is_in_other_units = _names_units(element)
        entries = entries_of(element, self.kind)
        is_numbered = element.tag == "ol" and self.kind == "steps" and are_listed_steps(entries)
        if is_numbered:
            for paragraphs in self.behind:
                self.add(paragraphs)
            self.behind.clear()
        self.add(entries, surely=is_numbered)
        self.has_numbered = self.has_numbered or (is_numbered and len(entries) > 1)
        if element.tag == "ol" or (element.tag == "ul" and not before and self.count >= _MIN_ITEMS):
            self.listed += self.count - before

    def add_entries(self, entries: list[str], *, is_ordered: bool) -> None:
        """Add the entries of a list in an element whose class names this part of a recipe."""
        before = self.count
        self.add(entries)
        if is_ordered and self.kind == "steps" and are_listed_steps(entries):
            self.listed += self.count - before

    def add_numbered(self, steps: list[str]) -> None:
        """Add steps from numbered blocks. Such steps may lack full stops."""
        count, listed = self.count, self.listed
        self.add(steps, surely=True)
        self.listed = listed + self.count - count

    def add_paragraphs(self, texts: list[str]) -> None:
        """Add paragraphs, or hold them back if they follow an ordered list of steps."""
        if self.has_numbered and not self._counted(texts):
            self.behind.append(texts)
        else:
            self.add(texts)

    def add_row(self, texts: list[str], row: Row) -> None:
        """Add a block of text. A short block is added only between two blocks of the same form."""
        if self._may_be_name(texts) and row == self.row:
            self.between.append(texts)
            return
        held = self.between if row == self.row and not self.is_closed else []
        before = self.count
        if held and any(map(is_step, texts)):
            for lines in held:
                _extend(self.groups, lines, "steps")
        self.between = []
        self.add_paragraphs(texts)
        self.row = row if self.count > before else None

    def _may_be_name(self, texts: list[str]) -> bool:
        """Return True for a short line after a step that does not have the next step's number."""
        is_behind = self.kind == "steps" and self.is_enough
        return is_behind and _is_short(texts) and not self._counted(texts)

    def end_list(self) -> None:
        """Forget the ordered list before a heading. Later paragraphs may be steps again."""
        self.has_numbered = False
        self.behind.clear()

    def begin_group(self, name: str) -> None:
        """Start a group under this heading inside the section."""
        self.end_list()
        (self.then or self.groups).append((name, []))


def _extend(groups: Groups, entries: list[str], kind: SectionKind) -> None:
    """Add entries to the last group. Each line that is a title begins a new group."""
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
        if kind == "steps" and _is_again(text, groups):
            continue  # the step is repeated for another screen size
        groups[-1][1].append(text)


def _is_short(texts: list[str]) -> bool:
    """Return True for a single line that may be a name or a short step and begins no other part."""
    return len(texts) == 1 and not is_step(texts[0]) and not ends_steps(texts[0])


def _names_units(element: LexborNode) -> bool:
    """Return True for a list with a class such as `imperial` or `print`, or in such an element."""
    around = [element] if element.parent is None else [element, element.parent]
    return any(_OTHER_UNITS.search(each.attributes.get("class") or "") for each in around)


_OTHER_UNITS = re.compile(
    r"(?:^|[-_\s])(?:metric|imperial|us|usa|uk|customary|print)(?:[-_\s]|$)", re.IGNORECASE
)


def _is_again(step: str, groups: Groups) -> bool:
    """Return True if the step is long and repeats the previous one."""
    size = len(step) if step.isascii() else _DENSITY * len(step)
    return size >= _LONG_STEP and groups[-1][1][-1:] == [step]


def _names_of(entries: list[str]) -> list[list[str]]:
    """Return the words of each entry, without its amount and its unit."""
    return [words for e in entries if (words := _WORD.findall(without_amount(e).casefold()))]


_LONG_STEP = 20
_DENSITY = 2
"""Text that is not ASCII counts double, because other scripts need fewer characters for a word."""
_WORD = re.compile(r"[^\W\d_]{3,}")


def _are_alike(first: list[list[str]], other: list[list[str]], most: int) -> bool:
    """
    Return True for lists in which nearly all words are the same.

    Their lengths may differ by up to `most`, because steps for printing may be divided differently.
    """
    if abs(len(first) - len(other)) > most:
        return False
    words, others = (Counter(word for each in names for word in each) for names in (first, other))
    common = (words & others).total()
    return 2 * common >= _MIN_ALIKE * (words.total() + others.total())


_MIN_ALIKE = 0.85
_DIVIDED = 2


def _room_for(ingredients: list[str]) -> int:
    """Return the maximum total length of these ingredients. Those with an amount may be longer."""
    measured = amounts(ingredients)
    return 160 * measured + 80 * max(len(ingredients) - measured, 0)
