"""
Import and export a UrlStore as records, in constant memory, in any format.

An import reports bad lines by number and continues. After an interruption, restart it from the
start or the last reported line: older values never replace newer ones. An export reads the nodes in
key order and returns a cursor, at which another export can resume.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol, cast

from aragog.transfer.bulk_writer import BulkWriter, NumberedRecord, OnProblem
from aragog.transfer.identity_evidence import exported_alias_facts, exported_facts
from aragog.transfer.json_lines import BadRecord, ReadRecord, UrlRecord
from aragog.urlstore.crawl_members import crawl_column
from aragog.urlstore.nodes import (
    CANONICAL,
    PROVISIONAL,
    REMOVED,
    SENTINEL,
    URL,
    Nodes,
    alias_of,
    is_taken_down,
    text,
)
from aragog.urlstore.record_reader import record_of
from aragog.urlstore.records import OutLink, is_allowed, is_expired
from aragog.urlstore.store import UrlStore
from zengraph import MultiGraph
from zengraph.records import Row

_READ_BATCH_SIZE = 500

NodeSource = Generator[tuple[bytes, Row], None, None]
"""Keys and nodes to export."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSelection:
    """The nodes to export; by default, all."""

    urls: Iterable[str] | None = None
    """Normalized URLs. Cannot be combined with `cursor`."""
    cursor: str | None = None
    """The cursor from an earlier export's report, to resume there."""
    limit: int | None = None
    """The maximum number of records to export."""
    nodes: NodeSource | None = None
    """Yields the nodes to export. Cannot be combined with `urls` or `cursor`."""
    crawl: str | None = None
    """Only pages stored for this crawl."""


EVERYTHING = NodeSelection()


class SelectedNodes(AbstractContextManager["SelectedNodes"]):
    """Yields the selected nodes, in order, until `exported_count` reaches `limit`."""

    def __init__(
        self, zen: MultiGraph, selection: NodeSelection, columns: Sequence[bytes] | None = None
    ) -> None:
        self.cursor = selection.cursor
        """Where to resume, or None after the last node."""
        self.exported_count = 0
        """Number of exported records; the caller increments it."""
        self._limit = selection.limit
        self._crawl = None if selection.crawl is None else crawl_column(selection.crawl)
        if columns is not None and self._crawl is not None:
            columns = [*columns, self._crawl]
        self._nodes = selection.nodes or read_nodes(zen, selection.urls, selection.cursor, columns)

    def __iter__(self) -> Iterator[Row]:
        for key, row in self._nodes:
            if self.exported_count == self._limit:
                return
            self.cursor = key.hex()
            if self._crawl is None or text(row, self._crawl):
                yield row
        self.cursor = None

    def __exit__(self, *error: object) -> None:
        self._nodes.close()


def read_nodes(
    zen: MultiGraph,
    urls: Iterable[str] | None,
    cursor: str | None = None,
    columns: Sequence[bytes] | None = None,
) -> NodeSource:
    """Yield the keys and nodes of `urls` (normalized), in order, or all nodes in key order."""
    if urls is None:
        start = b"" if cursor is None else bytes.fromhex(cursor) + b"\0"
        yield from zen.nodes.scan(start, names=columns)
        return
    nodes, remaining = Nodes(zen), iter(urls)
    while batch := list(itertools.islice(remaining, _READ_BATCH_SIZE)):
        for url, row in nodes.read(batch, columns).items():
            yield zen.node_id(url), row


BATCH = 500
BATCH_BYTES = 4 << 20
MAX_LINKS = 6000

SpanMs = tuple[int, int]
"""Start (inclusive) and end (exclusive), in ms since the epoch."""

FindTexts = Callable[[str], Mapping[str, bytes]]
"""Returns a page's main text, as fields that replace the record's."""

OnProgress = Callable[[int], None]
"""Called after each batch with the last line or row number."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import."""

    last_number: int
    """The last line or row read. A restarted import continues after it."""
    written: int
    """Records stored."""
    problems: int
    """Lines or rows that could not be imported."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export."""

    records: int
    cursor: str | None
    """Where to resume, or None if the export is complete."""


class Sink(Protocol):
    """The destination of an export."""

    def write(self, records: Sequence[UrlRecord]) -> None:
        """Append records, in order."""

    def close(self) -> None:
        """Finish the file."""


def import_urls(
    source: Iterable[ReadRecord],
    writer: BulkWriter,
    *,
    on_problem: OnProblem,
    on_progress: OnProgress = lambda _: None,
    batch: int = BATCH,
) -> ImportReport:
    """
    Write the records of `source` (`read_json_lines`, `read_parquet`) and report bad ones.

    Raises:
        StoreUnavailable: records up to `on_progress`'s last number are stored; resume after it.
    """
    last_number = written_count = problem_count = 0
    for records in _batches(source, batch):
        invalid = [
            (number, str(record)) for number, record in records if isinstance(record, BadRecord)
        ]
        valid = [numbered for numbered in records if not isinstance(numbered[1], BadRecord)]
        written_count += writer.write(
            cast("list[NumberedRecord]", valid), lambda *each, to=invalid: to.append(each)
        )
        for number, reason in sorted(invalid):
            on_problem(number, reason)
        problem_count += len(invalid)
        last_number = records[-1][0]
        on_progress(last_number)
    return ImportReport(last_number, written_count, problem_count)


