"""
Collect one part of a recipe: its entries by group, and lines that may become entries later.

A section decides whether each line or list is an entry, a repetition, or the beginning of another
part. `section_walk` passes them in the order of the page.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from richpins.visible_text.beside_lists import is_menu
from richpins.visible_text.group_titles import GroupTitle, is_part_name, is_title
from richpins.visible_text.list_items import (
    LEADING_NUMBER,
    MAX_ITEMS,
    SectionKind,
    clean_entry,
    is_ingredients_list,
    join_amounts,
    read_entries,
)
from richpins.visible_text.vocabulary import (
    NEXT_PART_HEADING,
    are_listed_steps,
    are_steps,
    begins_next_part,
    count_amounts,
    is_repeated_heading,
    is_step,
    without_amount,
)

MAX_HEADING_CHARS = 60
_MIN_ITEMS = 3
"""Minimum number of steps in an unnumbered list without periods."""

Row = tuple[int, str, str]
"""A block's form: the `mem_id` of its parent, its tag and its class."""
Groups = list[tuple[str | None, list[str]]]
"""Pairs of a heading and the entries below it; None for entries before the first heading."""


@dataclass(slots=True)
class Section:
    """The entries under one heading of a recipe."""

    kind: SectionKind
    heading: str
    groups: Groups = field(default_factory=list)
    following_steps: Groups = field(default_factory=list)
    """Steps that follow the ingredients without a separate heading."""
    element: LexborNode | None = None
    """The heading, or else the list or block itself."""
    listed_count: int = 0
    """The number of entries from ordered lists, or from the section's first list."""
    list_words: list[list[list[str]]] = field(default_factory=list)
    """For each list, the words of its entries without amounts."""
    has_ordered_list: bool = False
    """True after an ordered list with several steps."""
    held_paragraphs: list[list[str]] = field(default_factory=list)
    """Paragraphs after an ordered list of steps. They are steps only if another list follows."""
    last_row: Row | None = None
    """The form of the last paragraph of steps. Neighbors of the same form are also steps."""
    held_lines: list[list[str]] = field(default_factory=list)
    """Short lines after `last_row`. They are added if another paragraph of its form follows."""
    is_in_other_units: bool = False
    """True in a list whose class names a system of units or a print version."""
    is_closed: bool = False
    """True once all entries are found. Steps may still follow the ingredients."""

    @property
    def min_count(self) -> int:
        return 2 if self.kind == "ingredients" else 1

    @property
    def has_enough_entries(self) -> bool:
        """True if there are enough entries for a section. At least one step must be long enough."""
        if self.count < self.min_count:
            return False
        return self.kind == "ingredients" or self.is_plain_list or any(map(is_step, self.entries))

    @property
    def is_plain_list(self) -> bool:
        """True for several steps that are all list items. Such steps may lack periods."""
        entries = self.entries
        return 1 < len(entries) == self.listed_count and are_listed_steps(entries)

    @property
    def count(self) -> int:
        return sum(len(entries) for _, entries in self.groups)

    @property
    def entries(self) -> list[str]:
        return [entry for _, entries in self.groups for entry in entries]

    def add(self, entries: list[str], *, is_certain: bool = False) -> None:
        """Add one element's entries. With `is_certain`, ingredients may be long and steps short."""
        if self.kind == "steps":
            self._add_steps(entries, is_certain=is_certain)
            return
        was_closed = self.is_closed
        entries = self._cut_at_next_part(join_amounts(entries))
        texts = [LEADING_NUMBER.sub("", entry) for entry in entries]
        if self.following_steps or (self.count > 1 and are_steps(texts)):
            _add_to_groups(self.following_steps, entries, "steps")
        elif (
            is_certain or not (was_closed or sum(map(len, entries)) > _max_total_chars(entries))
        ) and not self._are_repeated(entries):
            _add_to_groups(self.groups, entries, "ingredients")

    def _are_repeated(self, entries: list[str]) -> bool:
        """Remember a list; return True if it repeats an earlier one, perhaps in other units."""
        word_lists = _entry_words(entries)
        if len(word_lists) < (_MIN_ITEMS if self.kind == "ingredients" else 2):
            return False
        max_difference = len(word_lists) // 2 if self.is_in_other_units else 0
        is_repeated = any(
            _are_similar(word_lists, others, max_difference) for others in self.list_words
        )
        self.list_words.append(word_lists)
        return is_repeated

    def _cut_at_next_part(self, entries: list[str]) -> list[str]:
        """Return the entries before a line that begins another part, such as `Equipment`."""
        if not (self.has_enough_entries or len(entries) > self.min_count):
            return entries
        end_indexes = (
            index
            for index, entry in enumerate(entries)
            if self.count + index >= self.min_count
            and len(entry) <= MAX_HEADING_CHARS
            and (entry.endswith(("?", "？")) or NEXT_PART_HEADING.fullmatch(entry))
            and not any(map(str.isnumeric, entry))
        )
        end = next(end_indexes, None)
        self.is_closed = self.is_closed or end is not None
        return entries[:end]

    def _add_steps(self, entries: list[str], *, is_certain: bool) -> None:
        """Add steps up to a line that begins another part, such as `Notes:`."""
        numbered_count = self._numbered_count(entries)
        texts = [LEADING_NUMBER.sub("", entry) for entry in entries]
        may_end = self.has_enough_entries and not (is_certain or numbered_count)
        end = next(
            (index for index, text in enumerate(texts) if begins_next_part(text)), len(entries)
        )
        if self.is_closed or (may_end and not any(map(is_step, texts))):
            self.is_closed = self.is_closed or end < len(entries)
            return
        if self._are_repeated(entries[:end]):
            return
        _add_to_groups(self.groups, entries[:end], "steps")
        self.listed_count += min(numbered_count, end)
        self.is_closed = end < len(entries) and self.has_enough_entries

    def _numbered_count(self, entries: list[str]) -> int:
        """Return the number of entries if they continue the section's numbering, else 0."""
        numbers = [
            int(match[1] or match[2]) for text in entries if (match := LEADING_NUMBER.match(text))
        ]
        expected = range(self.count + 1, self.count + 1 + len(entries))
        return len(entries) if numbers == list(expected) else 0

    def add_list(self, element: LexborNode) -> None:
        if self.kind == "steps" and (is_menu(element) or is_ingredients_list(element)):
            return
        count_before = self.count
        self.is_in_other_units = _has_units_class(element)
        entries = read_entries(element, self.kind)
        is_numbered = element.tag == "ol" and self.kind == "steps" and are_listed_steps(entries)
        if is_numbered:
            for paragraphs in self.held_paragraphs:
                self.add(paragraphs)
            self.held_paragraphs.clear()
        self.add(entries, is_certain=is_numbered)
        self.has_ordered_list = self.has_ordered_list or (is_numbered and len(entries) > 1)
        if element.tag == "ol" or (
            element.tag == "ul" and not count_before and self.count >= _MIN_ITEMS
        ):
            self.listed_count += self.count - count_before

    def add_entries(self, entries: list[str], *, is_ordered: bool) -> None:
        """Add the entries of a list whose class names this part of a recipe."""
        count_before = self.count
        self.add(entries)
        if is_ordered and self.kind == "steps" and are_listed_steps(entries):
            self.listed_count += self.count - count_before

    def add_numbered(self, steps: list[str]) -> None:
        """Add steps from numbered blocks, even if they have no periods."""
        count_before, listed_count = self.count, self.listed_count
        self.add(steps, is_certain=True)
        self.listed_count = listed_count + self.count - count_before

    def add_paragraphs(self, texts: list[str]) -> None:
        """Add paragraphs, or hold them back if they follow an ordered list of steps."""
        if self.has_ordered_list and not self._numbered_count(texts):
            self.held_paragraphs.append(texts)
        else:
            self.add(texts)

    def add_row(self, texts: list[str], row: Row) -> None:
        """Add a block of text. A short block is added only between two blocks of the same form."""
        if self._may_be_title(texts) and row == self.last_row:
            self.held_lines.append(texts)
            return
        lines_between = self.held_lines if row == self.last_row and not self.is_closed else []
        count_before = self.count
        if lines_between and any(map(is_step, texts)):
            for lines in lines_between:
                _add_to_groups(self.groups, lines, "steps")
        self.held_lines = []
        self.add_paragraphs(texts)
        self.last_row = row if self.count > count_before else None

    def _may_be_title(self, texts: list[str]) -> bool:
        """Return True for a short line after a step, without the next step's number."""
        is_after_steps = self.kind == "steps" and self.has_enough_entries
        return is_after_steps and _is_short_line(texts) and not self._numbered_count(texts)

    def end_list(self) -> None:
        """Forget the ordered list. After a heading, paragraphs may be steps again."""
        self.has_ordered_list = False
        self.held_paragraphs.clear()

    def begin_group(self, name: str) -> None:
        self.end_list()
        (self.following_steps or self.groups).append((name, []))


