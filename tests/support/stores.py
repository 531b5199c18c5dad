"""A UrlStore on every engine, and builders of its input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import ContentSettings, StoreSettings
from aragog.urlstore import nodes
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.node_ids import UrlNaming
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.records import ContentWrite, Likeness, OutLink, PageWrite
from aragog.urlstore.store import UrlStore
from zengraph.links import ListLimits
from zengraph.links._journal_keys import beside_key, written_at_ms
from zengraph.tables import FORMAT, Tables
from zengraph.tables.memory import MemoryTables

NOW_MS = 1_700_000_000_000
NAMING = UrlNaming(lambda: FORMAT)
node_id = NAMING.node_id
"""Returns the id of a URL's node in a new store."""
SAME = Likeness(body="a hash")
"""Pages with this likeness agree."""


@dataclass
class Harness:
    """A store and its parts."""

    store: UrlStore
    tables: Tables
    content: ContentStore
    clock: ManualClock
    packs: PackFiles | None = None
    """The packs; None if all content is in objects."""

    def compact(self) -> None:
        """Compact until nothing is left."""
        while self.store.maintenance.compact_links(1000).left:
            pass

    def bodies(self) -> list[str]:
        """Return the keys of all objects, and all pointers from nodes into packs."""
        pointers = (row.get(nodes.CONTENT_PACK) for _, row in self.tables["n"].scan(b"", b"\xff"))
        return [*self.content.keys(), *(cell.value.decode() for cell in pointers if cell)]

    def sources(self, url: str) -> list[str]:
        """Return all pages that link to a URL, read three at a time."""
        urls, cursor = [], None
        while True:
            page = self.store.links.inlinks(url, limit=3, cursor=cursor)
            urls += [link.url for link in page.items]
            cursor = page.cursor
            if cursor is None:
                return urls


def store_harness(
    tables: Tables,
    settings: StoreSettings | None = None,
    lists: ListLimits | None = None,
    layout: Literal["objects", "packs"] = "objects",
) -> Harness:
    """Return a store with empty tables and empty content. Its clock stands still."""
    clock = ManualClock(NOW_MS)
    content = MemoryContent()
    packs = MemoryPacks() if layout == "packs" else None
    store = UrlStore(
        tables, content, settings or StoreSettings(), clock, lists=lists, packs=packs,
        content_settings=ContentSettings(layout=layout, pack_wait_s=0.05),
    )  # fmt: skip
    return Harness(store, tables, content, clock, packs)


def page(
    url: str, at_ms: int = NOW_MS, *, links: Sequence[str] | None = None, **parts
) -> PageWrite:
    """Return a fetch of `url` that got a page. `links` are targets."""
    parts.setdefault("final_url", url)
    parts.setdefault("canonical_url", parts["final_url"])
    return PageWrite(
        url=url,
        fetched_at_ms=at_ms,
        links=None if links is None else [OutLink(link, "text") for link in links],
        **parts,
    )


def write_into_bucket(harness: Harness, bucket: int, a_page: PageWrite) -> None:
    """Write a page, and move its journal row from its lane to the rows of a bucket outside lanes."""
    journal = harness.tables["j"]
    seen = {key for key, _ in journal.scan(b"", b"\xff")}
    harness.store.write_pages([a_page])
    (key, row), *_ = [(k, r) for k, r in journal.scan(b"", b"\xff") if k not in seen]
    at_ms = max(cell.at_ms for cell in row.values())
    journal.delete(key, at_ms=at_ms)
    moved = beside_key(bucket, written_at_ms(key), key[-8:])
    journal.put(moved, {column: cell.value for column, cell in row.items()}, at_ms=at_ms)


def alias_page(url: str, canonical_url: str, text: str, links: Sequence[str]) -> PageWrite:
    """Return a page that is provisionally an alias, with `text` as field `t` and content."""
    return page(
        url, canonical_url=canonical_url, provisional=True, fields={"t": text.encode()},
        content=body(text), links=links,
    )  # fmt: skip


def body(text: str) -> ContentWrite:
    """Return content to store."""
    return ContentWrite(compress(text.encode()), "zstd", len(text.encode()), {"content-type": "x"})


@pytest.fixture
def harness(tables: Tables) -> Harness:
    """
    A store on each engine. Its content is in objects on the engine in memory, and in packs, the
    default, on the others.
    """
    return store_harness(tables, layout="objects" if isinstance(tables, MemoryTables) else "packs")
