"""Reads records of pages, their histories, and lists of URLs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing

from aragog.errors import BadInput
from aragog.fetch_record.outcome import FetchRecord
from aragog.urlstore import nodes, page_content
from aragog.urlstore.freshness import page_seen_at_ms
from aragog.urlstore.hosts import Hosts
from aragog.urlstore.nodes import Nodes, facts_of, text
from aragog.urlstore.record_reader import (
    BEFORE_VALUES,
    FACTS,
    REPORTS,
    from_cell,
    has_two_pointers,
    newest_report,
    plain_record,
    record_columns,
    record_of,
    row_of,
    to_field_values,
    value_columns,
)
from aragog.urlstore.records import FieldValues, ListPage, Record
from urlspelling import normalize
from urlspelling.canonical import KnownPage
from zengraph import MultiGraph
from zengraph.records import LabelWalk, Row

_new_tuple = tuple.__new__
_NO_FACTS = (None,) * len(FACTS)
_REPORT_COLUMNS = (nodes.URL, nodes.CANONICAL, nodes.REMOVED, nodes.FACTS, *REPORTS)
_KNOWN_COLUMNS = (nodes.URL, nodes.CANONICAL, nodes.OWN)
_SEEN_COLUMNS = (
    nodes.URL, nodes.CANONICAL, nodes.REMOVED, *nodes.POINTERS, nodes.FACTS, nodes.REFRESH,
)  # fmt: skip


class Pages:
    """Reads records, histories and lists of URLs. Threads may share it."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._nodes = Nodes(zen)
        self._hosts = Hosts(zen)

    def get(
        self, url: str, fields: Sequence[str] | None = None, *, info: bool = False
    ) -> Record | None:
        """See `UrlStore.get`."""
        normalized = normalize(url)
        columns = record_columns(fields, info=info)
        row = self._properties.get(self._zen.node_id(normalized), columns)
        pointer = row.get(nodes.CANONICAL)
        if pointer is None or pointer.value == normalized.encode():
            return record_of(
                normalized, normalized, row, fields, info=info, now_ms=self._zen.clock.now_ms
            )
        canonical, canonical_row = self._nodes.follow([normalized], columns, {normalized: row})[
            normalized
        ]
        return record_of(
            normalized,
            canonical,
            canonical_row,
            fields,
            info=info,
            alias=row,
            now_ms=self._zen.clock.now_ms,
        )

    def get_many(
        self, urls: Sequence[str], fields: Sequence[str] | None = None, *, info: bool = False
    ) -> list[Record | None]:
        """See `UrlStore.get_many`."""
        normalized = [normalize(url) for url in urls]
        columns = record_columns(fields, info=info)
        if fields is None or columns is None or info:
            rows = self._nodes.follow(normalized, columns)
            return [
                record_of(url, canonical, row, fields, info=info, now_ms=self._zen.clock.now_ms)
                for url in normalized
                for canonical, row in [rows[url]]
            ]
        return self._get_values(normalized, fields, columns)

    def _get_values(
        self, urls: Sequence[str], fields: Sequence[str], columns: tuple[bytes, ...]
    ) -> list[Record | None]:
        """`get_many` without times, which takes two thirds of the time."""
        ids = self._zen.node_ids(urls)
        found = list(map(self._properties.current_values_many(ids, columns).get, ids))
        records = [
            None if values is None else plain_record(url, values, fields)
            for url, values in zip(urls, found, strict=True)
        ]
        others = [
            url
            for url, values, record in zip(urls, found, records, strict=True)
            if record is None and values is not None
        ]
        if not others:
            return records
        rows = self._rows(dict(zip(urls, found, strict=True)), columns)
        followed = self._nodes.follow(others, columns, rows)
        return [
            record_of(url, *followed[url], fields, info=False, now_ms=self._zen.clock.now_ms)
            if record is None and url in followed
            else record
            for url, record in zip(urls, records, strict=True)
        ]

    def _rows(
        self, values_of: Mapping[str, tuple[bytes | None, ...] | None], columns: tuple[bytes, ...]
    ) -> dict[str, Row]:
        """Return rows with these values. Rows whose times matter are read again."""
        rows = {url: row_of(columns, values or ()) for url, values in values_of.items()}
        timed = [url for url, values in values_of.items() if values and has_two_pointers(values)]
        return rows | self._nodes.read(timed, columns) if timed else rows

    def values(
        self, urls: Sequence[str], fields: tuple[str, ...], *, facts: bool = False
    ) -> list[FieldValues | None]:
        """
        Return the values of `fields` for each normalized URL, in order; None if nothing is stored.

        Takes half the time of `get_many`: returns neither timestamps nor provenance, and facts
        (stored values of the last fetch) only if requested, as bytes.
        """
        ids = self._zen.node_ids(urls)
        get_row = self._properties.values_many(ids, value_columns(fields, facts=facts)).get
        fields_end, present = BEFORE_VALUES + len(fields), nodes.PRESENT
        records: list[FieldValues | None] = []
        add = records.append
        for url, row in zip(urls, map(get_row, ids), strict=True):
            if row is None:
                add(None)
                continue
            canonical = row[2]
            if (
                row[1] == url.encode()
                and (canonical is None or canonical == row[1])
                and row[0] == present
            ):
                values = row[BEFORE_VALUES:fields_end]
                # tuple.__new__ takes two thirds of the time of FieldValues(…).
                head = (url, url, row[3] or b"", values)
                add(_new_tuple(FieldValues, head + (row[fields_end:] if facts else _NO_FACTS)))
            else:
                record = self.get(url, fields)
                add(None if record is None else to_field_values(record, fields))
        return records

    def history(self, url: str, field: str) -> list[tuple[bytes, int]]:
        """Return the last values of a field in `store.history`, as (value, at_ms), newest first."""
        columns = [nodes.history_column(field), nodes.field_column(field)]
        _, row = self._nodes.resolve(normalize(url), columns)
        versions = nodes.history_entries(row.get(nodes.history_column(field)))
        current = row.get(nodes.field_column(field))
        return versions or ([(current.value, current.at_ms)] if current else [])

    def fetch_report(self, url: str) -> FetchRecord | None:
        """
        Return the last fetch of exactly this URL, even if it is an alias; None if never fetched.

        For a URL that was never requested, this is the fetch that returned its canonical URL's
        page; `report.url` is the URL requested then. Takes one round trip, rarely up to three.
        """
        normalized = normalize(url)
        canonical, row = normalized, self._nodes.read([normalized], _REPORT_COLUMNS)[normalized]
        if newest_report(row) is None:
            canonical, row = self._nodes.follow([normalized], _REPORT_COLUMNS, {normalized: row})[
                normalized
            ]
        source = facts_of(row).get("url")
        if newest_report(row) is None and isinstance(source, str) and source != canonical:
            row = self._nodes.read([source], _REPORT_COLUMNS)[source]
        cell = newest_report(row)
        return None if cell is None else from_cell(cell.value, self._zen.node_id(canonical).hex())

    def responses(self, urls: Sequence[str]) -> dict[str, FetchRecord]:
        """Return the fetches that returned the stored pages, by normalized URL."""
        return page_content.responses(self._nodes, urls)

    def known(self, urls: Sequence[str]) -> dict[str, KnownPage]:
        """Return what fetches of exactly these normalized URLs found. Unknown URLs are omitted."""
        pages = {}
        for url, row in self._nodes.read(dict.fromkeys(urls), _KNOWN_COLUMNS).items():
            own_facts = facts_of(row, nodes.OWN)
            if own_facts:
                pages[url] = KnownPage(
                    status=own_facts["status"],  # type: ignore[arg-type]
                    canonical_url=text(row, nodes.CANONICAL) or own_facts["canonical_url"],  # type: ignore[arg-type]
                    redirects_to=own_facts["redirects_to"],  # type: ignore[arg-type]
                    gone=bool(own_facts["gone"]),
                )
        return pages

    def seen_at_ms(self, urls: Sequence[str]) -> list[int | None]:
        """
        Return when a fetch or a 304 last confirmed each URL's stored page, or None without content.

        Takes one multi-get, and one more if there are aliases.
        """
        normalized = [normalize(url) for url in urls]
        rows = self._nodes.follow(normalized, _SEEN_COLUMNS)
        return [
            page_seen_at_ms(row) if nodes.content_cell(row) else None
            for url in normalized
            for _, row in [rows[url]]
        ]

    def urls(self, cursor: str | None = None, limit: int = 1000) -> ListPage[str]:
        """Return URLs of pages, without aliases, in no particular order."""
        start = bytes.fromhex(cursor or "")
        result: list[str] = []
        columns = [nodes.URL, nodes.CANONICAL, nodes.SENTINEL]
        last, count = b"", 0
        with closing(self._properties.scan(start, names=columns, limit=limit)) as rows:
            for key, row in rows:
                last, count = key, count + 1
                url = text(row, nodes.URL)
                if url and nodes.SENTINEL in row and not nodes.alias_of(row, url):
                    result.append(url)
        return ListPage(result, (last + b"\0").hex() if count == limit else None)

    def with_value(
        self, field: str, value: bytes, cursor: str | None = None, limit: int = 1000
    ) -> ListPage[str]:
        """
        Return URLs of pages with this value in a field, without aliases, in no particular order.

        Takes a range scan per bucket and a read per page; for a unique field, two reads.

        Raises:
            BadInput: the field is neither in `store.indexed` nor in `store.unique`.
        """
        if field not in self._zen.schema.searchable:
            raise BadInput(f"{field[:200]!r} is not indexed: add it to store.indexed, then repair")
        after = bytes.fromhex(cursor) if cursor else None
        ids, end = self._zen.lookup(field, value, limit, after)
        rows = self._properties.get_many(ids, [nodes.URL, nodes.CANONICAL])
        urls = [(row, text(row, nodes.URL)) for key in ids if (row := rows.get(key))]
        items = [url for row, url in urls if url and nodes.alias_of(row, url) is None]
        return ListPage(items, end.hex() if end else None)

    def urls_of_host(
        self, host: str, cursor: str | None = None, limit: int = 1000
    ) -> ListPage[str]:
        """Return URLs of a host, including aliases, in no particular order."""
        return self._hosts.page(host, cursor, limit)

    def hosts(self, beyond: str = "") -> LabelWalk:
        """Walk over the hosts with stored URLs. See `LabelWalk` for order and cost."""
        return self._hosts.walk(beyond)
