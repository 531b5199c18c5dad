"""
Watches: owners' requests to keep a URL's page fresh.

A watch is an edge from its owner to the page, with the time of the request. An unwatch overwrites
the edge. The request with the later time wins, even if it arrives first or twice. The node's
`s:watched` summarizes the edges: `1` if the URL is watched, `0` after the last watch ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from aragog.urlstore import nodes
from aragog.urlstore.nodes import text
from aragog.urlstore.writing.next_due import UNWATCHED, WATCHED
from zengraph import IN, Edge, MultiGraph
from zengraph.records import Mutation

WATCH = 2
"""The edge type. A watch's score is always 0, so watching twice creates only one edge."""

MAX_OWNER_BYTES = 200

_OWNER, _AS, _ACTIVE = "o", "u", "h"


class Watch(NamedTuple):
    """An owner's watch of a page, or the end of that watch."""

    owner: str
    watched_as: str
    """The URL in the request, normalized. It may be an alias."""
    active: bool
    at_ms: int


class Watches:
    """Watches and unwatches pages; each step is safe to repeat."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._properties = zen.nodes

    def write(self, canonical: str, watch: Watch, now_ms: int) -> bool | None:
        """
        Write a watch or an unwatch.

        Returns True if the page is now watched, False if not, and None after an unwatch of a page
        that was never watched. Such an unwatch does not set `s:watched`.

        Two concurrent unwatches may each see the other's watch. So `s:watched` is computed after
        the edge is written, and again if it is 0.
        """
        self._zen.mutate(self._edge(canonical, watch))
        if not watch.active and not text(
            self._properties.get(self._zen.node_id(canonical), [nodes.WATCHED]), nodes.WATCHED
        ):
            return None
        watched = self._update_summary(canonical, now_ms)
        return watched or self._update_summary(canonical, now_ms)

    def owners(self, canonical: str) -> list[str]:
        return sorted(watch.owner for watch in self.all(canonical) if watch.active)

    def all(self, canonical: str) -> list[Watch]:
        """Return all watches of the page, including those that ended."""
        with closing(self._zen.walk_edges(self._zen.node_id(canonical), IN, WATCH)) as edges:
            return [_to_watch(edge) for edge in edges if _ACTIVE in edge.properties]

    def move(
        self, source: str, canonical: str, now_ms: int, *, watched_as: str | None = None
    ) -> bool:
        """
        Move watches to another page; with `watched_as`, only those that name that URL.

        Returns True if there were any. Safe to repeat: watches are added to the new page before
        they end on the old page.
        """
        active = [
            watch
            for watch in self.all(source)
            if watch.active and (watched_as is None or watch.watched_as == watched_as)
        ]
        if active:
            # Date the new watch after the end of the old one, so that it can move back here later.
            moved_watches = [watch._replace(at_ms=watch.at_ms + 2) for watch in active]
            self._zen.mutate(
                [row for watch in moved_watches for row in self._edge(canonical, watch)]
            )
            self._update_summary(canonical, now_ms)
            ended_watches = [
                watch._replace(active=False, at_ms=watch.at_ms + 1) for watch in active
            ]
            self._zen.mutate([row for watch in ended_watches for row in self._edge(source, watch)])
            self._update_summary(source, now_ms)
        return bool(active)

    def purge(self, canonical: str, now_ms: int) -> None:
        """Delete all watches of the page, including those that ended."""
        self._zen.purge_edges(self._zen.node_id(canonical), WATCH, at_ms=now_ms)

    def _update_summary(self, canonical: str, now_ms: int) -> bool:
        watched = any(watch.active for watch in self.all(canonical))
        cells = {nodes.URL: canonical.encode(), nodes.WATCHED: WATCHED if watched else UNWATCHED}
        self._properties.put(self._zen.node_id(canonical), cells, at_ms=now_ms)
        return watched

    def _edge(self, canonical: str, watch: Watch) -> Sequence[Mutation]:
        owner_id = hashlib.sha256(watch.owner.encode()).digest()[:16]
        properties = {
            _OWNER: watch.owner.encode(),
            _AS: watch.watched_as.encode(),
            _ACTIVE: WATCHED if watch.active else UNWATCHED,
        }
        return self._zen.edge_rows(
            owner_id, WATCH, self._zen.node_id(canonical), properties, watch.at_ms
        )


def _to_watch(edge: Edge) -> Watch:
    values = edge.properties
    return Watch(
        values[_OWNER].decode(), values[_AS].decode(), values[_ACTIVE] == WATCHED, edge.at_ms
    )
