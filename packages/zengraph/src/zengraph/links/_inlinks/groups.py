"""
Groups of posting lists: rows that each contain many short lists of one group of names.

Most lists are short, and most links stay within their group of names, such as a site's pages. If
each list had its own row, nearly every link would be a separate write. So one row has all lists
whose ids begin with its key, at first all lists of a group of names. The row has a delta for each
compaction (its changes to the lists) and a header with the merged lists.

When a group exceeds `group_lines`, it is divided into sixteen groups, by the next hexadecimal digit
of the list ids. From then on it is a buffer (as in a buffer tree, Arge 1995): when it has that many
lines again, it passes them on to the sixteen groups, or directly to the groups below those
(`levels_below`). So a link is written only a few times, always as part of a large value, and all
groups stay small. A list longer than `inline_lines` leaves its group and gets its own rows
(`Segments`). A list's oldest lines are therefore in its own rows, newer ones in the deepest group,
and the newest in the first group.

Any number of processes can write groups at the same time. Each adds its own deltas (`delta_names`).
The header is replaced by check-and-put, together with the names of the deltas that it now includes.
Then those deltas are deleted. Lines that leave a group must reach other rows exactly once. So the
header first records the pass that moves them: its number, its deltas, and how they are divided. Any
process that finds such a header writes the same deltas, named by that pass, and completes the pass.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from zengraph._naming import GROUP_BYTES, Naming
from zengraph.links._inlinks import list_block, postings
from zengraph.links._inlinks.delta_filter import filter_cells
from zengraph.links._inlinks.delta_names import delta_column, delta_name, extended
from zengraph.links._inlinks.group_checks import Checks, delta_to_check, groups_to_check
from zengraph.links._inlinks.group_rows import (
    BUFFER_FACTOR,
    COLLECTOR_DEPTH,
    MAX_COLLECTED_DELTAS,
    MAX_DEPTH,
    MIN_FAR_FACTOR,
    GroupHeader,
    ListGroup,
    Pass,
    group_key,
    lists_below,
    many_deltas,
    max_lines,
)
from zengraph.links._inlinks.levels_below import divided_below, left_below
from zengraph.links._inlinks.postings import HEADER
from zengraph.links._inlinks.segments import RemovedLinks
from zengraph.links._values import ListLimits
from zengraph.tables import Cell, Tables

_PUT_ROWS = 4096


class _Merged(NamedTuple):
    """The merged lists of an undivided group."""

    texts: dict[bytes, bytes]
    """Lines of the lists that stay in the group, by the last bytes of the list id."""
    lines: int
    """How many lines `texts` has."""
    long: dict[bytes, postings.Delta]
    """Lists that are now too long for the group, by list id."""
    removed: list[tuple[bytes, bytes]]
    """(source, list id) of each removed link that is no longer in a list of the group."""


class _Edit(NamedTuple):
    group: ListGroup
    header: GroupHeader
    """The next header. Unchanged if the edit only completes a pass or deletes leftover deltas."""
    merged: _Merged | None = None


class _Route(NamedTuple):
    """Where a group passes its lines."""

    levels: int = 1
    """1 for the groups directly below, 2 for those below them."""
    collects: bool = False
    """True if all groups directly below are divided."""
    divided: bool = True
    """False if only long lists leave the group."""


class _PassingOn(NamedTuple):
    """The lines that a pass moves, and the header after the pass."""

    group: ListGroup
    header: GroupHeader
    down: Mapping[bytes, list_block.Lists]
    """Lists for the groups below, by group key."""
    long: Mapping[bytes, postings.Delta]
    removed: Sequence[tuple[bytes, bytes]]


class Groups:
    """The groups in table `l`."""

    def __init__(self, tables: Tables, naming: Naming, limits: ListLimits) -> None:
        self._table = tables["l"]
        self._limits = limits
        self._removed_links = RemovedLinks(tables, naming)

    def add(self, links: postings.LinkChanges) -> set[bytes]:
        """
        Add one compaction's links. Returns the ids of the lists that got deltas in their own rows.

        Afterward, an undivided group has no lines for removed links, and `RemovedLinks` records
        those in a divided group. After a crash, repeating the call with the same links completes
        it.
        """
        name, now_ms, by_group, removals, depths = links
        deltas = [
            (key, part, name)
            for group, lists in by_group.items()
            for key, part in lists_below(group, lists, depths.get(group, 0)).items()
        ]
        touched = {list_id[:GROUP_BYTES] for list_id in removals}
        look = self._put_deltas(deltas, now_ms) | dict.fromkeys(touched)
        all_long: set[bytes] = set()
        while look:
            groups = self._groups(look)
            self._note_traces(groups, removals, now_ms)
            look, long = self._tidy(groups, now_ms, now=touched)
            all_long |= long
        return all_long

    def rewrite(self, list_ids: Collection[bytes], now_ms: int) -> set[bytes]:
        """
        Merge these lists in their deepest groups, so that no group contains a removed link.

        Returns the ids of lists that got deltas in their own rows. Repeat the call after a crash.
        """
        all_long: set[bytes] = set()
        for depth in range(MAX_DEPTH + 1):
            keys = {group_key(list_id, depth) for list_id in list_ids}
            look: Checks = dict.fromkeys(keys)
            while look:
                again, long = self._tidy(self._groups(look), now_ms, now=keys, down=keys)
                look = dict.fromkeys(again.keys() & keys)
                all_long |= long
        return all_long

    def repair(self, key: bytes) -> bool:
        """
        Mark a group as divided, because deeper groups exist. Returns False if it already is divided
        or has a pass in progress, or if another process changed it.
        """
        group = ListGroup(key, self._table.get(key))
        if group.header.divided or group.header.passing:
            return False
        return self._replace([(group, group.header._replace(divided=True))])[0] is not None

    def _groups(self, checks: Checks) -> list[ListGroup]:
        return groups_to_check(self._table, checks, self._limits)

    def _put_deltas(
        self, deltas: Iterable[tuple[bytes, list_block.Lists, int]], now_ms: int
    ) -> Checks:
        """Write (group key, lists, name) deltas. Returns the groups that may need merging."""
        look: Checks = {}
        puts = []
        for key, lists, name in sorted(deltas, key=itemgetter(0)):
            block = list_block.pack(lists)
            puts.append((key, {delta_column(name): block}, now_ms))
            if delta := delta_to_check(key, name, block, self._limits):
                look[key] = delta
        for at in range(0, len(puts), _PUT_ROWS):
            self._table.put_many(puts[at : at + _PUT_ROWS])
        return look

    def _tidy(
        self,
        groups: Sequence[ListGroup],
        now_ms: int,
        *,
        now: Container[bytes] = (),
        down: Container[bytes] = (),
    ) -> tuple[Checks, set[bytes]]:
        """
        Merge groups with many deltas, and pass on the lines of groups with too many lines.

        Groups in `now` are always merged. Divided groups in `down` always pass on their lines.
        Returns the groups to check next (those below, and those that another process has changed),
        as `groups_to_check` takes them, and the ids of the long lists.
        """
        routes, left = self._routes(groups, down)
        edits = [e for g in groups if (e := self._edit(g, routes, now=g.key in now))]
        idle = [group for group in groups if group.key not in routes and group.key not in left]
        self._table.put_many(filter_cells(idle, self._limits.many_deltas, now_ms))
        begun = [edit for edit in edits if edit.header is not edit.group.header]
        ended = [e.group for e in edits if e.header is e.group.header and not e.header.passing]
        passing_groups = [_passing_on(e.group) for e in edits if e.group.header.passing]
        # Check these again: they may have received more than they passed on.
        look = {passing.group.key for passing in passing_groups}
        removed: list[tuple[bytes, bytes]] = []
        replaced = self._replace([(edit.group, edit.header) for edit in begun])
        for edit, group in zip(begun, replaced, strict=True):
            if group is None:
                look.add(edit.group.key)
            elif edit.header.passing:
                passing_groups.append(_passing_on(group, edit.merged))
            else:
                ended.append(group)
                removed += edit.merged.removed if edit.merged else ()
        below, long, passed = self._pass_on(passing_groups, now_ms)
        look |= {p.group.key for p in passing_groups} - {group.key for group, _ in passed}
        # Check these again when the groups below them are empty.
        look |= left.keys()
        self._drop_deltas([*ended, *(group for group, _ in passed)])
        self._forget_traces([*removed, *chain.from_iterable(p[1] for p in passed)], now_ms)
        if left:
            checks: Checks = dict.fromkeys(chain.from_iterable(left.values()))
            more, also_long = self._tidy(self._groups(checks), now_ms, down=checks)
            below, long = below | more, long | also_long
        return below | dict.fromkeys(look), long

    def _routes(
        self, groups: Sequence[ListGroup], down: Container[bytes]
    ) -> tuple[dict[bytes, _Route], dict[bytes, list[bytes]]]:
        """
        Choose how divided groups that are full, and those in `down`, pass on their lines.

        Also returns groups that must wait, with the groups below them that contain lines.
        """
        ready = [g for g in groups if g.header.divided and not g.header.passing]
        forced = [group for group in ready if group.key in down]
        full = [group for group in ready if group.key not in down and self._is_full(group)]
        short = [g for g in full if not g.header.collects]
        divided = divided_below(self._table, [g.key for g in short if g.depth >= COLLECTOR_DEPTH])
        routes = {g.key: _Route(1, g.header.collects or g.key in divided) for g in full + forced}
        least = MIN_FAR_FACTOR * self._limits.group_lines
        far = [g.key for g in full if g.header.collects and g.lines >= least]
        below = left_below(self._table, far)
        routes |= {key: _Route(2, True) if key in below else _Route() for key in far}
        left = {key: some for key, some in below.items() if some}
        return {key: route for key, route in routes.items() if key not in left}, left

    def _is_full(self, group: ListGroup) -> bool:
        """True if a divided group has to pass on its lines."""
        limits, header = self._limits, group.header
        most = max_lines(group.key, limits.group_lines, header)
        if header.collects and len(group.unmerged) > MAX_COLLECTED_DELTAS:
            most = min(most, BUFFER_FACTOR * limits.group_lines)
        return group.lines > most

    def _edit(self, group: ListGroup, routes: Mapping[bytes, _Route], *, now: bool) -> _Edit | None:
        """Return the change that a group needs, or None."""
        limits, header = self._limits, group.header
        if header.passing:
            return _Edit(group, header)
        route = routes.get(group.key)
        if route and (group.unmerged or header.block):  # a repaired group may have only a block
            return _Edit(group, self._begin(group, route))
        if not group.unmerged:
            return _Edit(group, header) if group.deltas else None
        if header.divided:
            return None
        most = max_lines(group.key, limits.group_lines, header)
        many = many_deltas(group.key, limits.many_deltas)
        if not (group.lines > most or now or len(group.unmerged) >= many):
            return None
        merged = _merged(group.key, group.blocks, limits.inline_lines)
        divided = merged.lines > most and group.depth < MAX_DEPTH
        if divided or merged.long:
            return _Edit(group, self._begin(group, _Route(divided=divided)), merged)
        upto, block = extended(header.upto, group.unmerged), list_block.pack(merged.texts)
        return _Edit(group, header._replace(upto=upto, block=block), merged)

    def _begin(self, group: ListGroup, route: _Route) -> GroupHeader:
        """Return the header with which a group starts to pass on all of its lines."""
        upto = extended(group.header.upto, group.unmerged)
        return group.header._replace(
            passes=group.header.passes + 1,
            passing=Pass(upto, route.divided, self._limits.inline_lines, route.levels),
            collects=route.collects,
        )

    def _pass_on(
        self, passing_groups: Sequence[_PassingOn], now_ms: int
    ) -> tuple[Checks, set[bytes], list[tuple[ListGroup, Sequence[tuple[bytes, bytes]]]]]:
        """
        Execute passes that have begun.

        A pass writes to the long lists before it writes to the groups below. Readers rely on that:
        if a group has received a pass, the long lists have received it as well. Returns the keys of
        the groups below, the ids of the long lists, and each group whose pass this process
        completed, with the links removed in it.
        """
        names = [delta_name(p.group.source, p.group.header.passes) for p in passing_groups]
        named = list(zip(passing_groups, names, strict=True))
        puts = [
            (list_id, {delta_column(name): postings.pack(*delta)}, now_ms)
            for passing, name in named
            for list_id, delta in passing.long.items()
        ]
        self._table.put_many(puts)
        below = self._put_deltas(
            [(key, lists, name) for p, name in named for key, lists in p.down.items()], now_ms
        )
        replaced = self._replace([(passing.group, passing.header) for passing in passing_groups])
        passed = [
            (group, passing.removed)
            for passing, group in zip(passing_groups, replaced, strict=True)
            if group is not None
        ]
        return below, {put[0] for put in puts}, passed

    def _replace(self, headers: Sequence[tuple[ListGroup, GroupHeader]]) -> list[ListGroup | None]:
        """Replace headers. Returns each new group, or None if another process changed it."""
        cells = [(g.row[HEADER].value if HEADER in g.row else None) for g, _ in headers]
        values = [header.pack() for _, header in headers]
        done = self._table.check_and_put_many(
            [
                (group.key, HEADER, cell, value)
                for (group, _), cell, value in zip(headers, cells, values, strict=True)
            ]
        )
        return [
            ListGroup(group.key, {**group.row, HEADER: Cell(value, 0)}) if ok else None
            for (group, _), value, ok in zip(headers, values, done, strict=True)
        ]

    def _drop_deltas(self, groups: Sequence[ListGroup]) -> None:
        """Delete the deltas that headers include."""
        self._table.delete_many(
            [
                (group.key, old, max(group.row[column].at_ms for column in old))
                for group in groups
                if (old := group.merged)
            ]
        )

    def _note_traces(
        self, groups: Sequence[ListGroup], removals: Mapping[bytes, Sequence[bytes]], now_ms: int
    ) -> None:
        """Record lists that still contain a removed link in the groups below."""
        divided = {group.key for group in groups if group.header.divided}
        self._removed_links.note(
            [
                (source, list_id)
                for list_id, sources in removals.items()
                if list_id[:GROUP_BYTES] in divided
                for source in sources
            ],
            now_ms,
        )

    def _forget_traces(self, removed: Sequence[tuple[bytes, bytes]], now_ms: int) -> None:
        """Delete records of removed links, except for lists that have their own rows."""
        long = self._table.get_many([list_id for _, list_id in removed]) if removed else {}
        self._removed_links.forget([pair for pair in removed if pair[1] not in long], now_ms)


def _merged(key: bytes, blocks: Iterable[bytes], inline_lines: int) -> _Merged:
    """Merge an undivided group's lists. Lists over `inline_lines` become long."""
    result, lines = _Merged({}, 0, {}, []), 0
    texts = result.texts
    for local_id, text in list_block.joined(blocks).items():
        if postings.is_settled(text) and (present := text.count(b"\n") + 1) <= inline_lines:
            texts[local_id] = text  # nearly all lists
            lines += present
            continue
        list_id = key[:GROUP_BYTES] + local_id
        settled = postings.settled(text)
        if settled.net != settled.present or settled.present > inline_lines:
            result.long[list_id] = postings.Delta(settled.net, settled.text.split(b"\n"))
        else:
            result.removed.extend((source, list_id) for source in settled.removed)
            lines += settled.present
            if settled.present:
                texts[local_id] = settled.text
    return result._replace(lines=lines)


def _passing_on(group: ListGroup, merged: _Merged | None = None) -> _PassingOn:
    """Return the lines that leave a group in its pass. Every process computes the same lines."""
    header, blocks = group.header, group.passing_blocks
    passing = header.passing or Pass(header.upto, header.divided, 0)
    after = GroupHeader(
        passing.upto, passing.divided, passes=header.passes, collects=header.collects
    )
    if header.divided:
        down = lists_below(group.key, list_block.joined(blocks), passing.levels)
        return _PassingOn(group, after, down, {}, ())
    merged = merged or _merged(group.key, blocks, passing.inline_lines)
    if passing.divided:
        down = lists_below(group.key, merged.texts)
        return _PassingOn(group, after, down, merged.long, merged.removed)
    after = after._replace(block=list_block.pack(merged.texts))
    return _PassingOn(group, after, {}, merged.long, merged.removed)
