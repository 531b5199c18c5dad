"""
Read the ingredients or steps in one element: a list, a table, similar rows, or paragraphs.

This module looks only inside the element; `section_walk` decides which elements belong to a
section.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, islice
from typing import Literal

from selectolax.lexbor import LexborNode

from richpins._plain_text import lines_of, parted_text
from richpins.document import normalize_space
from richpins.visible_text.facts import is_address, is_beside_steps, is_fact
from richpins.visible_text.group_titles import MAX_TITLE_CHARS, GroupTitle, is_called_title, titled
from richpins.visible_text.own_numbers import (
    BLOCKS,
    NUMBER_ALONE,
    numbered_blocks,
    own_numbers,
)
from richpins.visible_text.vocabulary import (
    IS_AMOUNT_ALONE,
    IS_CONTROL,
    IS_NO_STEP,
    MAX_CONTROL_CHARS,
    amounts,
    is_step,
    starts_measured,
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
COUNTED = re.compile(
    r"\A\s{0,9}+(?:(?:step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг)\s{0,9}+(\d{1,2})"
    r"\W{0,3}|(\d{1,2})\s?(?:[.):、]|[-–](?=\s))\s{0,9}+)(?=[^\W\d_])",
    re.IGNORECASE,
)
"""The number before the text of a step."""
_MAX_ROW_CHARS = 150
_BULLET = re.compile(r"^\s*(?:[•·▢☐*\-–—✓✔◦▪■□●○]+)\s*")
_NUMBERING = re.compile(
    r"^\s*(?:step\s*)?\d{1,2}\s*(?:[.):\]]|[-–](?=\s+[^\W\d_]))\s*(?=\D)", re.IGNORECASE
)
_UNIT_SWITCH = re.compile(r"(?:\W*\b(?:us|metric|imperial|cups|grams))+\W*", re.IGNORECASE)
_SPACE_BEFORE_MARK = re.compile(r"\s{1,9}([,.;)])")


def entries_of(node: LexborNode, kind: SectionKind) -> list[str]:
    """Return the entries of a list or a table's rows."""
    if node.tag == "table":
        texts = (parted_text(row) for row in node.css("tr") if row.css("td"))
        return [text for text in texts if text]
    items = node.css("li,dd") or node.css("dt")
    if not items:
        items = node.css("p")  # a list without items contains paragraphs
    elif kind == "steps" and node.css_first(_CHOICE) is not None:
        items = [item for item in items if item.css_first(_CHOICE) is None]
    if kind == "steps":
        return _without_common_end(_steps_in(items[: 2 * MAX_ITEMS]))
    rows = [item for item in items[: 2 * MAX_ITEMS] if not _holds_items(item)]
    return _titled_rows(rows, _without_common_end([_row(item) for item in rows]))


def are_called_ingredients(element: LexborNode) -> bool:
    """Return True for a list next to steps if its class names ingredients and it has no steps."""
    named = f"{element.attributes.get('class') or ''} {element.attributes.get('id') or ''}"
    if not _CALLED_INGREDIENTS.search(named):
        return False
    lines = lines_of(element)
    return 2 * sum(map(is_step, lines)) <= len(lines)


_CALLED_INGREDIENTS = re.compile(r"ingr[eé]d|zutat", re.IGNORECASE)
_CHOICE = 'input[type="radio"]'
"""Radio buttons belong to answers such as ratings. Ingredients and steps have check boxes."""


def _titled_rows(nodes: list[LexborNode], rows: list[str]) -> list[str]:
    """Mark the rows whose element makes them titles. Mark none if most rows would be titles."""
    return titled(rows, [is_called_title(node) for node in nodes])


def _steps_in(items: list[LexborNode]) -> list[str]:
    """Return the steps in these items, without the ingredient lists that some steps repeat."""
    entries: list[str] = []
    inner: set[int] = set()
    numbers = own_numbers(items)
    for item in items:
        if item.mem_id in inner:
            continue
        holds_items = _holds_items(item)
        if holds_items:
            if not any(map(is_step, _own_lines(item))):
                continue
            inner.update(element.mem_id for element in item.css("li"))
        shown = step_lines(item)
        number = numbers.get(item.mem_id)
        if number and shown and shown[0].startswith(number):
            shown[:1] = [rest] if (rest := shown[0].removeprefix(number).strip()) else []
        entries.extend(shown if len(items) < _MIN_ITEMS or holds_items else _as_one(shown))
    return entries


_MIN_ITEMS = 2


def _as_one(shown: list[str]) -> list[str]:
    """Join an item's lines into one step, unless the lines are numbered steps."""
    kept = [line for line in _each_once(shown) if cleaned(line, "steps")]
    if any(map(is_step, kept)):
        kept = [line for line in kept if line.endswith(_SENTENCE_ENDS) or not starts_measured(line)]
    counted = sum(COUNTED.match(line) is not None for line in kept)
    if len(kept) < 2 or counted > 1 or not any(map(is_step, kept)):
        return kept if len(kept) == 1 else _each_once(shown)
    ended = [line if line.endswith(_ENDS_OF_LINES) else f"{line}." for line in kept[:-1]]
    return [" ".join([*ended, kept[-1]])]


