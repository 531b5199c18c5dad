"""
The ids of a URL in the graph: of its node, and of its posting list of inlinks.

A store keeps the ids with which it was begun (`Tables.format`): of the first form are hashes of
whole URLs; in later ones the pages of a host lie together (docs/adr/0113). `urlspelling.url_key` is
the key of a URL everywhere else: in Redis, in messages, and where stores of both forms must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256

from zengraph.links import GROUP_BYTES, Naming
from zengraph.records import ID_BYTES

_AFTER_SCHEME = len("https://")
_CACHED = 65_536


def host_of(url: bytes) -> bytes:
    """The host of a URL with its port, the group of its node and of its posting list."""
    parts = url.split(b"/", 3)
    return parts[2] if len(parts) > 2 else b""


class UrlNaming(Naming):
    """
    Normalized URLs as names of nodes; their groups are hosts.

    Most links stay on their site, so the lists that a compaction changes are neighbors
    (docs/adr/0039), and so are the nodes that a batch of pages changes.

    Args:
        is_together: whether the store is of a form in which they lie together; asked once.
    """

    def __init__(self, is_together: Callable[[], bool]) -> None:
        super().__init__(host_of, is_together)
        self._cached = lru_cache(maxsize=_CACHED)(super().node_id)

    def node_id(self, name: str) -> bytes:
        """The id of a normalized URL's node. Cached: the links of a site repeat."""
        return self._cached(name)

    def by_group(self, texts: Mapping[bytes, bytes]) -> Mapping[bytes, Mapping[bytes, bytes]]:
        """`Naming.by_group`; 0.8 µs per URL."""
        of_origins: dict[bytes, dict[bytes, bytes]] = {}
        groups: dict[bytes, dict[bytes, bytes]] = {}
        origin, group = b" ", dict[bytes, bytes]()
        for url, text in texts.items():
            if not url.startswith(origin):  # most links have the origin of the link before them
                origin = url[: url.find(b"/", _AFTER_SCHEME) + 1]
                if origin not in of_origins:
                    of_origins[origin] = groups.setdefault(self.group_hash(url), {})
                group = of_origins[origin]
            group[sha256(url).digest()[GROUP_BYTES:ID_BYTES]] = text
        return groups


list_id = Naming(host_of).list_id
"""The id of a URL's posting list, the same in every store."""
