"""
The depth at which a compaction writes to a large group of lists.

If a compaction always wrote to the first level, each level of the group's tree would write the
lines of a large batch only to pass them on at once. So the lines go directly to the deepest level
at which each group receives `delta_lines` of them on average.

A line must not overtake an earlier change to its link. So a compaction skips a level only if all
groups on it and above it are divided and contain no lines. A source's changes are always compacted
one after the other (`_journal_keys`), so lines that other processes add to these groups in the
meantime belong to other links. The depths are stored in the plan, so that whoever executes it again
writes the same deltas to the same groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from zengraph.links._inlinks import list_block
from zengraph.links._inlinks.group_rows import DIGITS, FAN_OUT, MAX_DEPTH, ListGroup
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import CellTable

ByGroup = Mapping[bytes, list_block.Lists]
"""Lists by their first group's key, and then by the last 12 bytes of their ids."""

_LINE_BYTES = 16
"""All lines are longer than this, because they contain 13 digits and four tabs."""


def large_groups(groups: ByGroup, delta_lines: int) -> dict[bytes, int]:
    """
    Return the largest depth for each group with enough lines, by the group's key. Reads nothing, so
    every process finds the same groups. Later versions must find the same groups, too, because they
    may execute a plan without depths that an earlier version began.
    """
    deepest = {}
    for key, lists in groups.items():
        if sum(map(len, lists.values())) < _LINE_BYTES * delta_lines * FAN_OUT:
            continue  # nearly all groups
        lines, depth = sum([text.count(b"\n") for text in lists.values()]) + len(lists), 0
        while depth < MAX_DEPTH and lines >= delta_lines * FAN_OUT ** (depth + 1):
            depth += 1
        if depth:
            deepest[key] = depth
    return deepest


def entry_depths(table: CellTable, deepest: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the depth at which to write to each group now. Takes a multi-get per level."""
    depths = dict.fromkeys(deepest, 0)
    open_groups = dict(deepest)
    for depth in range(max(deepest.values(), default=0)):
        keys = {group: _level(group, depth) for group in open_groups}
        rows = table.get_many_names([key for level in keys.values() for key in level], HEADER)
        for group, level in keys.items():
            passable = all(key in rows and ListGroup(key, rows[key]).is_passed_on for key in level)
            if passable:
                depths[group] = depth + 1
            if not passable or depth + 1 == deepest[group]:
                del open_groups[group]
    return depths


def _level(group: bytes, depth: int) -> list[bytes]:
    """Return the keys of all groups on a level."""
    return [group + b"".join(digits) for digits in product(DIGITS, repeat=depth)]
