"""
Find groups that may skip the level below them and pass lines directly to the level after it.

Otherwise, a link of a large host would be written once on each level of its tree of groups. When
all sixteen groups below a group are divided, writing lines to them is a waste of time, because each
would only collect the lines and pass them on. So the group above collects more lines itself, and
passes them to the 256 groups two levels below.

As in `entry_depths`, a line must not overtake an earlier change to its link, so lines skip a level
only while the groups on it are empty. All of a group's earlier lines are below it before its next
pass begins, and a compaction writes to groups below it only while it is empty. So if the groups
below are read after the lines of the group, they show every earlier change of these lines.
"""

from __future__ import annotations

from collections.abc import Collection

from zengraph.links._inlinks.group_rows import DIGITS, GroupHeader, ListGroup
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import CellTable

LAST_DIVIDED = DIGITS[-1]
"""The digit of the groups with the highest limit, which are the last ones to be divided."""


def divided_below(table: CellTable, keys: Collection[bytes]) -> set[bytes]:
    """
    Return the groups whose sixteen groups directly below are all divided.

    Reads only one header for nearly all groups, because few have begun to divide their last group.
    """
    last = table.get_many([key + LAST_DIVIDED for key in keys], [HEADER])
    likely = [key for key in keys if GroupHeader.of(last.get(key + LAST_DIVIDED, {})).divided]
    rows = table.get_many([key + digit for key in likely for digit in DIGITS], [HEADER])
    return {
        key
        for key in likely
        if all(GroupHeader.of(rows.get(key + digit, {})).divided for digit in DIGITS)
    }


def left_below(table: CellTable, keys: Collection[bytes]) -> dict[bytes, list[bytes]]:
    """
    Return, for each group, the keys of the groups directly below that still contain lines.

    Omits a group if a group below it is not divided. That happens only if the lower group's header
    was lost.
    """
    rows = table.get_many([key + digit for key in keys for digit in DIGITS])
    groups = {key: ListGroup(key, row) for key, row in rows.items()}
    below = {key: [groups.get(key + digit) for digit in DIGITS] for key in keys}
    return {
        key: [group.key for group in some if group and not group.is_passed_on]
        for key, some in below.items()
        if all(group and group.header.divided for group in some)
    }
