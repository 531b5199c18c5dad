"""Find step numbers 1, 2, 3 that are in separate elements: `<b>1</b> Boil the milk.`"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

BLOCKS = frozenset({"div", "p", "section", "aside", "dl", "figure"})


def own_numbers(items: list[LexborNode]) -> dict[int, str]:
    """Return the numbers that are in separate elements; empty unless they are 1, 2, 3 in order."""
    found = {item.mem_id: number for item in items if (number := _own_number(item))}
    counted = list(map(_value_of, found.values()))
    return found if counted == list(range(1, len(counted) + 1)) else {}


def _blocks_in(node: LexborNode) -> list[LexborNode]:
    """Return the blocks in an element if they have the numbers 1, 2, 3; else an empty list."""
    blocks = [node]
    for _ in range(_MAX_LEVELS):
        if len(blocks) != 1:
            break
        blocks = [each for each in blocks[0].iter() if each.text(strip=True)]
    is_row = len(blocks) > 1 and all(block.tag in BLOCKS for block in blocks)
    return blocks if is_row and len(own_numbers(blocks)) == len(blocks) else []


def _counts_on(node: LexborNode) -> bool:
    """Return True for a numbered block with a neighbor that has the previous or next number."""
    number = _own_number(node) if node.tag in BLOCKS else None
    if number is None:
        return False
    found = _value_of(number)
    return _has_near(node, "prev", found - 1) or _has_near(node, "next", found + 1)


def _has_near(node: LexborNode, direction: str, wanted: int) -> bool:
    """Return True if a block near the node has this number. A picture may be in between."""
    at, left = getattr(node, direction), _MAX_BESIDE
    while at is not None and left:
        if at.tag in BLOCKS and at.text(strip=True):
            number = _own_number(at)
            if number is not None:
                return _value_of(number) == wanted
            left -= 1
        at = getattr(at, direction)
    return False


_MAX_BESIDE = 2


def _value_of(number: str) -> int:
    return int(number.rstrip(".):"))


def _own_number(node: LexborNode) -> str | None:
    """Return the number of a step, if its first element contains only that: `<b>1</b> Boil.`"""
    at = node
    for _ in range(_MAX_LEVELS):
        first = next((c for c in at.iter(include_text=True) if (c.text() or "").strip()), None)
        if first is None or first.tag == "-text":
            return None
        text = first.text().strip()
        if NUMBER_ALONE.fullmatch(text):
            return text
        at = first
    return None


_MAX_LEVELS = 4
NUMBER_ALONE = re.compile(r"0?[1-9]\d?[.):]?")


def numbered_blocks(node: LexborNode) -> list[LexborNode]:
    """Return the node if it is one of several numbered blocks, else the numbered blocks in it."""
    return [node] if _counts_on(node) else _blocks_in(node)
