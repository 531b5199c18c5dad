"""The content of pages: the object in the content store and the node's pointer to it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from aragog.errors import CorruptContent
from aragog.urls.normalize import normalize
from aragog.urlstore import nodes
from aragog.urlstore.compression import compress, content_hash, content_key, decompress
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.hosts import host_put
from aragog.urlstore.nodes import Nodes, facts_of, text
from aragog.urlstore.record_reader import BASE
from aragog.urlstore.records import Content
from aragog.urlstore.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.write_clock import WriteClock
from aragog.zen.graph import Zen
from aragog.zen.mutations import put_properties
from aragog.zen.node_ids import node_id


class PageContent:
    """Reads and replaces the body of the page that a URL leads to."""

    def __init__(
        self,
        zen: Zen,
        content: ContentStore,
        takedowns: Takedowns,
        clock: WriteClock,
    ) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._content = content
        self._takedowns = takedowns
        self._clock = clock

    def get(self, url: str) -> Content | None:
        """`UrlStore.content`."""
        normalized, failure = normalize(url), ""
        for _ in range(2):
            # Twice: between the node and the object another writer may have replaced both.
            canonical, row = self._nodes.follow([normalized], BASE)[normalized]
            key = text(row, nodes.CONTENT_KEY)
            if key is None or nodes.SENTINEL not in row:
                return None
            stored = self._content.get(key)
            if stored is None:
                failure = "is missing"
            elif content_hash(stored[0]) != text(row, nodes.CONTENT_HASH):
                failure = "does not match its pointer"
            else:
                body, meta = stored
                return Content(canonical, decompress(body), dict(meta), facts_of(row))
        raise CorruptContent(content_key(canonical), failure)

    def put(self, url: str, body: bytes, meta: Mapping[str, str], *, at_ms: int | None) -> None:
        """`UrlStore.put_content`."""
        now_ms, at_ms = self._clock.now_ms(), self._clock.instant(at_ms)
        canonical, row = self._nodes.resolve(normalize(url), BASE)
        check_not_taken_down(canonical, row)
        packed, key = compress(body), content_key(canonical)
        cells = {
            nodes.URL: canonical.encode(),
            nodes.SENTINEL: b"1",
            nodes.CONTENT_KEY: key.encode(),
            nodes.CONTENT_HASH: content_hash(packed).encode(),
            nodes.CONTENT_LENGTH: b"%d" % len(body),
            nodes.CONTENT_ENCODING: b"zstd",
        }
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        described = {**(meta or {}), "url": canonical, "encoding": "zstd"}
        with self._takedowns.writing(canonical):
            self._content.put(key, packed, described)
            self._zen.mutate([host_put(canonical, now_ms)])
            self._zen.mutate(
                [
                    put_properties(node_id(canonical), cells, at_ms),
                    put_properties(node_id(canonical), version, now_ms),
                ]
            )