def export_urls(
    zen: MultiGraph,
    sink: Sink,
    selection: NodeSelection = EVERYTHING,
    *,
    fields: Sequence[str] | None = None,
    aliases: bool = True,
    link_store: UrlStore | None = None,
    find_texts: FindTexts | None = None,
    purpose: str | None = None,
    fetched: SpanMs | None = None,
    on_progress: OnProgress = lambda _: None,
) -> ExportReport:
    """
    Write the selected URLs that have data to `sink`, which stays open. `aliases` includes aliases.

    This is not a snapshot: concurrent writes may or may not be included. A page taken down
    meanwhile is skipped, unless its batch has already been written.

    `fields` lists the fields to export; None exports all. Outlinks are read from `link_store`, at
    most 6,000 per page. `find_texts` adds the main text. Pages whose `unavailable_after` has passed
    are always skipped, and so are pages whose sites refuse `purpose`. With `fetched`, only pages
    last successfully fetched in that time span are included.

    Raises:
        StoreUnavailable: the sink contains complete batches only.
    """
    nodes = Nodes(zen)
    with SelectedNodes(zen, selection) as selected:
        records = _selected_records(
            selected,
            fields,
            aliases=aliases,
            link_store=link_store,
            find_texts=find_texts,
            purpose=purpose,
            now_ms=zen.clock.now_ms,
            fetched=fetched,
        )
        for batch in _size_limited_batches(records):
            sink.write(_without_taken_down(batch, nodes))
            on_progress(selected.exported_count)
    return ExportReport(selected.exported_count, selected.cursor)


def _selected_records(
    selected: SelectedNodes,
    fields: Sequence[str] | None,
    *,
    aliases: bool,
    link_store: UrlStore | None,
    find_texts: FindTexts | None,
    purpose: str | None,
    fetched: SpanMs | None,
    now_ms: Callable[[], int],
) -> Iterator[UrlRecord]:
    for row in selected:
        record = _to_record(row, fields, aliases=aliases)
        if record is None or is_expired(record.facts, now_ms()):
            continue
        if fetched is not None and not _was_fetched(record, fetched):
            continue
        # An alias does not have its page's data or permitted uses.
        if record.canonical_url is not None or is_allowed(record.facts, purpose):
            selected.exported_count += 1
            if find_texts is not None and record.content_key is not None:
                record = replace(record, fields={**record.fields, **find_texts(record.url)})
            yield _with_links(record, link_store) if link_store else record


def _was_fetched(record: UrlRecord, span: SpanMs) -> bool:
    at_ms = record.facts.get("fetched_at_ms")
    return isinstance(at_ms, int) and span[0] <= at_ms < span[1]


def _size_limited_batches(records: Iterable[UrlRecord]) -> Iterator[list[UrlRecord]]:
    """Yield batches of at most `BATCH` records. A batch also ends when it exceeds `BATCH_BYTES`."""
    batch: list[UrlRecord] = []
    weight = 0
    for record in records:
        batch.append(record)
        weight += record.weight_bytes
        if len(batch) == BATCH or weight > BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _without_taken_down(batch: Sequence[UrlRecord], nodes: Nodes) -> list[UrlRecord]:
    """
    Return the records whose nodes still have data. Reading a batch may take minutes, during which
    pages may be taken down.
    """
    rows = nodes.read([record.url for record in batch], [SENTINEL, CANONICAL, REMOVED])
    stored = {
        url
        for url, row in rows.items()
        if (SENTINEL in row or alias_of(row, url)) and not is_taken_down(row)
    }
    return [record for record in batch if record.url in stored]


def _batches(source: Iterable[ReadRecord], size: int) -> Iterator[list[ReadRecord]]:
    batch: list[ReadRecord] = []
    weight = 0
    for number, record in source:
        batch.append((number, record))
        weight += 0 if isinstance(record, BadRecord) else record.weight_bytes
        if len(batch) == size or weight > BATCH_BYTES:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch


def _to_record(row: Row, fields: Sequence[str] | None, *, aliases: bool) -> UrlRecord | None:
    url = text(row, URL)
    if url is None or is_taken_down(row):
        return None
    canonical = alias_of(row, url)
    if canonical is not None:
        if not aliases:
            return None
        return UrlRecord(
            url=url,
            canonical_url=canonical,
            canonical_at_ms=row[CANONICAL].at_ms,
            provisional=bool(text(row, PROVISIONAL)),
            facts=exported_alias_facts(row),
        )
    if SENTINEL not in row:
        return None
    record = record_of(url, url, row, fields, info=True)
    if record is None:
        return None
    return UrlRecord(
        url=url,
        fields=record.fields,
        at_ms={name: info.at_ms for name, info in record.info.items()},
        provenance={name: info.provenance for name, info in record.info.items() if info.provenance},
        due_at_ms=record.due_at_ms,
        facts=exported_facts(row, record.facts),
        content_key=record.content_key,
        content_hash=record.content_hash,
        content_bytes=record.content_bytes,
    )


def _with_links(record: UrlRecord, store: UrlStore) -> UrlRecord:
    if record.canonical_url is not None:
        return record
    page = store.links.outlinks(record.url, MAX_LINKS)
    links = tuple(OutLink(link.url, link.text, link.rel) for link in page.items)
    return replace(record, links=links) if links else record