def _add_to_groups(groups: Groups, entries: list[str], kind: SectionKind) -> None:
    """Add entries to the last group. Each title begins a new group."""
    for entry in entries[:MAX_ITEMS]:
        text = clean_entry(entry, kind)
        if not text or is_repeated_heading(text):
            continue
        is_part_title = kind == "steps" and is_part_name(text)
        if is_part_title or is_title(GroupTitle(text) if isinstance(entry, GroupTitle) else text):
            groups.append((text.rstrip(" :："), []))
            continue
        if not groups:
            groups.append((None, []))
        if kind == "steps" and _repeats_last_step(text, groups):
            continue  # the step is repeated for another screen size
        groups[-1][1].append(text)


def _is_short_line(texts: list[str]) -> bool:
    """Return True for one line that may be a name or a short step and begins no other part."""
    return len(texts) == 1 and not is_step(texts[0]) and not begins_next_part(texts[0])


def _has_units_class(element: LexborNode) -> bool:
    """Return True if the list or its parent has a class such as `imperial` or `print`."""
    elements = [element] if element.parent is None else [element, element.parent]
    return any(_UNITS_CLASS.search(node.attributes.get("class") or "") for node in elements)


_UNITS_CLASS = re.compile(
    r"(?:^|[-_\s])(?:metric|imperial|us|usa|uk|customary|print)(?:[-_\s]|$)", re.IGNORECASE
)


