"""Posting lists (inlinks of nodes). Short lists are in groups, long lists in their own rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import takewhile

from zengraph._codec import ID_BYTES
from zengraph._naming import GROUP_BYTES, Naming
from zengraph.links._inlinks.delta_filter import columns_without
from zengraph.links._inlinks.entry_depths import ByGroup, entry_depths, large_groups
from zengraph.links._inlinks.group_rows import FILTER, MAX_DEPTH, ListGroup, group_keys, is_group
from zengraph.links._inlinks.groups import Groups
from zengraph.links._inlinks.postings import NOTHING, LinkChanges, inlink, settled
from zengraph.links._inlinks.segments import Segments, links_in, received
from zengraph.links._values import ListLimits
from zengraph.tables import Row, Tables

_FIRST_DEPTHS = 3
"""This many levels of groups are read together with a list's own row, deeper levels afterward."""


class PostingLists:
    """All posting lists, by list id."""

    def __init__(self, tables: Tables, naming: Naming, limits: ListLimits | None = None) -> None:
        self._limits = limits = limits or ListLimits()
        self._table = tables["l"]
        self._groups = Groups(tables, naming, limits)
        self._long = Segments(tables, naming, limits)

    inlink = staticmethod(inlink)
    """Convert a line of a list to an `InLink`."""

    def count(self, targets: Sequence[bytes]) -> int:
        """Return the exact number of links to all of `targets`. Takes at most two round trips."""
        total = 0
        for target, (groups, row) in self._read(targets).items():
            text = _text(groups, target, row)
            newer = settled(text) if text else NOTHING
            total += links_in(row) + newer.net if row else newer.present
        return total

    def lines(self, target: bytes, start_after: bytes = b"") -> Iterator[bytes]:
        """Yield valid lines of sources after `start_after`, sorted by source."""
        ((groups, row),) = self._read([target]).values()
        text = _text(groups, target, row)
        yield from self._long.lines(target, row, text.split(b"\n") if text else (), start_after)

    def deepest(self, groups: ByGroup) -> dict[bytes, int]:
        """Return `large_groups` for the limits of these lists."""
        return large_groups(groups, self._limits.delta_lines)

    def depths(self, deepest: Mapping[bytes, int]) -> dict[bytes, int]:
        """Return `entry_depths` for the table of these lists."""
        return entry_depths(self._table, deepest)

    def add(self, changes: LinkChanges) -> int:
        """
        Add one compaction's links. Returns how many long lists were merged.

        After a crash, repeating the call with the same changes completes it. No link is added
        twice.
        """
        long = self._groups.add(changes)
        return self._long.tidy(long, changes.at_ms, changes.removals)

    def forget_removed(self, targets: Collection[bytes], now_ms: int) -> None:
        """Rewrite lists to drop their removed links. Repeat the call after a crash."""
        long = self._groups.rewrite(targets, now_ms)
        for target in self._table.get_many(sorted({*targets, *long})):
            self._long.rebuild(target, now_ms)

    def problems(self, step: Callable[[], None]) -> Iterator[tuple[bytes, str]]:
        """Yield (key, problem) for lists and groups. Calls `step` for each row."""
        last = b""
        with closing(self._table.scan(b"", None)) as rows:
            for key, _ in rows:
                step()
                if is_group(key):
                    if len(key) > GROUP_BYTES and not self._divided(key[:-1]):
                        yield key[:-1], "group that was divided without a mark"
                elif key[:ID_BYTES] != last:
                    last = key[:ID_BYTES]
                    if problem := self._long.problem(last):
                        yield last, problem

    def repair(self, key: bytes, now_ms: int) -> None:
        """Correct what `problems` found."""
        if is_group(key):
            self._groups.repair(key)
        else:
            self._long.rebuild(key, now_ms)

    def _divided(self, key: bytes) -> bool:
        header = ListGroup(key, self._table.get(key)).header
        return header.divided or bool(header.passing and header.passing.divided)

    def _read(self, targets: Sequence[bytes]) -> dict[bytes, tuple[list[ListGroup], Row]]:
        """
        Read each list's groups, the shallowest first, and then its own row.

        Lines move only toward the end of this order, so engines that read in this order miss no
        line.
        """
        rows = self._rows(targets, range(_FIRST_DEPTHS))
        paths = {target: _path(target, rows) for target in targets}
        deep = [
            target
            for target, groups in paths.items()
            if len(groups) == _FIRST_DEPTHS and groups[-1].header.divided
        ]
        if deep:
            rows |= self._rows(deep, range(_FIRST_DEPTHS, MAX_DEPTH + 1))
            paths |= {target: _path(target, rows) for target in deep}
        return {target: (groups, rows.get(target, {})) for target, groups in paths.items()}

    def _rows(self, targets: Sequence[bytes], depths: Iterable[int]) -> dict[bytes, Row]:
        paths = [group_keys(target, depths) for target in targets]
        keys = [key for same_depth in zip(*paths, strict=True) for key in same_depth]

        def unneeded(key: bytes, value: bytes) -> set[bytes]:
            readers = [t for t, path in zip(targets, paths, strict=True) if key in path]
            return columns_without(value, [target[GROUP_BYTES:] for target in readers])

        return self._table.get_many_needed([*dict.fromkeys(keys), *targets], FILTER, unneeded)


def _text(groups: Sequence[ListGroup], target: bytes, row: Row) -> bytes:
    """Return a list's joined lines in the groups, without lines that have moved to a later row."""
    texts = []
    for number, group in enumerate(groups):
        if not group.may_contain(target):
            continue  # nearly all groups
        below, moved = groups[number + 1 : number + 3], 0
        if group.header.passes or below or row:
            in_row = received(row, group.source) if row else 0
            moved = max([in_row, *[one.received(group.source) for one in below]])
        if text := group.of_list(target, moved):
            texts.append(text)
    if len(texts) < 2:
        return b"".join(texts)
    # A set removes duplicates: lines that are being moved may be in both groups.
    return b"\n".join({line for text in texts for line in text.split(b"\n")})


def _path(target: bytes, rows: Mapping[bytes, Row]) -> list[ListGroup]:
    keys = group_keys(target, range(MAX_DEPTH + 1))
    return [ListGroup(key, rows[key]) for key in takewhile(rows.__contains__, keys)]
