"""
Read the ingredients or steps in one element: a list, a table, similar rows, or paragraphs.

`section_walk` decides which elements belong to a section.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, islice
from typing import Literal

from selectolax.lexbor import LexborNode

from richpins._plain_text import block_lines, spaced_text
from richpins.document import normalize_space
from richpins.visible_text.facts import is_address, is_fact, is_note_among_steps
from richpins.visible_text.group_titles import (
    MAX_TITLE_CHARS,
    GroupTitle,
    is_title_element,
    mark_titles,
)
from richpins.visible_text.own_numbers import (
    BARE_NUMBER,
    BLOCKS,
    find_separate_numbers,
    numbered_blocks,
)
from richpins.visible_text.vocabulary import (
    BARE_AMOUNT,
    CONTROL_LABEL,
    MAX_CONTROL_CHARS,
    NOT_A_STEP,
    count_amounts,
    is_step,
    starts_with_measure,
)

SectionKind = Literal["ingredients", "steps"]

NOT_CONTENT = frozenset(
    "script style nav footer form aside header noscript select button figcaption".split()
)
LISTS = frozenset({"ul", "ol", "table", "dl"})
MAX_ITEMS = 120
MAX_SIBLINGS = 60
STEP_NUMBER = re.compile(
    r"\A\W{0,3}(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг)\s*\d{1,2}\W{0,3}",
    re.IGNORECASE,
)
LEADING_NUMBER = re.compile(
    r"\A\s{0,9}+(?:(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг)\s{0,9}+(\d{1,2})"
    r"\W{0,3}|(\d{1,2})\s?(?:[.):、]|[-–](?=\s))\s{0,9}+)(?=[^\W\d_])",
    re.IGNORECASE,
)
"""The number before a step."""
_MAX_ROW_CHARS = 150
_BULLET = re.compile(r"^\s*(?:[•·▢☐*\-–—✓✔◦▪■□●○]+)\s*")
_NUMBERING = re.compile(
    r"^\s*(?:step\s*)?\d{1,2}\s*(?:[.):\]]|[-–](?=\s+[^\W\d_]))\s*(?=\D)", re.IGNORECASE
)
_UNIT_SWITCH = re.compile(r"(?:\W*\b(?:us|metric|imperial|cups|grams))+\W*", re.IGNORECASE)
_SPACE_BEFORE_PUNCTUATION = re.compile(r"\s{1,9}([,.;)])")


def read_entries(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the entries of a list, or the rows of a table."""
    if node.tag == "table":
        texts = (spaced_text(row) for row in node.css("tr") if row.css("td"))
        return [text for text in texts if text]
    items = node.css("li,dd") or node.css("dt")
    if not items:
        items = node.css("p")  # a list without items contains paragraphs
    elif kind == "steps" and node.css_first(_RADIO_BUTTON) is not None:
        items = [item for item in items if item.css_first(_RADIO_BUTTON) is None]
    if kind == "steps":
        return _remove_common_ending(_read_steps(items[: 2 * MAX_ITEMS]))
    rows = [item for item in items[: 2 * MAX_ITEMS] if not _has_nested_items(item)]
    return _mark_title_rows(rows, _remove_common_ending([_row_text(item) for item in rows]))


def is_ingredients_list(element: LexborNode) -> bool:
    """Return True if the class or ID mentions ingredients, and at most half the lines are steps."""
    class_and_id = f"{element.attributes.get('class') or ''} {element.attributes.get('id') or ''}"
    if not _INGREDIENTS_CLASS.search(class_and_id):
        return False
    lines = block_lines(element)
    return 2 * sum(map(is_step, lines)) <= len(lines)


_INGREDIENTS_CLASS = re.compile(r"ingr[eé]d|zutat", re.IGNORECASE)
_RADIO_BUTTON = 'input[type="radio"]'
"""Radio buttons belong to ratings. Ingredients and steps have check boxes."""


def _mark_title_rows(nodes: list[LexborNode], rows: list[str]) -> list[str]:
    return mark_titles(rows, [is_title_element(node) for node in nodes])


