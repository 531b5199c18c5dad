"""Find step numbers that are in separate elements: `<b>1</b> Boil the milk.`"""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

BLOCKS = frozenset({"div", "p", "section", "aside", "dl", "figure"})


def find_separate_numbers(items: list[LexborNode]) -> dict[int, str]:
    """Map each numbered item's `mem_id` to its number; empty unless the numbers are 1, 2, 3, …"""
    numbers_by_id = {
        item.mem_id: number for item in items if (number := _find_separate_number(item))
    }
    values = list(map(_parse_number, numbers_by_id.values()))
    return numbers_by_id if values == list(range(1, len(values) + 1)) else {}


def _numbered_children(node: LexborNode) -> list[LexborNode]:
    blocks = [node]
    for _ in range(_MAX_LEVELS):
        if len(blocks) != 1:
            break
        blocks = [child for child in blocks[0].iter() if child.text(strip=True)]
    are_all_blocks = len(blocks) > 1 and all(block.tag in BLOCKS for block in blocks)
    return blocks if are_all_blocks and len(find_separate_numbers(blocks)) == len(blocks) else []


def _continues_numbering(node: LexborNode) -> bool:
    number = _find_separate_number(node) if node.tag in BLOCKS else None
    if number is None:
        return False
    value = _parse_number(number)
    return _has_numbered_neighbor(node, "prev", value - 1) or _has_numbered_neighbor(
        node, "next", value + 1
    )


def _has_numbered_neighbor(node: LexborNode, direction: str, value: int) -> bool:
    """Return True if a nearby block has this number. A picture may be in between."""
    sibling, blocks_left = getattr(node, direction), _MAX_NEIGHBORS
    while sibling is not None and blocks_left:
        if sibling.tag in BLOCKS and sibling.text(strip=True):
            number = _find_separate_number(sibling)
            if number is not None:
                return _parse_number(number) == value
            blocks_left -= 1
        sibling = getattr(sibling, direction)
    return False


_MAX_NEIGHBORS = 2


def _parse_number(number: str) -> int:
    return int(number.rstrip(".):"))


def _find_separate_number(node: LexborNode) -> str | None:
    """Return a step's number if the first element in it is only a number: `<b>1</b> Boil.`"""
    element = node
    for _ in range(_MAX_LEVELS):
        first_child = next(
            (child for child in element.iter(include_text=True) if (child.text() or "").strip()),
            None,
        )
        if first_child is None or first_child.tag == "-text":
            return None
        text = first_child.text().strip()
        if BARE_NUMBER.fullmatch(text):
            return text
        element = first_child
    return None


_MAX_LEVELS = 4
BARE_NUMBER = re.compile(r"0?[1-9]\d?[.):]?")


def numbered_blocks(node: LexborNode) -> list[LexborNode]:
    """Return the node if it is one of several numbered blocks, else the numbered blocks in it."""
    return [node] if _continues_numbering(node) else _numbered_children(node)
