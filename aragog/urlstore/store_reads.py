"""Reading: records, content, links, aliases, lists."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import orjson

from aragog.errors import CorruptContent
from aragog.urls.canonical.decision import KnownPage
from aragog.urls.normalize import normalize
from aragog.urlstore.content.compression import content_hash, decompress
from aragog.urlstore.content.keys import content_key
from aragog.urlstore.pages import history, nodes
from aragog.urlstore.pages.nodes import facts_of, node_id, text
from aragog.urlstore.pages.record_reader import BASE, columns_of, record_of
from aragog.urlstore.records import Content, LinkRecord, ListPage, Record
from aragog.urlstore.schedule.freshness import page_seen_at_ms
from aragog.urlstore.store_base import StoreBase

_KNOWN = (nodes.URL, nodes.CANONICAL, nodes.OWN)
_SEEN = (nodes.URL, nodes.CANONICAL, nodes.CONTENT_KEY, nodes.FACTS, nodes.REFRESH)


class StoreReads(StoreBase):
    """What a UrlStore is read by."""

    def get(
        self, url: str, fields: Sequence[str] | None = None, *, info: bool = False
    ) -> Record | None:
        """
        What is known of a URL; None when nothing is.

        One round trip for a URL that is no alias, two for one that is.

        Args:
            url: in any spelling.
            fields: which to read; None means all, () none, facts alone.
            info: with the time and the provenance of each field.
        """
        asked = normalize(url)
        columns = columns_of(fields, info=info)
        row = self._table.get(node_id(asked), columns)
        pointer = row.get(nodes.CANONICAL)
        if pointer is None or pointer.value == asked.encode():
            return record_of(asked, asked, row, fields, info=info)
        canonical, its = self._nodes.follow([asked], columns, {asked: row})[asked]
        return record_of(asked, canonical, its, fields, info=info, alias=row)

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None = None, *, info: bool = False
    ) -> list[Record | None]:
        """`get` of each, in order; one multi-get, and one more where there are aliases."""
        asked = [normalize(url) for url in urls]
        columns = columns_of(fields, info=info)
        found = self._nodes.follow(asked, columns)
        return [
            record_of(url, canonical, row, fields, info=info)
            for url in asked
            for canonical, row in [found[url]]
        ]

    def content(self, url: str) -> Content | None:
        """
        The page's body and what is beside it; None when there is none.

        Raises:
            CorruptContent: what is stored is not what the node says, on second reading too.
            ContentUnavailable: the content store does not answer.
        """
        asked, failure = normalize(url), ""
        for _ in range(2):
            # Twice: between the node and the object another writer may have replaced both.
            canonical, row = self._nodes.follow([asked], BASE)[asked]
            key = text(row, nodes.CONTENT_KEY)
            if key is None or nodes.SENTINEL not in row:
                return None
            stored = self._content.get(key)
            if stored is None:
                failure = "is missing"
            elif content_hash(stored[0]) != text(row, nodes.CONTENT_HASH):
                failure = "is not what its pointer says"
            else:
                body, meta = stored
                return Content(canonical, decompress(body), dict(meta), facts_of(row))
        raise CorruptContent(content_key(canonical), failure)

    def outlinks(
        self, url: str, limit: int = 1000, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """Links of the page, in its order; 6,000 a call at most."""
        return self._links.outlinks(self.resolve(url), limit, cursor)

    def inlinks(
        self, url: str, limit: int = 100, cursor: str | None = None
    ) -> ListPage[LinkRecord]:
        """
        Links to the page and to its aliases, by source; 6,000 a call at most.

        They lag behind by the time until the next fold. Constant memory, whatever their number.
        """
        canonical, row = self._canonical(normalize(url), [nodes.ALIASED])
        return self._links.inlinks(canonical, limit, cursor, aliased=nodes.ALIASED in row)

    def count_inlinks(self, url: str) -> int:
        """How many `inlinks` would give; read from counts, not from the list."""
        canonical, row = self._canonical(normalize(url), [nodes.ALIASED])
        return self._links.count_inlinks(canonical, aliased=nodes.ALIASED in row)

    def aliases(self, url: str) -> list[str]:
        """URLs that stand for the same page."""
        return list(self._aliases.of(self.resolve(url)))

    def canonical_reasons(self, url: str) -> list[str]:
        """Why the last fetch of `url` itself took its canonical URL; empty: nothing is known."""
        cell = self._table.get(node_id(normalize(url)), [nodes.REASONS]).get(nodes.REASONS)
        return [str(reason) for reason in orjson.loads(cell.value)] if cell else []

    def history(self, url: str, field: str) -> list[tuple[bytes, int]]:
        """(value, at_ms) of the last changes of a field in `store.history`, newest first."""
        _, row = self._canonical(
            normalize(url), [nodes.history_column(field), nodes.field_column(field)]
        )
        past = history.entries(row.get(nodes.history_column(field)))
        now = row.get(nodes.field_column(field))
        return past or ([(now.value, now.at_ms)] if now else [])

    def known_pages(self, urls: Sequence[str]) -> dict[str, KnownPage]:
        """What fetches of these very URLs (normalized) told; unknown ones are left out."""
        known = {}
        for url, row in self._nodes.read(dict.fromkeys(urls), _KNOWN).items():
            own = facts_of(row, nodes.OWN)
            if own:
                known[url] = KnownPage(
                    status=own["status"],  # type: ignore[arg-type]
                    canonical_url=text(row, nodes.CANONICAL) or own["canonical_url"],  # type: ignore[arg-type]
                    redirects_to=own["redirects_to"],  # type: ignore[arg-type]
                    gone=bool(own["gone"]),
                )
        return known

    def seen_at_ms(self, urls: Sequence[str]) -> list[int | None]:
        """
        When each URL's page was last seen to be as it is stored, by a fetch or a 304.

        None for a page without content. One multi-get, and one more where there are aliases.
        """
        asked = [normalize(url) for url in urls]
        found = self._nodes.follow(asked, _SEEN)
        return [
            page_seen_at_ms(row) if text(row, nodes.CONTENT_KEY) else None
            for url in asked
            for _, row in [found[url]]
        ]

    def list_pages(self, cursor: str | None = None, limit: int = 1000) -> ListPage[str]:
        """URLs of pages, without aliases, in the order of their keys, which is that of hashes."""
        start = bytes.fromhex(cursor or "")
        found: list[str] = []
        columns = [nodes.URL, nodes.CANONICAL, nodes.SENTINEL]
        last, looked = b"", 0
        with closing(self._table.scan(start, None, columns=columns, limit=limit)) as rows:
            for key, row in rows:
                last, looked = key, looked + 1
                url = text(row, nodes.URL)
                if url and nodes.SENTINEL in row and not nodes.alias_of(row, url):
                    found.append(url)
        return ListPage(found, (last + b"\0").hex() if looked == limit else None)

    def list_host(self, host: str, cursor: str | None = None, limit: int = 1000) -> ListPage[str]:
        """URLs of a host, aliases too, in no order that means anything."""
        return self._hosts.page(host, cursor, limit)