def _read_steps(items: list[LexborNode]) -> list[str]:
    """Return the steps in these items, without the ingredients that some steps repeat."""
    entries: list[str] = []
    nested_ids: set[int] = set()
    numbers = find_separate_numbers(items)
    for item in items:
        if item.mem_id in nested_ids:
            continue
        has_nested_items = _has_nested_items(item)
        if has_nested_items:
            if not any(map(is_step, _lines_outside_nested_lists(item))):
                continue
            nested_ids.update(element.mem_id for element in item.css("li"))
        lines = step_lines(item)
        number = numbers.get(item.mem_id)
        if number and lines and lines[0].startswith(number):
            lines[:1] = [rest] if (rest := lines[0].removeprefix(number).strip()) else []
        are_separate = len(items) < _MIN_LIST_ITEMS or has_nested_items
        entries.extend(lines if are_separate else _join_lines(lines))
    return entries


_MIN_LIST_ITEMS = 2


def _join_lines(lines: list[str]) -> list[str]:
    """Join an item's lines into one step, unless they are numbered steps."""
    kept_lines = [line for line in _remove_repeats(lines) if clean_entry(line, "steps")]
    if any(map(is_step, kept_lines)):
        kept_lines = [
            line
            for line in kept_lines
            if line.endswith(_SENTENCE_ENDS) or not starts_with_measure(line)
        ]
    numbered_count = sum(LEADING_NUMBER.match(line) is not None for line in kept_lines)
    if len(kept_lines) < 2 or numbered_count > 1 or not any(map(is_step, kept_lines)):
        return kept_lines if len(kept_lines) == 1 else _remove_repeats(lines)
    sentences = [
        line if line.endswith(_CLOSING_PUNCTUATION) else f"{line}." for line in kept_lines[:-1]
    ]
    return [" ".join([*sentences, kept_lines[-1]])]


def _remove_repeats(lines: list[str]) -> list[str]:
    """Drop repeated lines, and a copy of all lines for another screen size."""
    half = len(lines) // 2
    if half and lines[:half] == lines[half:]:
        return lines[:half]
    return [line for line, previous in zip(lines, [None, *lines], strict=False) if line != previous]


_SENTENCE_ENDS = (".", "!")
_CLOSING_PUNCTUATION = tuple(".!?:;,–-…。！？：、)")


def _lines_outside_nested_lists(item: LexborNode) -> list[str]:
    nested_lines = Counter(
        line for nested_list in item.css("ul,ol") for line in block_lines(nested_list)
    )
    return _remove_lines(block_lines(item), nested_lines)


def step_lines(node: LexborNode) -> list[str]:
    """Return the lines of a step without added ingredients and tips."""
    lines = block_lines(node)
    asides = [element for element in node.css(_ASIDE_ELEMENTS) if _is_aside(element, node)]
    if not asides:
        return lines
    screen_reader_texts = [
        text
        for element in asides
        if _is_screen_reader_text(element)
        for text in block_lines(element)
    ]
    remaining_lines = _remove_lines(lines, Counter(chain.from_iterable(map(block_lines, asides))))
    return [_remove_prefix(line, screen_reader_texts) for line in remaining_lines]


def _remove_prefix(line: str, texts: list[str]) -> str:
    return next((line[len(text) :].lstrip() for text in texts if line.startswith(text)), line)


def numbered_steps(node: LexborNode) -> list[str]:
    """
    Return a step for each numbered block, after the block's heading as a title.

    The node is a numbered block or contains only such blocks. Otherwise, or if the numbers in it do
    not count up from 1, the result is empty.
    """
    return [line for block in numbered_blocks(node) for line in _numbered_step(block)]


def _numbered_step(block: LexborNode) -> list[str]:
    lines = step_lines(block)
    if lines and BARE_NUMBER.fullmatch(lines[0]):
        lines = lines[1:]
    heading = block.css_first("h2,h3,h4,h5,h6")
    title = normalize_space(heading.text()) if heading is not None else None
    if title and len(lines) > 1 and lines[0] == title:
        title_lines = [GroupTitle(title)] if len(title) <= MAX_TITLE_CHARS else []
        return [*title_lines, *_join_lines(lines[1:])]
    return _join_lines(lines)


