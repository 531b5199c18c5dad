"""Reads and writes page content: the stored body and the node's pointer to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import orjson

from aragog.fetch_record.outcome import FetchRecord
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies, pack_cells, version_at
from aragog.urlstore.compression import compress, content_hash, content_key, object_bytes
from aragog.urlstore.hosts import host_put
from aragog.urlstore.nodes import Nodes, facts_of
from aragog.urlstore.object_reads import PUT_AT, read_object
from aragog.urlstore.packs.pack_writer import PackTicket
from aragog.urlstore.record_reader import BASE, from_cell
from aragog.urlstore.records import Content, is_expired
from aragog.urlstore.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.warc_records import WarcPage
from aragog.urlstore.write_clock import WriteClock
from urlspelling import normalize
from zengraph import MultiGraph
from zengraph.records import Row, put_properties

_COLUMNS = (*BASE, nodes.RESPONSE, nodes.FETCHED, nodes.CONTENT_LENGTH)

Admit = Callable[[int], None]
"""Called with the memory (in bytes) that the next body needs. Raises if it is not available."""


RESPONSE = (nodes.FACTS, nodes.CONTENT_HASH, nodes.RESPONSE, nodes.FETCHED)


def complete_metadata(
    meta: Mapping[str, str], canonical: str, row: Row, urls: Nodes
) -> dict[str, str]:
    """
    Return the metadata of a page's content, including the response that returned it.

    Adds `status`, `headers`, `fetched_at_ms`, `http_version`, and the server's `address` and `tls`
    version.

    Older versions of aragog stored the response with the requested URL. If that URL is an alias,
    this takes one more read; if another page is stored there now, the response is lost.
    """
    if "headers" in meta or "fetched_at_ms" not in meta:
        return dict(meta)
    requested = str(facts_of(row).get("url") or canonical)
    report = nodes.response_cell(row)
    if report is None and requested != canonical:
        columns = [nodes.URL, nodes.FETCHED]
        report = urls.read([requested], columns)[requested].get(nodes.FETCHED)
    if report is None or report.at_ms != row[nodes.CONTENT_HASH].at_ms:
        return dict(meta)
    record = from_cell(report.value, urls.id_of(requested).hex())
    return {
        **meta,
        "status": str(record.status),
        "fetched_at_ms": str(record.fetched_at_ms),
        "headers": orjson.dumps(record.headers).decode(),
        "address": record.address or "",
        "tls": record.tls or "",
        "http_version": record.http_version or "",
    }


def responses(urls: Nodes, urls_requested: Sequence[str]) -> dict[str, FetchRecord]:
    """
    Return the fetches that returned the stored pages, by requested URL (normalized).

    Pages whose content was not fetched are omitted. Takes one multi-get, and one more if there are
    aliases.
    """
    columns = [nodes.URL, nodes.CANONICAL, nodes.REMOVED, *RESPONSE]
    rows = urls.follow(list(dict.fromkeys(urls_requested)), columns)
    requested = {
        url: canonical if nodes.response_cell(row) else str(facts_of(row).get("url") or canonical)
        for url, (canonical, row) in rows.items()
    }
    nodes_by_url = dict(rows.values())
    missing = [url for url in requested.values() if url not in nodes_by_url]
    nodes_by_url |= urls.read(dict.fromkeys(missing), columns) if missing else {}
    records = {}
    for url, (_, row) in rows.items():
        fetched_row = nodes_by_url[requested[url]]
        content, report = (
            row.get(nodes.CONTENT_HASH),
            nodes.response_cell(row) or fetched_row.get(nodes.FETCHED),
        )
        if content is not None and report is not None and report.at_ms == content.at_ms:
            records[url] = from_cell(report.value, urls.id_of(requested[url]).hex())
    return records


class PageContent:
    """Reads and replaces the body of the page that a URL leads to."""

    def __init__(
        self,
        zen: MultiGraph,
        bodies: Bodies,
        takedowns: Takedowns,
        clock: WriteClock,
    ) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._bodies = bodies
        self._takedowns = takedowns
        self._clock = clock

    def get(self, url: str, admit: Admit | None = None) -> Content | None:
        """See `UrlStore.content`."""
        normalized, admitted = normalize(url), 0

        def count(size: int) -> None:
            nonlocal admitted
            if admit is not None and size > admitted:
                admit(size - admitted)
                admitted = size

        def read_node() -> tuple[str, Row] | None:
            canonical, row = self._nodes.follow([normalized], _COLUMNS)[normalized]
            is_shown = nodes.SENTINEL in row
            if not is_shown or is_expired(facts_of(row), self._clock.now_ms()):
                return None
            if (length := row.get(nodes.CONTENT_LENGTH)) is not None:
                count(int(length.value))
            return canonical, row

        stored = read_object(self._bodies, read_node, self._clock.clock.sleep_s)
        if stored is None:
            return None
        canonical, row, body, meta = stored
        meta = complete_metadata(meta, canonical, row, self._nodes)
        count(len(body))
        return Content(canonical, body, meta, facts_of(row))

    def get_at(self, url: str, at_ms: int, admit: Admit | None = None) -> Content | None:
        """See `UrlStore.content`, with `at_ms`."""
        canonical, row = self._nodes.resolve(normalize(url), BASE)
        row = self._zen.nodes.get(self._zen.node_id(canonical)) if nodes.SENTINEL in row else {}
        packs = self._bodies.packs
        if not row or packs is None or is_expired(facts_of(row), self._clock.now_ms()):
            return None
        pointer = version_at(row, at_ms, packs.settings.keep_versions)
        if pointer is None:
            return None
        stored = self._bodies.read(pointer)
        if admit is not None:
            admit(len(stored.body))
        return Content(canonical, stored.body, {**stored.meta, "url": canonical}, facts_of(row))

    def put(self, url: str, body: bytes, meta: Mapping[str, str], *, at_ms: int | None) -> None:
        """See `UrlStore.put_content`."""
        now_ms, at_ms = self._clock.now_ms(), self._clock.instant(at_ms)
        canonical, row = self._nodes.resolve(normalize(url), BASE)
        check_not_taken_down(canonical, row)
        sentinel = {nodes.URL: canonical.encode(), nodes.SENTINEL: nodes.record_marker(row)}
        version = {nodes.VERSION: os.urandom(8).hex().encode()}
        with self._takedowns.guard_write(canonical):
            cells, ticket = self._put_body(canonical, body, meta, at_ms)
            self._zen.mutate([host_put(self._zen, canonical, now_ms)])
            self._zen.mutate(
                [
                    put_properties(self._zen.node_id(canonical), {**sentinel, **cells}, at_ms),
                    put_properties(self._zen.node_id(canonical), version, now_ms),
                ]
            )
            self._release_previous(canonical, row, cells, at_ms)
            if ticket is not None:
                ticket.settle()

    def _put_body(
        self, canonical: str, body: bytes, meta: Mapping[str, str], at_ms: int
    ) -> tuple[dict[bytes, bytes], PackTicket | None]:
        """Return the cells that point to the stored body and, for a pack, its ticket."""
        dated_meta = {**meta, PUT_AT: str(at_ms)}
        if self._bodies.in_packs and self._bodies.packs:
            page = WarcPage(canonical, at_ms, content_hash(body), len(body), dated_meta)
            record = self._bodies.packs.record_of(page, compress(body))
            ticket = self._bodies.packs.writer.add([record], now=True)
            (pointer,) = ticket.wait()
            return pack_cells(pointer, page.digest, len(body)), ticket
        compressed, key = object_bytes(compress(body)), content_key(canonical)
        self._bodies.objects.put(
            key, compressed, {**dated_meta, "url": canonical, "encoding": "zstd"}
        )
        cells = {
            nodes.CONTENT_KEY: key.encode(),
            nodes.CONTENT_HASH: content_hash(compressed).encode(),
            nodes.CONTENT_LENGTH: b"%d" % len(body),
            nodes.CONTENT_ENCODING: b"zstd",
        }
        return cells, None

    def _release_previous(
        self, canonical: str, row: Row, cells: Mapping[bytes, bytes], at_ms: int
    ) -> None:
        """Release the previous content, unless it is newer than the new content."""
        previous = nodes.content_cell(row)
        if (
            previous is None
            or previous[1].at_ms > at_ms
            or cells.get(previous[0]) == previous[1].value
        ):
            return
        if previous[0] == nodes.CONTENT_PACK or previous[0] not in cells:
            self._bodies.give_up({previous[0]: previous[1]})
        if previous[0] not in cells:
            self._zen.nodes.delete(
                self._zen.node_id(canonical), [previous[0]], at_ms=previous[1].at_ms
            )
