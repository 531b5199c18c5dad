"""
Find the groups that a compaction may have to merge, divide or pass on, without reading their lines.

A compaction checks a group after each large delta and after every eighth small one. Most checks
find nothing to do. The groups of a large host have dozens of deltas, so reading all of them at
each check took a third of the time that SQLite spent on lists. Now a check reads the header and the
names of the deltas, and assumes that every delta has as many lines as the newest one. Only if the
group might then be full, or has enough deltas to be merged, its lines are read and counted. So a
group whose newest delta is unusually small may become full a few deltas later than otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from zengraph._naming import GROUP_BYTES
from zengraph.links._inlinks import list_block
from zengraph.links._inlinks.delta_names import number_of
from zengraph.links._inlinks.group_rows import (
    COLLECTOR_DEPTH,
    MAX_COLLECTED_DELTAS,
    ListGroup,
    large_delta,
    many_deltas,
    max_lines,
)
from zengraph.links._inlinks.postings import HEADER
from zengraph.links._values import ListLimits
from zengraph.tables import CellTable

_MARGIN = 1.5
"""Lines are counted in groups that have more than 1 / 1.5 of their limit by the estimate."""


class NewDelta(NamedTuple):
    """A delta after which its group is checked."""

    lines: int
    number: int


def delta_to_check(key: bytes, name: int, block: bytes, limits: ListLimits) -> NewDelta | None:
    """
    Return a new delta if its group has to be checked: after a large delta and every eighth small
    one.
    """
    lines, number = list_block.lines_in([block]), number_of(name)
    is_large = lines > large_delta(key, limits.large_lines)
    is_regular = (key[-1] + number) % limits.many_deltas == 0
    return NewDelta(lines, number) if is_large or is_regular else None


Checks = dict[bytes, NewDelta | None]
"""Groups to check, by key. Without a delta, all of the group is read."""


def groups_to_check(table: CellTable, checks: Checks, limits: ListLimits) -> list[ListGroup]:
    """
    Read the groups, except for those that certainly need no change.

    Groups that were never divided are always read, because they have few deltas.
    """
    large = {key: delta for key in sorted(checks) if (delta := checks[key]) and _is_large(key)}
    doubtful = _doubtful(table, large, limits) if large else []
    # Some engines have read all values with the names.
    groups = [group for group in doubtful if all(cell.value for cell in group.row.values())]
    unread = ({*checks} - large.keys()) | {group.key for group in doubtful}
    unread -= {group.key for group in groups}
    rows = table.get_many(sorted(unread)) if unread else {}
    return groups + [ListGroup(key, row) for key, row in rows.items()]


def _doubtful(
    table: CellTable, checks: Mapping[bytes, NewDelta], limits: ListLimits
) -> list[ListGroup]:
    """Return the groups that may need a change; their deltas may be empty."""
    rows = table.get_many_names([*checks], HEADER)
    groups = [ListGroup(key, row) for key, row in rows.items()]
    return [group for group in groups if _may_change(group, checks[group.key], limits)]


def _is_large(key: bytes) -> bool:
    return len(key) >= GROUP_BYTES + COLLECTOR_DEPTH


def _may_change(group: ListGroup, delta: NewDelta, limits: ListLimits) -> bool:
    header, count = group.header, len(group.unmerged)
    if header.passing or not count:
        return True
    lines = list_block.lines_in([header.block]) + count * delta.lines
    if lines * _MARGIN > max_lines(group.key, limits.group_lines, header):
        return True
    if not header.divided:
        return count >= many_deltas(group.key, limits.many_deltas)
    return count >= MAX_COLLECTED_DELTAS or (
        header.collects and _needs_filter(group, delta, limits.many_deltas)
    )


def _needs_filter(group: ListGroup, delta: NewDelta, many: int) -> bool:
    """Return True if the filter of a collecting group may lack many deltas (`delta_filter`)."""
    turn = (group.key[-1] + delta.number) % max(1, many // 2)
    return len(group.unmerged) >= many and turn == 0