def _each_once(lines: list[str]) -> list[str]:
    """Drop lines repeated for another screen size: each after itself, or as a second full list."""
    half = len(lines) // 2
    if half and lines[:half] == lines[half:]:
        return lines[:half]
    return [line for line, before in zip(lines, [None, *lines], strict=False) if line != before]


_SENTENCE_ENDS = (".", "!")
_ENDS_OF_LINES = tuple(".!?:;,–-…。！？：、)")


def _own_lines(item: LexborNode) -> list[str]:
    nested = Counter(line for each in item.css("ul,ol") for line in lines_of(each))
    return _left_of(lines_of(item), nested)


def step_lines(node: LexborNode) -> list[str]:
    """Return the lines of a step, without ingredients and tips that some pages add to it."""
    lines = lines_of(node)
    beside = [each for each in node.css(_BESIDE) if _is_beside(each, node)]
    if not beside:
        return lines
    unseen = [text for each in beside if _is_unseen(each) for text in lines_of(each)]
    left = _left_of(lines, Counter(chain.from_iterable(map(lines_of, beside))))
    return [_without_prefixes(line, unseen) for line in left] if unseen else left


def _without_prefixes(line: str, texts: list[str]) -> str:
    return next((line[len(text) :].lstrip() for text in texts if line.startswith(text)), line)


def numbered_steps(node: LexborNode) -> list[str]:
    """
    Return one step for each block with its own number, with its heading as a title.

    The node is such a block, or contains only such blocks. The result is empty if the numbers are
    not 1, 2, 3 in order.
    """
    return [line for block in numbered_blocks(node) for line in _numbered_step(block)]


def _numbered_step(block: LexborNode) -> list[str]:
    lines = step_lines(block)
    if lines and NUMBER_ALONE.fullmatch(lines[0]):
        lines = lines[1:]
    heading = block.css_first("h2,h3,h4,h5,h6")
    title = normalize_space(heading.text()) if heading is not None else None
    if title and len(lines) > 1 and lines[0] == title:
        named = [GroupTitle(title)] if len(title) <= MAX_TITLE_CHARS else []
        return [*named, *_as_one(lines[1:])]
    return _as_one(lines)


_BESIDE = (
    '[class*="ingredient" i],[class*="tip" i],[class*="note" i],[class*="point" i],'
    '[class*="timer" i],[class*="equipment" i],[class*="caption" i],[class*="sr-only" i],'
    '[class*="screen-reader" i],[class*="visually-hidden" i],figcaption,form,button,ul,ol'
)
_BESIDE_CLASS = re.compile(
    r"(?:^|[-_ a-z])(?:ingredients?|tips?|notes?|point|timer|equipment|caption)(?:$|[-_ A-Z])",
)


def _is_beside(element: LexborNode, step: LexborNode) -> bool:
    """Return True for a list of amounts, or a block whose class shows that it is not a step."""
    if element.mem_id == step.mem_id:
        return False
    if element.tag in LISTS:
        lines = lines_of(element)
        return 2 * amounts(lines) > len(lines)
    if element.tag in {"figcaption", "form", "button"}:
        return True
    named = element.attributes.get("class") or ""
    if _UNSEEN.search(named):
        return _is_unseen(element)
    return element.tag in BLOCKS and _BESIDE_CLASS.search(named) is not None


def _is_unseen(element: LexborNode) -> bool:
    """Return True for short text that only screen readers show. Long text is the step itself."""
    named = element.attributes.get("class") or ""
    return _UNSEEN.search(named) is not None and len(element.text()) <= _MAX_UNSEEN_CHARS


_UNSEEN = re.compile("sr-only|screen-reader|visually-hidden", re.IGNORECASE)
_MAX_UNSEEN_CHARS = 30


def _left_of(lines: list[str], others: Counter[str]) -> list[str]:
    """Return `lines` without `others`. Each line is removed as often as it occurs in `others`."""
    left = []
    for line in lines:
        if others[line]:
            others[line] -= 1
        else:
            left.append(line)
    return left


def paragraphs_of(node: LexborNode, kind: SectionKind) -> list[str]:
    """
    Return the lines of an element that is not a list. If it has several similar short blocks, each
    block is one line.
    """
    if kind == "steps":
        return titled([line for line in _with_numbers(step_lines(node)) if len(line) > 2], node)
    if is_row(node):
        return [GroupTitle(row) if is_called_title(node) else row for row in [_row(node)]]
    children = [child for child in node.iter() if child.tag not in NOT_CONTENT]
    if len(children) == 1 and len(normalize_space(node.text(deep=False) or "")) < 2:
        return paragraphs_of(children[0], kind)
    if len(children) > 2 and all(map(is_row, children)):
        return [row for row in _titled_rows(children, list(map(_row, children))) if row]
    if _holds_rows(node, children):
        return [line for child in children for line in _named_or_rows(child)]
    return titled(lines_of(node), node)