_ASIDE_ELEMENTS = (
    '[class*="ingredient" i],[class*="tip" i],[class*="note" i],[class*="point" i],'
    '[class*="timer" i],[class*="equipment" i],[class*="caption" i],[class*="sr-only" i],'
    '[class*="screen-reader" i],[class*="visually-hidden" i],figcaption,form,button,ul,ol'
)
_ASIDE_CLASS = re.compile(
    r"(?:^|[-_ a-z])(?:ingredients?|tips?|notes?|point|timer|equipment|caption)(?:$|[-_ A-Z])",
)


def _is_aside(element: LexborNode, step: LexborNode) -> bool:
    if element.mem_id == step.mem_id:
        return False
    if element.tag in LISTS:
        lines = block_lines(element)
        return 2 * count_amounts(lines) > len(lines)
    if element.tag in {"figcaption", "form", "button"}:
        return True
    class_name = element.attributes.get("class") or ""
    if _SCREEN_READER_CLASS.search(class_name):
        return _is_screen_reader_text(element)
    return element.tag in BLOCKS and _ASIDE_CLASS.search(class_name) is not None


def _is_screen_reader_text(element: LexborNode) -> bool:
    """Return True for short text meant only for screen readers. Long text is the step itself."""
    class_name = element.attributes.get("class") or ""
    return (
        _SCREEN_READER_CLASS.search(class_name) is not None
        and len(element.text()) <= _MAX_SCREEN_READER_CHARS
    )


_SCREEN_READER_CLASS = re.compile("sr-only|screen-reader|visually-hidden", re.IGNORECASE)
_MAX_SCREEN_READER_CHARS = 30


def _remove_lines(lines: list[str], others: Counter[str]) -> list[str]:
    remaining_lines = []
    for line in lines:
        if others[line]:
            others[line] -= 1
        else:
            remaining_lines.append(line)
    return remaining_lines


