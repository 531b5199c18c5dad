"""
The rows of groups of posting lists: their keys, headers and deltas.

The key of a group's row is the hash of a group of names (4 bytes) and, for each division, one more
hexadecimal digit of the list ids in the group. A header cell is

    8 bytes   the number of the last delta of slot 0 that is included
    1 byte    bit 0: the group was divided; bit 1: there is more; bit 2: the group collects lines
    more      2 bytes length, then JSON: the last included delta of each source, the number
              of the last pass, and the pass in progress
    rest      a block of lists (`list_block`); empty for none
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

import orjson

from zengraph._naming import GROUP_BYTES
from zengraph.links._inlinks import list_block
from zengraph.links._inlinks.delta_names import (
    PASSED,
    Upto,
    deltas,
    last_of,
    not_included,
    of_names,
    to_names,
)
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import Row

FAN_OUT = 16
"""A group is divided into this many groups, one per hexadecimal digit."""
DIGITS = [b"%x" % digit for digit in range(FAN_OUT)]
MAX_DEPTH = 8
"""Maximum number of divisions; 16^8 groups are more than enough."""

COLLECTOR_DEPTH = 1
"""Groups after at least this many divisions may collect lines (`levels_below`)."""
_LARGE_DEPTH = 2
"""A group after this many divisions belongs to a host with at least 8,192 inlinks."""

# The limits of groups, relative to `group_lines` and `many_deltas`.
BUFFER_FACTOR = 2
_MANY_FACTOR = 4
_LEAF_FACTORS = [2 ** ((digit - 5) / 4) for digit in range(FAN_OUT)]
_COLLECTOR_FACTORS = [24 * 2 ** ((digit - 7.5) / 10) for digit in range(FAN_OUT)]
MIN_FAR_FACTOR = 8
"""A group with fewer lines skips no level, because the deltas would be too small."""
MAX_COLLECTED_DELTAS = 64
"""With more deltas, a collecting group gets the line limit of other groups, to keep reads fast."""

FILTER = b"l:f"
"""The filter of a group's deltas (`delta_filter`)."""

_NUMBER_BYTES = 8


def group_key(list_id: bytes, depth: int) -> bytes:
    """Return the key of a list's group after `depth` divisions."""
    return group_keys(list_id, [depth])[0]


def group_keys(list_id: bytes, depths: Iterable[int]) -> list[bytes]:
    """Return the keys of a list's groups after each of these numbers of divisions."""
    first, digits = list_id[:GROUP_BYTES], list_id[GROUP_BYTES:].hex().encode()
    return [first + digits[:depth] for depth in depths]


def is_group(key: bytes) -> bool:
    """Return True for a group's row, False for a long list's rows."""
    return len(key) <= GROUP_BYTES + MAX_DEPTH


def lists_below(
    key: bytes, lists: list_block.Lists, levels: int = 1
) -> Mapping[bytes, list_block.Lists]:
    """Divide a group's lists among the groups `levels` levels below it, and return them by key."""
    start = len(key) - GROUP_BYTES
    stop = start + levels
    parts: dict[str, dict[bytes, bytes]] = {}
    for local_id, text in lists.items():
        digits = local_id.hex()[start:stop]
        if digits in parts:
            parts[digits][local_id] = text
        else:
            parts[digits] = {local_id: text}
    return {key + digits.encode(): part for digits, part in parts.items()}


def max_lines(key: bytes, group_lines: int, header: GroupHeader) -> float:
    """
    Return the number of lines at which a group is divided or, if it is already divided, passes them
    on.

    Groups below the first divisions belong to a large host and grow at the same rate. With the same
    limit, all would be divided at about the same time, and that takes as long as adding the lines
    did. So the limit depends on the last digit: it is between 0.4 and 5.7 times `group_lines`.
    Buffers of large hosts are twice as large as others, so they pass on half as many deltas. The
    limits of collecting groups are 14 to 40 times `group_lines`, so each of the 256 groups two
    levels below gets about 32 lines. These limits differ as well, so that the groups do not all
    pass on their lines at the same time.
    """
    if header.collects:
        return group_lines * _COLLECTOR_FACTORS[int(key[-1:], FAN_OUT)]
    if len(key) < GROUP_BYTES + _LARGE_DEPTH:
        return group_lines
    if header.divided:
        return group_lines * BUFFER_FACTOR
    return group_lines * _LEAF_FACTORS[int(key[-1:], FAN_OUT)]


def large_delta(key: bytes, large_lines: int) -> int:
    """Return the delta size, in lines, above which a group's size is checked."""
    return large_lines * (BUFFER_FACTOR if len(key) >= GROUP_BYTES + _LARGE_DEPTH else 1)


def many_deltas(key: bytes, many: int) -> int:
    """
    Return the number of deltas at which an undivided group is merged.

    Groups of large hosts get large deltas. Each merge rewrites all of a group's lines, so these
    groups are merged less often.
    """
    return many * (_MANY_FACTOR if len(key) >= GROUP_BYTES + _LARGE_DEPTH else 1)


_NONE: Upto = {}
_DIVIDED, _MORE, _COLLECTS = 1, 2, 4


class Pass(NamedTuple):
    """A pass in progress: it moves all lines out of a group."""

    upto: Upto
    """The pass moves the lines of these deltas, of all earlier deltas, and of the block."""
    divided: bool
    """True if the pass divides the group."""
    inline_lines: int
    """Longer lists (in lines) get their own rows."""
    levels: int = 1
    """How many levels down the lines move; with 2, they skip a level."""


