"""Parse a recipe's steps from strings, lists, sections and numbered items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from richpins._plain_text import lines
from richpins.structured_data.graph import Node
from richpins.values import scalars

MAX_STEPS = 500
_LEADING_AMOUNT = re.compile(r"^[\d.,/¼½¾⅓⅔⅛\s-]*(?:(?:fl\.? )?oz|ml|cl|dl|l|g|kg|lbs?|cups?)?\s+")
_MAX_NESTING = 6


@dataclass(frozen=True, slots=True)
class Group:
    """Steps or ingredients under one heading; `name` is None without a heading."""

    name: str | None
    entries: tuple[str, ...]


def without_repeats(entries: list[str]) -> list[str]:
    """
    Return the first part of a list that consists of two or three equal parts; others unchanged.

    Templates repeat a list for printing, or for each system of units.
    """
    names = [_LEADING_AMOUNT.sub("", entry) for entry in entries]
    for parts in (2, 3):
        size, remainder = divmod(len(entries), parts)
        if (
            size > 1
            and not remainder
            and all(
                names[:size] == names[start : start + size]
                for start in range(size, len(names), size)
            )
        ):
            return entries[:size]
    return entries


def instruction_groups(raw: list[Any]) -> tuple[Group, ...] | None:
    """Return the steps by section, or None. The step numbers of a single section are removed."""
    collector = _StepCollector()
    collector.add(raw, None, 0)
    groups = [Group(name, tuple(steps)) for name, steps in collector.groups if steps]
    if len(groups) == 1:
        groups = [
            Group(groups[0].name, tuple(remove_numbers(without_repeats(list(groups[0].entries)))))
        ]
    half, remainder = divmod(len(groups), 2)
    return (
        tuple(
            groups[:half] if half and not remainder and groups[:half] == groups[half:] else groups
        )
        or None
    )


class _StepCollector:
    """Collects steps by section. Visits each item once, because references may be cyclic."""

    def __init__(self) -> None:
        self.groups: list[tuple[str | None, list[str]]] = []
        self.steps_left = MAX_STEPS
        self.visited: set[int] = set()

    def add(self, raw: list[Any], section: str | None, depth: int) -> None:
        for value in raw:
            if self.steps_left <= 0 or depth > _MAX_NESTING:
                return
            if isinstance(value, Node):
                if id(value) not in self.visited:
                    self.visited.add(id(value))
                    self._add_node(value, section, depth)
            elif isinstance(value, str):
                self._add_lines(
                    [line for text in _parse_printed_list(value) for line in lines(text)], section
                )

    def _add_lines(self, steps: list[str], section: str | None) -> None:
        if not self.groups or self.groups[-1][0] != section:
            self.groups.append((section, []))
        lines = [line for line in steps if not _STEP_HEADING.fullmatch(line)][: self.steps_left]
        self.steps_left -= len(lines)
        self.groups[-1][1].extend(lines)

    def _add_node(self, node: Node, section: str | None, depth: int) -> None:
        nested = node.all("itemlistelement", "steps", "step", "item")
        name = scalars.text(node.first("name"))
        text = node.first("text", "description")
        is_section = node.is_a(_SECTION_TYPES) or (
            nested and not text and not node.is_a(_STEP_TYPES)
        )
        if is_section and nested:
            self.add(nested, name or section, depth + 1)
        elif text is None and nested:
            self.add(nested, section, depth + 1)
        else:
            result = lines(text) if isinstance(text, str) else []
            if name and not result and not nested:
                result = lines(name)
            self._add_lines(result, section)


def _parse_printed_list(text: str) -> list[str]:
    """Return the strings in a list printed in PHP, Python or JSON syntax; else only `text`."""
    start = text[:_MAX_LIST_START_CHARS].lstrip()
    if start[:2] == "a:" and _SERIALIZED_PHP_ARRAY.match(start):
        parts_after_length = (
            _SERIALIZED_TEXT_START.split(part, maxsplit=1) for part in text.split('";')
        )
        return [
            str(part[1]) for part in parts_after_length if len(part) > 1 and not part[1].isdigit()
        ]
    if start.startswith("Array") and _PRINTED_PHP_ARRAY.match(start):
        return [
            step for part in _PRINTED_PHP_KEY.split(text)[1:] if (step := part.strip(" \t\r\n)"))
        ]
    if start[:1] == "[" and text.rstrip()[-1:] == "]":
        parts: list[str] = _COMMA_BETWEEN_QUOTES.split(text.strip()[1:-1].strip())
        are_quoted = all(
            len(part) > 1 and part[0] == part[-1] and part[0] in "\"'" for part in parts
        )
        return [part[1:-1] for part in parts] if are_quoted else [text]
    return [text]


_MAX_LIST_START_CHARS = 40
_SERIALIZED_PHP_ARRAY = re.compile(r"a:\d{1,4}:\{")
_SERIALIZED_TEXT_START = re.compile(r's:\d{1,6}:"')
_PRINTED_PHP_ARRAY = re.compile(r"Array\s{0,9}\(")
_PRINTED_PHP_KEY = re.compile(r"\[\d{1,4}\] =>\s?")
_COMMA_BETWEEN_QUOTES = re.compile(r"(?<=[\"']),\s?(?=[\"'])")


_SECTION_TYPES = frozenset({"howtosection", "itemlist"})
_STEP_TYPES = frozenset({"howtostep", "howtodirection", "howtotip", "listitem"})
_STEP_HEADING = re.compile(
    r"(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг|instruction|instrucción|istruzione|"
    r"anweisung|direction|method)?\s*+#?\d{1,2}\s*+[.):]?\s*+",
    re.IGNORECASE,
)


def remove_numbers(steps: list[str]) -> list[str]:
    """Remove step numbers if they run 1, 2, 3 and so on. Other numbers belong to the text."""
    if len(steps) == 1:
        steps = _split_numbered(steps[0])
    numbered = [
        (index, match)
        for index, step in enumerate(steps)
        if (match := _LEADING_STEP_NUMBER.match(step))
    ]
    if len(numbered) < 2 or [int(match[1]) for _, match in numbered] != list(
        range(1, len(numbered) + 1)
    ):
        return steps
    matches = dict(numbered)
    return [
        step[matches[index].end() :] if index in matches else step
        for index, step in enumerate(steps)
    ]


def _split_numbered(text: str) -> list[str]:
    starts = [0]
    expected = 1
    for match in _INLINE_STEP_NUMBER.finditer(text):
        if int(match[1]) == expected:
            expected += 1
            starts.append(match.start())
    if expected < _MIN_INLINE_STEPS + 1:
        return [text]
    parts = [
        text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    ]
    return [part for part in parts if part]


_MIN_INLINE_STEPS = 3
_LEADING_STEP_NUMBER = re.compile(r"(\d{1,2})(?:\s*[.):、-]\s*|\s+)(?=[^\W\d_])")
_INLINE_STEP_NUMBER = re.compile(
    r"(?:(?<=\s)|(?<=^)|(?<=[.;!。；！)]))(\d{1,2})\s*[.):、]\s*(?=[^\W\d_])"
)
