"""
Find groups whose lines may skip the level below them.

Otherwise, a large host's links would be written on each level of its tree of groups. When all
sixteen groups below a group are divided, each of them would only collect lines and pass them on. So
the group above collects more lines itself, and passes them to the 256 groups two levels below.

As in `entry_depths`, a line must not overtake an earlier change to its link, so lines skip a level
only while the groups on it are empty. Before a group's next pass begins, all of its earlier lines
are in groups below it. A compaction writes to those groups only while the group is empty. So if the
groups below are read after the group's lines, they show every earlier change to these links.
"""

from __future__ import annotations

from collections.abc import Collection

from zengraph.links._inlinks.group_rows import DIGITS, GroupHeader, ListGroup
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import CellTable

LAST_DIVIDED = DIGITS[-1]
"""The digit of groups with the highest limit, which are divided last."""


def divided_below(table: CellTable, keys: Collection[bytes]) -> set[bytes]:
    """
    Return the groups whose sixteen groups directly below are all divided.

    For nearly all groups, reads only the header of the group below that is divided last.
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
    Return, for each group, the keys of groups directly below that still contain lines.

    Omits a group if one below it is not divided, which happens only if that group's header was
    lost.
    """
    rows = table.get_many_names([key + digit for key in keys for digit in DIGITS], HEADER)
    groups = {key: ListGroup(key, row) for key, row in rows.items()}
    below = {key: [groups.get(key + digit) for digit in DIGITS] for key in keys}
    return {
        key: [group.key for group in some if group and not group.is_passed_on]
        for key, some in below.items()
        if all(group and group.header.divided for group in some)
    }