def _repeats_last_step(step: str, groups: Groups) -> bool:
    weighted_chars = len(step) if step.isascii() else _NON_ASCII_WEIGHT * len(step)
    return weighted_chars >= _MIN_LONG_STEP_CHARS and groups[-1][1][-1:] == [step]


def _entry_words(entries: list[str]) -> list[list[str]]:
    return [
        words for entry in entries if (words := _WORD.findall(without_amount(entry).casefold()))
    ]


_MIN_LONG_STEP_CHARS = 20
_NON_ASCII_WEIGHT = 2  # other scripts need fewer characters for a word
_WORD = re.compile(r"[^\W\d_]{3,}")


def _are_similar(first: list[list[str]], other: list[list[str]], max_difference: int) -> bool:
    """
    Return True for lists in which nearly all words are the same.

    Their numbers of entries may differ by `max_difference`, because steps for printing may be
    divided differently.
    """
    if abs(len(first) - len(other)) > max_difference:
        return False
    words, others = (
        Counter(word for entry_words in names for word in entry_words) for names in (first, other)
    )
    common = (words & others).total()
    return 2 * common >= _MIN_SIMILARITY * (words.total() + others.total())


_MIN_SIMILARITY = 0.85


def _max_total_chars(ingredients: list[str]) -> int:
    measured_count = count_amounts(ingredients)
    return 160 * measured_count + 80 * max(len(ingredients) - measured_count, 0)
