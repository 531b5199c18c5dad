"""
Groups of posting lists: the short lists of a host, many to a row.

Most lists are short, and most links stay on their site. With a row for each list, nearly every link
would write a row of its own. A group is one row with all lists whose ids begin with its key: at
first all lists of a host. It has a delta for each compaction and a header with the merged lists.

When a group exceeds `group_lines`, it is divided into sixteen groups, by the next hexadecimal
digit of the list ids. From then on it is a buffer: when it has that many lines again, it passes
them on to the sixteen (a buffer tree, Arge 1995). So a link is written once for each level, always
in large values, and all groups stay small. A list longer than `inline_lines` leaves its group and
gets rows of its own (`Segments`). The lines of one list are therefore oldest in its own rows, then
in the deepest group, and newest in the group of the host.

The key of a group's row is the hash of the host (4 bytes) and, for each division, one more
hexadecimal digit of the list ids that belong to the group. A header cell is

    8 bytes   number of the last compaction whose delta is included
    1 byte    1 if the group was divided
    rest      a block of lists (`list_block`); empty for none
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from aragog.zen.codec import ID_BYTES
from aragog.zen.inlinks import list_block, postings
from aragog.zen.inlinks.postings import HEADER
from aragog.zen.inlinks.segments import DELTA, Traces, delta_column
from aragog.zen.link_records import ListLimits
from aragog.zen.node_ids import list_id
from aragog.zen.tables import Row, Tables, newest_ms

HOST_BYTES = 4
"""The bytes of a list id that name the host; also the length of the key of a host's first group."""
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


_PUT_ROWS = 4096
_AFTER_SCHEME = len("https://")


@dataclass
class _Change:
    """A group as it will be, and the lines that leave it."""

    group: ListGroup
    header: GroupHeader
    passed_on: Mapping[bytes, list_block.Lists] = field(default_factory=dict)
    """The lists that move to another group, by its key."""
    long: dict[bytes, postings.Delta] = field(default_factory=dict)
    """Lists that are too long for the group, by list id."""
    removed: list[tuple[bytes, bytes]] = field(default_factory=list)
    """(page, list id) of each link that is in none of its lists any more."""