def _with_numbers(lines: list[str]) -> list[str]:
    """Join a line that is only a number with the next line: `6.`, `Cut the cake`."""
    joined: list[str] = []
    number = ""
    for line in lines:
        if not number and NUMBER_ALONE.fullmatch(line) and not line[-1:].isdigit():
            number = line
            continue
        joined.append(f"{number} {line}".strip())
        number = ""
    return joined


def _named_or_rows(node: LexborNode) -> list[str]:
    if is_called_title(node):
        return [GroupTitle(text)] if (text := parted_text(node)) else []
    return paragraphs_of(node, "ingredients")


def _holds_rows(node: LexborNode, children: list[LexborNode]) -> bool:
    """Return True for an element that contains only blocks, some of them with similar rows."""
    if len(node.text()) > _MAX_ROWS_CHARS or any(
        child.tag not in BLOCKS and not is_called_title(child) for child in children
    ):
        return False
    if normalize_space(node.text(deep=False) or ""):
        return False
    return any(is_row(inner) for child in children for inner in islice(child.iter(), 1))


_MAX_ROWS_CHARS = 4_000


def cleaned(entry: str, kind: SectionKind) -> str | None:
    """
    Return an entry without its bullet or number, or None if it is not an entry.

    These are not entries: a unit switch, a link or button to edit, share, print or scale, a caption
    with a time or servings, and a number or letter alone.
    """
    text = _BULLET.sub("", entry).strip()
    if (text[:1] == "[" and text[-1:] == "]") or text[:1] == "<" or _UNIT_SWITCH.fullmatch(text):
        return None
    if is_fact(text) or (_may_be_control(text, kind) and IS_CONTROL.fullmatch(text)):
        return None
    if is_address(text):
        return None
    if kind == "steps":
        if IS_NO_STEP.search(text) or is_beside_steps(text):
            return None
        text = STEP_NUMBER.sub("", _NUMBERING.sub("", text), count=1).strip()
    return text if len(text) > 1 and not text.rstrip(".):").isdigit() else None


def _may_be_control(text: str, kind: SectionKind) -> bool:
    """Return False for a long text, and for a step such as `Bake 20 minutes.`"""
    if len(text) > MAX_CONTROL_CHARS:
        return False
    return kind == "ingredients" or _SHORT_STEP.fullmatch(text) is None


_SHORT_STEP = re.compile(
    r"(?:bake|cook|rest|chill|boil|fry|simmer|steam|roast|grill|microwave)\b[^:]{4,40}(?<!\bmin)(?<!\bmins)(?<!\bhr)[.!]",
    re.IGNORECASE,
)


def with_amounts(entries: list[str]) -> list[str]:
    """
    Join amounts and names in separate cells: `200 g`, `flour` becomes `200 g flour`.

    The first cell decides whether amounts come before or after their names.
    """
    bare = [IS_AMOUNT_ALONE.fullmatch(entry) is not None for entry in entries]
    if 3 * sum(bare) < len(bare) or sum(bare) < _MIN_CELLS:
        return entries
    first = next(n for n, entry in enumerate(entries) if not _is_caption(entry))
    joined: list[str] = []
    amount = ""
    for entry, is_amount in zip(entries, bare, strict=True):
        if isinstance(entry, GroupTitle):
            joined.append(entry)
        elif is_amount and bare[first]:
            amount = f"{amount} {entry}".strip()
        elif is_amount and joined:
            joined[-1] = f"{entry} {joined[-1]}"
        else:
            joined.append(f"{amount} {entry}".strip())
            amount = ""
    return joined


_MIN_CELLS = 2


def _is_caption(entry: str) -> bool:
    return IS_CONTROL.fullmatch(entry) is not None or entry[-1:] == ":"


def _holds_items(item: LexborNode) -> bool:
    """Return True if an item contains items. Stops at the first one, unlike a CSS query."""
    return any(element.tag == "li" and element.mem_id != item.mem_id for element in item.traverse())


def _row(node: LexborNode) -> str:
    return _SPACE_BEFORE_MARK.sub(r"\1", parted_text(node))


def _without_common_end(entries: list[str]) -> list[str]:
    """Remove an ending that all entries have, such as `add to shopping list`."""
    ends = {tuple(entry.lower().split()[-2:]) for entry in entries}
    if len(entries) < 3 or len(ends) > 1:
        return entries
    words = [entry.split() for entry in entries]
    same = 0
    while same < min(map(len, words)) and len({word[-1 - same].lower() for word in words}) == 1:
        same += 1
    return [" ".join(word[: len(word) - same]) for word in words]


def is_row(node: LexborNode) -> bool:
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