def read_paragraphs(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the lines of an element that is not a list, or the lines of each short block in it."""
    if kind == "steps":
        return mark_titles(
            [line for line in _join_numbers(step_lines(node)) if len(line) > 2], node
        )
    if is_row(node):
        return [GroupTitle(row) if is_title_element(node) else row for row in [_row_text(node)]]
    children = [child for child in node.iter() if child.tag not in NOT_CONTENT]
    if len(children) == 1 and len(normalize_space(node.text(deep=False) or "")) < 2:
        return read_paragraphs(children[0], kind)
    if len(children) > 2 and all(map(is_row, children)):
        return [row for row in _mark_title_rows(children, list(map(_row_text, children))) if row]
    if _contains_rows(node, children):
        return [line for child in children for line in _read_title_or_paragraphs(child)]
    return mark_titles(block_lines(node), node)


def _join_numbers(lines: list[str]) -> list[str]:
    """Join a line that is only a number with the next: `6.`, `Cut the cake`."""
    joined_lines: list[str] = []
    number = ""
    for line in lines:
        if not number and BARE_NUMBER.fullmatch(line) and not line[-1:].isdigit():
            number = line
            continue
        joined_lines.append(f"{number} {line}".strip())
        number = ""
    return joined_lines


def _read_title_or_paragraphs(node: LexborNode) -> list[str]:
    if is_title_element(node):
        return [GroupTitle(text)] if (text := spaced_text(node)) else []
    return read_paragraphs(node, "ingredients")


def _contains_rows(node: LexborNode, children: list[LexborNode]) -> bool:
    if len(node.text()) > _MAX_CONTAINER_CHARS or any(
        child.tag not in BLOCKS and not is_title_element(child) for child in children
    ):
        return False
    if normalize_space(node.text(deep=False) or ""):
        return False
    return any(is_row(inner) for child in children for inner in islice(child.iter(), 1))


_MAX_CONTAINER_CHARS = 4_000


def clean_entry(entry: str, kind: SectionKind) -> str | None:
    """
    Return an entry without its bullet or number; None if it is not an entry.

    These are not entries: a unit switch, a link or button to edit, share, print or scale, a caption
    with a time or servings, and a number or letter alone.
    """
    text = _BULLET.sub("", entry).strip()
    if (text[:1] == "[" and text[-1:] == "]") or text[:1] == "<" or _UNIT_SWITCH.fullmatch(text):
        return None
    if is_fact(text) or (_may_be_control(text, kind) and CONTROL_LABEL.fullmatch(text)):
        return None
    if is_address(text):
        return None
    if kind == "steps":
        if NOT_A_STEP.search(text) or is_note_among_steps(text):
            return None
        text = STEP_NUMBER.sub("", _NUMBERING.sub("", text), count=1).strip()
    return text if len(text) > 1 and not text.rstrip(".):").isdigit() else None


def _may_be_control(text: str, kind: SectionKind) -> bool:
    if len(text) > MAX_CONTROL_CHARS:
        return False
    return kind == "ingredients" or _SHORT_STEP.fullmatch(text) is None


_SHORT_STEP = re.compile(
    r"(?:bake|cook|rest|chill|boil|fry|simmer|steam|roast|grill|microwave)\b[^:]{4,40}(?<!\bmin)(?<!\bmins)(?<!\bhr)[.!]",
    re.IGNORECASE,
)


def join_amounts(entries: list[str]) -> list[str]:
    """Join amounts and names from separate cells: `200 g`, `flour` becomes `200 g flour`."""
    are_amounts = [BARE_AMOUNT.fullmatch(entry) is not None for entry in entries]
    if 3 * sum(are_amounts) < len(are_amounts) or sum(are_amounts) < _MIN_AMOUNT_CELLS:
        return entries
    # The first cell decides whether amounts or names come first.
    first_index = next(index for index, entry in enumerate(entries) if not _is_caption(entry))
    joined_entries: list[str] = []
    amount = ""
    for entry, is_amount in zip(entries, are_amounts, strict=True):
        if isinstance(entry, GroupTitle):
            joined_entries.append(entry)
        elif is_amount and are_amounts[first_index]:
            amount = f"{amount} {entry}".strip()
        elif is_amount and joined_entries:
            joined_entries[-1] = f"{entry} {joined_entries[-1]}"
        else:
            joined_entries.append(f"{amount} {entry}".strip())
            amount = ""
    return joined_entries


_MIN_AMOUNT_CELLS = 2


def _is_caption(entry: str) -> bool:
    return CONTROL_LABEL.fullmatch(entry) is not None or entry[-1:] == ":"


def _has_nested_items(item: LexborNode) -> bool:
    """Return True if an item contains items. Unlike a CSS query, this stops at the first."""
    return any(element.tag == "li" and element.mem_id != item.mem_id for element in item.traverse())


def _row_text(node: LexborNode) -> str:
    return _SPACE_BEFORE_PUNCTUATION.sub(r"\1", spaced_text(node))


def _remove_common_ending(entries: list[str]) -> list[str]:
    """Remove the words with which all entries end, such as `add to shopping list`."""
    endings = {tuple(entry.lower().split()[-2:]) for entry in entries}
    if len(entries) < 3 or len(endings) > 1:
        return entries
    words_by_entry = [entry.split() for entry in entries]
    shared_count = 0
    while (
        shared_count < min(map(len, words_by_entry))
        and len({words[-1 - shared_count].lower() for words in words_by_entry}) == 1
    ):
        shared_count += 1
    return [" ".join(words[: len(words) - shared_count]) for words in words_by_entry]


def is_row(node: LexborNode) -> bool:
    """Return True for one of several similar short blocks without lists or line breaks."""
    if (node.tag or "") not in {"div", "li", "p", "tr", "label"} or node.css("br,p p,li li,tr tr"):
        return False
    parent = node.parent
    if parent is None or len(node.text()) > _MAX_ROW_CHARS:
        return False
    class_name = node.attributes.get("class")
    similar_count = 0
    for index, sibling in enumerate(parent.iter()):
        if index > MAX_SIBLINGS:
            break
        similar_count += sibling.tag == node.tag and sibling.attributes.get("class") == class_name
    return similar_count > 2
