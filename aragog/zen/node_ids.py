"""The node id of a URL."""

from __future__ import annotations

from functools import lru_cache

from aragog.urls.keys import url_key

node_id = lru_cache(maxsize=65_536)(url_key)
"""The id of a normalized URL's node. Cached: the links of a site repeat."""


def id_of(url: bytes) -> bytes:
    """`node_id` of a URL in bytes, not cached: for URLs that are seen once."""
    return url_key(url.decode())
