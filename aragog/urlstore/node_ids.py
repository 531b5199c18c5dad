"""The ids of a URL in the graph: of its node, and of its posting list of inlinks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256

from urlspelling import url_key
from zengraph.links import GROUP_BYTES, Naming
from zengraph.records import ID_BYTES

node_id = lru_cache(maxsize=65_536)(url_key)
"""The id of a normalized URL's node. Cached: the links of a site repeat."""

_AFTER_SCHEME = len("https://")


def host_of(url: bytes) -> bytes:
    """The host of a URL with its port, the group of its posting list."""
    parts = url.split(b"/", 3)
    return parts[2] if len(parts) > 2 else b""


class UrlNaming(Naming):
    """
    Normalized URLs as names of nodes; their groups are hosts.

    Most links stay on their site, so the lists that a compaction changes are neighbors
    (docs/adr/0039).
    """

    def __init__(self) -> None:
        super().__init__(host_of)

    node_id = staticmethod(node_id)

    def by_group(self, texts: Mapping[bytes, bytes]) -> Mapping[bytes, Mapping[bytes, bytes]]:
        """`Naming.by_group`; 0.8 µs a URL."""
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


NAMING = UrlNaming()
list_id = NAMING.list_id
"""The id of a URL's posting list."""
