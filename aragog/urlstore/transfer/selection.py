"""Select the nodes of an export: all, those of some URLs, or those of the caller's walk."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from aragog.urlstore.pages.nodes import Nodes
from aragog.zen.graph import Zen
from aragog.zen.node_ids import node_id
from aragog.zen.properties import Row

_READ_AT_ONCE = 500

NodeSource = Generator[tuple[bytes, Row], None, None]
"""Keys and nodes to export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelection:
    """The nodes to export; without arguments, all."""

    urls: Iterable[str] | None = None
    """Normalized URLs, such as those of a host; excludes `cursor`."""
    cursor: str | None = None
    """Of the report of an earlier export, which this one continues."""
    limit: int | None = None
    """Maximum number of records."""
    nodes: NodeSource | None = None
    """Replaces the walk over all nodes; excludes `urls` and `cursor`."""


EVERYTHING = NodeSelection()


class SelectedNodes(AbstractContextManager["SelectedNodes"]):
    """The nodes of a selection, in its order, until the caller has `taken` as many as its limit."""

    def __init__(
        self, zen: Zen, selection: NodeSelection, columns: Sequence[bytes] | None = None
    ) -> None:
        self.cursor = selection.cursor
        """Where another export continues; None after the last node."""
        self.taken = 0
        """Number of records that the export made; the caller counts."""
        self._limit = selection.limit
        self._nodes = selection.nodes or nodes_of(zen, selection.urls, selection.cursor, columns)

    def __iter__(self) -> Iterator[Row]:
        for key, row in self._nodes:
            if self.taken == self._limit:
                return
            self.cursor = key.hex()
            yield row
        self.cursor = None

    def __exit__(self, *error: object) -> None:
        self._nodes.close()


def nodes_of(
    zen: Zen,
    urls: Iterable[str] | None,
    cursor: str | None = None,
    columns: Sequence[bytes] | None = None,
) -> NodeSource:
    """Keys and nodes of `urls` (normalized), in their order; None: of all, in key order."""
    if urls is None:
        start = b"" if cursor is None else bytes.fromhex(cursor) + b"\0"
        yield from zen.nodes.scan(start, names=columns)
        return
    nodes, left = Nodes(zen), iter(urls)
    while some := list(itertools.islice(left, _READ_AT_ONCE)):
        for url, row in nodes.read(some, columns).items():
            yield node_id(url), row