class GroupHeader(NamedTuple):
    upto: Upto = _NONE
    divided: bool = False
    block: bytes = b""
    passes: int = 0
    """The number of the last pass."""
    passing: Pass | None = None
    """The pass in progress, or None."""
    collects: bool = False
    """True if all groups directly below this one are divided. Then its lines can skip them."""

    def pack(self) -> bytes:
        more = b""
        if self.passes or self.upto.keys() - {0}:
            text = orjson.dumps((to_names(self.upto), self.passes, _packed(self.passing)))
            more = len(text).to_bytes(2) + text
        flags = _DIVIDED * self.divided | _MORE * bool(more) | _COLLECTS * self.collects
        number = self.upto.get(0, 0).to_bytes(_NUMBER_BYTES)
        return b"".join([number, bytes([flags]), more, self.block])

    @staticmethod
    def of(row: Row) -> GroupHeader:
        """Return the header in a row, or an empty one."""
        cell = row.get(HEADER)
        if cell is None:
            return GroupHeader()
        value = cell.value
        flags, start = value[_NUMBER_BYTES], _NUMBER_BYTES + 1
        if not flags & _MORE:
            number = int.from_bytes(value[:_NUMBER_BYTES])
            return GroupHeader({0: number}, bool(flags & _DIVIDED), value[start:])
        stop = start + 2 + int.from_bytes(value[start : start + 2])
        names, passes, now = orjson.loads(value[start + 2 : stop])
        return GroupHeader(
            of_names(names),
            bool(flags & _DIVIDED),
            value[stop:],
            passes,
            now and Pass(of_names(now[0]), *now[1:]),
            bool(flags & _COLLECTS),
        )


def _packed(now: Pass | None) -> tuple[object, ...] | None:
    """Encode a pass. `levels` is omitted if it is 1, because earlier versions knew only 1."""
    if now is None:
        return None
    parts = to_names(now.upto), now.divided, now.inline_lines
    return parts if now.levels == 1 else (*parts, now.levels)


class ListGroup:
    """
    A group as read from its row. Nothing is parsed before it is needed, because most groups that
    are read for a list do not contain the list.
    """

    def __init__(self, key: bytes, row: Row) -> None:
        self.key = key
        self.row = row

    @cached_property
    def header(self) -> GroupHeader:
        return GroupHeader.of(self.row)

    @cached_property
    def deltas(self) -> list[bytes]:
        return deltas(self.row)

    @cached_property
    def unmerged(self) -> list[bytes]:
        """The columns of deltas that are not in the header, sorted."""
        upto = self.header.upto
        return not_included(upto, self.deltas) if upto else self.deltas

    @property
    def merged(self) -> list[bytes]:
        """The columns that may be deleted: deltas that are in the header, and the filter."""
        unmerged = set(self.unmerged)
        merged = [column for column in self.deltas if column not in unmerged]
        return [*merged, FILTER] if merged and FILTER in self.row else merged

    @property
    def depth(self) -> int:
        """The number of divisions that led to this group."""
        return len(self.key) - GROUP_BYTES

    @property
    def source(self) -> int:
        """The source (see `delta_names`) of the deltas that the group passes on."""
        return PASSED + self.depth

    @property
    def blocks(self) -> list[bytes]:
        """All blocks of lists, from the header and unmerged deltas."""
        return [self.header.block, *(self.row[column].value for column in self.unmerged)]

    @property
    def passing_blocks(self) -> list[bytes]:
        """The blocks of lines that leave the group in the pass in progress."""
        passing = self.header.passing
        later = {*not_included(passing.upto, self.unmerged)} if passing else self.unmerged
        columns = [column for column in self.unmerged if column not in later]
        return [self.header.block, *(self.row[column].value for column in columns)]

    @property
    def lines(self) -> int:
        return list_block.lines_in(self.blocks)

    @property
    def is_passed_on(self) -> bool:
        """True if the group is divided and its lines are all in groups below."""
        header = self.header
        return header.divided and not (header.passing or header.block or self.unmerged)

    def received(self, source: int) -> int:
        """Return the number of the last delta received from a source."""
        return last_of(source, self.header.upto, self.deltas)

    def may_contain(self, list_id: bytes) -> bool:
        """Return False if none of the row's values contains the list's id."""
        local_id = list_id[GROUP_BYTES:]
        return any(local_id in value for value, _ in self.row.values())

    def of_list(self, list_id: bytes, moved: int = 0) -> bytes:
        """
        Return the joined lines of a list; empty if the group has none.

        Leaves out lines that have already moved to lower rows: in passes up to the number `moved`.
        """
        local_id = list_id[GROUP_BYTES:]
        blocks = self._left(moved)
        return b"\n".join([text for b in blocks if (text := list_block.find(b, local_id))])

    def _left(self, moved: int) -> list[bytes]:
        """Return the blocks of lines that the pass `moved` did not move."""
        header = self.header
        if moved <= header.passes - bool(header.passing):
            return self.blocks
        if moved == header.passes and header.passing:
            later = not_included(header.passing.upto, self.unmerged)
            return [self.row[column].value for column in later]
        return []  # the row was read before that pass began, and the pass moved all of it
