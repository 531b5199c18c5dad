"""
Who holds a URL: owners that want it kept fresh.

A hold is an edge from the page to its owner, with the time it was asked for; letting go writes over
it, so that of a hold and a release the later asked one counts, whatever order they come in, and
each may come twice. The node's `s:held` sums up: `1` somebody holds it, `0` the last one let go.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from typing import NamedTuple

from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import text
from aragog.urlstore.schedule.next_fetch import HELD, RELEASED
from aragog.zen.codec import IN
from aragog.zen.graph import Zen
from aragog.zen.mutations import Mutation, put_edge_end
from aragog.zen.node_ids import node_id
from aragog.zen.properties import Row

HOLD = 2
"""The edge type; a hold's score is always 0, so that holding twice makes one edge."""

MAX_OWNER_BYTES = 200

_OWNER = b"p:o"
_AS = b"p:u"
_ACTIVE = b"p:h"


class Watch(NamedTuple):
    """One owner's hold, or what is left of it."""

    owner: str
    held_as: str
    """The URL it was asked for, normalized; an alias, perhaps."""
    active: bool
    at_ms: int


class Watches:
    """Watches and releases pages; each step is safe to repeat."""

    def __init__(self, zen: Zen) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._edges = zen.edge_ends

    def write(self, canonical: str, watch: Watch, now_ms: int) -> bool | None:
        """
        Hold `canonical`, or let it go; is it held by anybody after that? None: nobody ever held it.

        Two that let go at once may each see the other; so the sum is made after the edge, and made
        once more when it is 0. A release alone makes no page a released one; should the hold that
        was asked for before it come after it, that one does.
        """
        self._zen.mutate([_edge(canonical, watch)])
        if not watch.active and not text(
            self._properties.get(node_id(canonical), [nodes.HELD]), nodes.HELD
        ):
            return None
        held = self._sum_up(canonical, now_ms)
        return held or self._sum_up(canonical, now_ms)

    def owners(self, canonical: str) -> list[str]:
        """Who holds the page, in order."""
        return sorted(watch.owner for watch in self.all(canonical) if watch.active)

    def all(self, canonical: str) -> list[Watch]:
        """Every hold, also those that are over."""
        with closing(self._edges.of(node_id(canonical), IN, HOLD)) as ends:
            return [_hold(row) for _, row in ends if _ACTIVE in row]

    def move(self, source: str, canonical: str, now_ms: int, *, held_as: str | None = None) -> bool:
        """
        Bring the holds of a page to another; those of `held_as` alone where it is given.

        True when there were any. Safe to repeat: first put there, then let go here.
        """
        mine = [
            watch
            for watch in self.all(source)
            if watch.active and (held_as is None or watch.held_as == held_as)
        ]
        if mine:
            # Two later here than it is let go there, so that it may come back the same way.
            self._zen.mutate([_edge(canonical, h._replace(at_ms=h.at_ms + 2)) for h in mine])
            self._sum_up(canonical, now_ms)
            gone = [watch._replace(active=False, at_ms=watch.at_ms + 1) for watch in mine]
            self._zen.mutate([_edge(source, watch) for watch in gone])
            self._sum_up(source, now_ms)
        return bool(mine)

    def purge(self, canonical: str, now_ms: int) -> None:
        """Forget everybody who held the page, and who let it go."""
        self._edges.purge(node_id(canonical), IN, HOLD, at_ms=now_ms)

    def _sum_up(self, canonical: str, now_ms: int) -> bool:
        held = any(watch.active for watch in self.all(canonical))
        cells = {nodes.URL: canonical.encode(), nodes.HELD: HELD if held else RELEASED}
        self._properties.put(node_id(canonical), cells, at_ms=now_ms)
        return held


def _edge(canonical: str, watch: Watch) -> Mutation:
    its = hashlib.sha256(watch.owner.encode()).digest()[:16]
    cells = {
        _OWNER: watch.owner.encode(),
        _AS: watch.held_as.encode(),
        _ACTIVE: HELD if watch.active else RELEASED,
    }
    return put_edge_end(node_id(canonical), IN, HOLD, its, cells, watch.at_ms)


def _hold(row: Row) -> Watch:
    active = row[_ACTIVE]
    return Watch(row[_OWNER].value.decode(), row[_AS].value.decode(), active[0] == HELD, active[1])
