"""
The row of a group of posting lists: its key, header and deltas. Pure.

The key is the hash of the host (4 bytes) and, for each division, one more hexadecimal digit of the
list ids that belong to the group. A header cell is

    8 bytes   number of the last compaction whose delta is included
    1 byte    1 if the group was divided
    rest      a block of lists (`list_block`); empty for none
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from aragog.zen.adjacency.inlinks import list_block
from aragog.zen.adjacency.inlinks.list_header import HEADER
from aragog.zen.adjacency.inlinks.segments import DELTA, delta_column
from aragog.zen.tables import Row, newest_ms

HOST_BYTES = 4
"""Of a list id, and the length of the key of a host's first group."""
MAX_DEPTH = 8
"""Divisions; 16^8 groups of a thousand lines are more links than a host can have."""

_NUMBER_BYTES = 8


def group_key(list_id: bytes, depth: int) -> bytes:
    """The key of the group of a list after so many divisions."""
    return group_keys(list_id, [depth])[0]


def group_keys(list_id: bytes, depths: Iterable[int]) -> list[bytes]:
    """The keys of the groups of a list after so many divisions each."""
    host, digits = list_id[:HOST_BYTES], list_id[HOST_BYTES:].hex().encode()
    return [host + digits[:depth] for depth in depths]


def is_group(key: bytes) -> bool:
    """True for the row of a group, False for the rows of a long list."""
    return len(key) <= HOST_BYTES + MAX_DEPTH


def by_digit(key: bytes, lists: list_block.Lists) -> Mapping[bytes, list_block.Lists]:
    """The lists of a group by the keys of the groups below it."""
    depth = len(key) - HOST_BYTES
    result: dict[bytes, dict[bytes, bytes]] = {}
    for local_id, text in lists.items():
        result.setdefault(key + local_id.hex()[depth].encode(), {})[local_id] = text
    return result


class GroupHeader(NamedTuple):
    """The content of a header cell."""

    upto: int = 0
    divided: bool = False
    block: bytes = b""

    def pack(self) -> bytes:
        """The cell."""
        return self.upto.to_bytes(_NUMBER_BYTES) + bytes([self.divided]) + self.block

    @staticmethod
    def of(row: Row) -> GroupHeader:
        """The header in a row; an empty one if there is none."""
        cell = row.get(HEADER)
        if cell is None:
            return GroupHeader()
        value = cell.value
        number = int.from_bytes(value[:_NUMBER_BYTES])
        return GroupHeader(number, bool(value[_NUMBER_BYTES]), value[_NUMBER_BYTES + 1 :])


class ListGroup:
    """
    A group that was read.

    Attributes:
        header: its header.
        deltas: the columns of all deltas.
        unmerged: those that the header does not include, oldest first.
    """

    def __init__(self, key: bytes, row: Row) -> None:
        self.key = key
        self.row = row
        self.header = GroupHeader.of(row)
        self.deltas = sorted([column for column in row if column.startswith(DELTA)])
        last = delta_column(self.header.upto) if self.deltas else b""
        self.unmerged = [column for column in self.deltas if column > last]

    @property
    def depth(self) -> int:
        """The number of divisions that led to it."""
        return len(self.key) - HOST_BYTES

    @property
    def blocks(self) -> list[bytes]:
        """All blocks of lists, oldest first."""
        return [self.header.block, *(self.row[column].value for column in self.unmerged)]

    @property
    def lines(self) -> int:
        """The number of lines of all lists."""
        return sum(list_block.size(block).lines for block in self.blocks)

    def of_list(self, list_id: bytes) -> bytes:
        """The lines of a list, joined; empty if it has none."""
        local_id = list_id[HOST_BYTES:]
        return b"\n".join(
            [text for block in self.blocks if (text := list_block.find(block, local_id))]
        )

    def since(self, list_id: bytes) -> int | None:
        """The compaction from which on it has all lines of a list; None if it has none."""
        local_id = list_id[HOST_BYTES:]
        if list_block.find(self.header.block, local_id):
            return self.header.upto + 1
        columns = (c for c in self.unmerged if list_block.find(self.row[c].value, local_id))
        first = next(columns, None)
        return None if first is None else int(first[len(DELTA) :], 16)

    def at_ms(self, now_ms: int) -> int:
        """The timestamp of a new header: a faster clock may have written the present one."""
        return max(now_ms, newest_ms(self.row) if self.row else 0)