class Groups:
    """The groups in table `l`. One process at a time may write them."""

    def __init__(self, tables: Tables, limits: ListLimits) -> None:
        self._table = tables["l"]
        self._limits = limits
        self._traces = Traces(tables)

    def add(self, links: postings.LinkChanges) -> set[bytes]:
        """
        Add the links of one compaction; returns the ids of the lists that got a delta of their own.

        After it, an undivided group has nothing of the pages that removed a link, and `Traces` has
        a record of those in a divided one. After a crash, a repeated call with the same links
        completes it.
        """
        number, now_ms, lines, removals = links
        of_hosts = by_host(lines)
        touched = {list_id[:HOST_BYTES] for list_id in removals}
        look = {*self._put_deltas(of_hosts, number, now_ms), *touched}
        all_long: set[bytes] = set()
        while look:
            groups = self._groups(look)
            self._note_traces(groups, removals, now_ms)
            changes = [change for g in groups if (change := self._change(g, now=g.key in touched))]
            look, long = self._apply(changes, number, now_ms)
            look |= _interrupted(groups, number)
            all_long |= long
        return all_long

    def rewrite(self, list_ids: Collection[bytes], number: int, now_ms: int) -> set[bytes]:
        """
        Merge these lists in their deepest groups, so that no removed link is left in any group.

        Returns as `add` does. `number` must be one that no compaction has used; repeated after a
        crash, it must be the same one.
        """
        long: set[bytes] = set()
        for depth in range(MAX_DEPTH + 1):
            groups = self._groups({group_key(list_id, depth) for list_id in list_ids})
            changes = [change for g in groups if (change := self._change(g, now=True, down=True))]
            long |= self._apply(changes, number, now_ms)[1]
        return long

    def repair(self, key: bytes, now_ms: int) -> bool:
        """Mark a group as divided because deeper groups exist; False: it is marked."""
        row = self._table.get(key)
        group = ListGroup(key, row)
        if group.header.divided:
            return False
        header = group.header._replace(divided=True)
        self._table.put(key, {HEADER: header.pack()}, at_ms=group.at_ms(now_ms))
        return True

    def _groups(self, keys: Iterable[bytes]) -> list[ListGroup]:
        return [ListGroup(key, row) for key, row in self._table.get_many(sorted(keys)).items()]

    def _put_deltas(
        self, groups: Mapping[bytes, list_block.Lists], number: int, now_ms: int
    ) -> set[bytes]:
        """
        Write a delta to each group; returns the keys of those to look at.

        To look at a group costs as much as to write it, so only large deltas cause it, and every
        eighth of the small ones.
        """
        column, every = delta_column(number), self._limits.many_deltas
        look, puts = set[bytes](), []
        for key in sorted(groups):
            block = list_block.pack(groups[key])
            puts.append((key, {column: block}, now_ms))
            large = list_block.size(block).lines > self._limits.large_lines
            if large or (key[-1] + number) % every == 0:
                look.add(key)
        for at in range(0, len(puts), _PUT_ROWS):
            self._table.put_many(puts[at : at + _PUT_ROWS])
        return look

    def _change(self, group: ListGroup, *, now: bool = False, down: bool = False) -> _Change | None:
        """
        The change that a group needs; None if it needs none.

        `now`: merge it, `down`: let it pass its lines on, however few there are.
        """
        limits = self._limits
        if not group.unmerged:
            return _Change(group, group.header) if group.deltas else None
        full = group.lines > limits.group_lines
        if group.header.divided:
            return self._pass_on(group) if full or down else None
        many = len(group.unmerged) >= limits.many_deltas
        return self._merge(group) if full or many or now else None

    def _pass_on(self, group: ListGroup) -> _Change:
        """Pass all lines on to the groups below."""
        lists = list_block.joined(group.blocks)
        return _Change(group, GroupHeader(divided=True), by_digit(group.key, lists))

    def _merge(self, group: ListGroup) -> _Change:
        """Merge the deltas; long lists leave the group, and it is divided if it is still full."""
        change, lines = _Change(group, GroupHeader()), 0
        texts: dict[bytes, bytes] = {}
        for local_id, text in list_block.joined(group.blocks).items():
            list_id = group.key[:HOST_BYTES] + local_id
            settled = postings.settled(text)
            if settled.net != settled.present or settled.present > self._limits.inline_lines:
                change.long[list_id] = postings.Delta(settled.net, settled.text.split(b"\n"))
            else:
                change.removed += [(source, list_id) for source in settled.removed]
                lines += settled.present
                if settled.present:
                    texts[local_id] = settled.text
        if lines > self._limits.group_lines and group.depth < MAX_DEPTH:
            change.header, change.passed_on = GroupHeader(divided=True), by_digit(group.key, texts)
        else:
            change.header = GroupHeader(block=list_block.pack(texts))
        return change

    def _apply(
        self, changes: Sequence[_Change], number: int, now_ms: int
    ) -> tuple[set[bytes], set[bytes]]:
        """
        Write changes: first what leaves a group, then its header, so that a crash loses nothing.

        Returns the keys of the groups below to look at, and the ids of the long lists.
        """
        passed_on = {key: lists for change in changes for key, lists in change.passed_on.items()}
        look = self._put_deltas(passed_on, number, now_ms)
        long = {list_id: delta for change in changes for list_id, delta in change.long.items()}
        column = delta_column(number)
        self._table.put_many(
            [(list_id, {column: postings.pack(*delta)}, now_ms) for list_id, delta in long.items()]
        )
        self._table.put_many(
            [
                (
                    change.group.key,
                    {HEADER: change.header._replace(upto=number).pack()},
                    change.group.at_ms(now_ms),
                )
                for change in changes
            ]
        )
        self._table.delete_many(
            [
                (change.group.key, change.group.deltas, newest_ms(change.group.row))
                for change in changes
                if change.group.deltas
            ]
        )
        self._forget_traces([pair for change in changes for pair in change.removed], now_ms)
        return look, set(long)

    def _note_traces(
        self, groups: Sequence[ListGroup], removals: Mapping[bytes, Sequence[bytes]], now_ms: int
    ) -> None:
        """Note which lists keep a removed link because the groups below still have it."""
        divided = {group.key for group in groups if group.header.divided}
        self._traces.note(
            [
                (source, list_id)
                for list_id, sources in removals.items()
                if list_id[:HOST_BYTES] in divided
                for source in sources
            ],
            now_ms,
        )

    def _forget_traces(self, removed: Sequence[tuple[bytes, bytes]], now_ms: int) -> None:
        """Delete traces of links that no group has, unless the list's own rows may have them."""
        long = self._table.get_many([list_id for _, list_id in removed]) if removed else {}
        self._traces.forget([pair for pair in removed if pair[1] not in long], now_ms)


def _interrupted(groups: Sequence[ListGroup], number: int) -> set[bytes]:
    """The groups below those that have passed their lines on already: in a run that was killed."""
    done = [group.key for group in groups if group.header.divided and group.header.upto == number]
    return {key + b"%x" % digit for key in done for digit in range(16)}


def by_host(lines: Mapping[bytes, bytes]) -> Mapping[bytes, list_block.Lists]:
    """Joined lines by target URL as lists by the keys of the hosts' groups; 0.8 µs a target."""
    of_origins: dict[bytes, dict[bytes, bytes]] = {}
    groups: dict[bytes, dict[bytes, bytes]] = {}
    origin, group = b" ", dict[bytes, bytes]()
    for target, text in lines.items():
        if not target.startswith(origin):  # most links have the origin of the link before them
            origin = target[: target.find(b"/", _AFTER_SCHEME) + 1]
            if origin not in of_origins:
                of_origins[origin] = groups.setdefault(list_id(target)[:HOST_BYTES], {})
            group = of_origins[origin]
        group[sha256(target).digest()[HOST_BYTES:ID_BYTES]] = text
    return groups
