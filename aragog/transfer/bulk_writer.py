"""
A bulk writer for imports: writes a batch of records with one multi-get and a few batched writes.

Writing a record has the same effect as `UrlStore.put`, and writing it again changes only its
version. Aliases and links need additional calls, one record at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from aragog.errors import BAD_INPUT, InvalidUrl, NotUnique
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import StoreSettings
from aragog.transfer.identity_evidence import alias_cell, page_cells
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore import nodes
from aragog.urlstore.crawl_members import IMPORTED, crawl_column
from aragog.urlstore.due_index import due_cell, due_put
from aragog.urlstore.field_rules import FieldRules
from aragog.urlstore.hosts import host_put, is_in_sample, sample_put, sender_put
from aragog.urlstore.items import record_puts
from aragog.urlstore.nodes import Nodes, field_column, history_column, provenance_column, text
from aragog.urlstore.record_reader import BASE
from aragog.urlstore.same_content import SameContent, entry_put
from aragog.urlstore.store import UrlStore
from urlspelling import normalize
from zengraph import MultiGraph
from zengraph.records import Cell, Mutation, Row, put_properties

OnProblem = Callable[[int, str], None]
NumberedRecord = tuple[int, UrlRecord]


class BulkWriter:
    """Writes batches of records. Safe to repeat, and safe with concurrent writers."""

    def __init__(
        self, store: UrlStore, zen: MultiGraph, settings: StoreSettings, clock: Clock | None = None
    ) -> None:
        self._store = store
        self._zen = zen
        self._nodes = Nodes(zen)
        self._same_content = SameContent(zen)
        self._rules = FieldRules(settings)
        self._histories = settings.history
        self._history_length = settings.history_length
        self._clock = clock or SystemClock()
        history_columns = [(field_column(name), history_column(name)) for name in settings.history]
        self._columns = [*BASE, *(column for pair in history_columns for column in pair)]

    def write(self, records: Sequence[NumberedRecord], on_problem: OnProblem) -> int:
        """
        Write all valid records and report the others by number; returns how many were written.

        Raises:
            StoreUnavailable: part of the batch may have been written; write the batch again.
        """
        now_ms = self._clock.now_ms()
        before = self._store.takedowns.count()
        valid = self._not_taken_down(
            [
                (number, url, record)
                for number, record in records
                if (url := self._check(number, record, on_problem)) is not None
            ],
            on_problem,
        )
        without_alias = [numbered for numbered in valid if numbered[2].canonical_url is None]
        written = self._write_plain(without_alias, now_ms, on_problem)
        for number, url, record in valid:
            written += self._write_alias_and_links(number, url, record, on_problem)
        sources = [source for *_, record in valid if (source := _source_url(record))]
        self._store.takedowns.recheck([*sources, *(url for _, url, _ in valid)], before)
        return written

    def _not_taken_down(
        self, records: Sequence[tuple[int, str, UrlRecord]], on_problem: OnProblem
    ) -> list[tuple[int, str, UrlRecord]]:
        """Drop records whose pages were fetched from a taken-down URL. Takes one multi-get."""
        sources = {
            number: source for number, _, record in records if (source := _source_url(record))
        }
        refused = self._store.takedowns.refused(sources.values()) if sources else set()
        for number, source in sources.items():
            if source in refused:
                on_problem(number, f"its page was fetched from {source}, which was taken down")
        return [entry for entry in records if sources.get(entry[0]) not in refused]

    def _check(self, number: int, record: UrlRecord, on_problem: OnProblem) -> str | None:
        """Return the normalized URL, or report the record's problem and return None."""
        try:
            self._rules.check(record.fields)
            for name, at_ms in record.at_ms.items():
                self._store.clock.instant(at_ms, f"at_ms.{name}")
            for link in record.links or ():
                normalize(link.url)
            if record.canonical_url is not None:
                normalize(record.canonical_url)
            return normalize(record.url)
        except BAD_INPUT as error:
            on_problem(number, str(error))
            return None

    def _write_plain(
        self, plain: Sequence[tuple[int, str, UrlRecord]], now_ms: int, on_problem: OnProblem
    ) -> int:
        result = self._nodes.follow([url for _, url, _ in plain], self._columns)
        rows: dict[str, Row] = {}
        index: list[Mutation] = []
        puts: list[tuple[int, list[Mutation]]] = []
        outdated_rows: dict[int, tuple[bytes, int, int]] = {}
        written = 0
        for number, url, record in plain:
            canonical, row = result[url]
            row = rows.setdefault(canonical, row)
            if nodes.is_taken_down(row) or self._store.takedowns.site_refused(url, canonical):
                on_problem(number, f"{canonical} was taken down")
                continue
            if nodes.SENTINEL not in row:
                index.append(host_put(self._zen, canonical, now_ms))
                if is_in_sample(canonical):
                    index.append(sample_put(self._zen, canonical, now_ms))
            if (source := _source_url(record)) and source != canonical:
                at_ms = max([record.at_ms.get(name, now_ms) for name in record.fields] or [now_ms])
                index.append(sender_put(self._zen, canonical, source, at_ms))
            puts.append((number, self._node_mutations(canonical, rows, record, now_ms)))
            if record.due_at_ms is not None:
                old = text(row, nodes.DUE)
                if old and int(old) != record.due_at_ms:
                    outdated_rows[number] = (self._zen.node_id(canonical), int(old), now_ms)
                index.append(due_put(self._zen, canonical, record.due_at_ms, now_ms))
            written += 1
        # Write index rows before the nodes that make them valid, and remove invalid rows last.
        self._zen.mutate(index)
        refused = self._mutate(puts, on_problem)
        if outdated := [row for number, row in outdated_rows.items() if number not in refused]:
            self._zen.by_number.delete_many(outdated)
        return written - len(refused)

    def _mutate(
        self, records: Sequence[tuple[int, list[Mutation]]], on_problem: OnProblem
    ) -> set[int]:
        """
        Write each record's mutations. Returns the numbers of the records that were refused because
        another page has their unique value.
        """
        refused_numbers: set[int] = set()
        try:
            self._zen.mutate([put for _, puts in records for put in puts])
        except NotUnique:
            for number, puts in records:
                try:
                    self._zen.mutate(puts)
                except NotUnique as error:
                    refused_numbers.add(number)
                    on_problem(number, str(error))
        return refused_numbers

    def _node_mutations(
        self, canonical: str, rows: dict[str, Row], record: UrlRecord, now_ms: int
    ) -> list[Mutation]:
        by_time: dict[int, dict[bytes, bytes]] = {}
        for name, value in record.fields.items():
            at_ms = record.at_ms.get(name, now_ms)
            cells = by_time.setdefault(at_ms, {})
            cells[field_column(name)] = value
            cells[provenance_column(name)] = record.provenance.get(name, "").encode()
            cells |= self._history_cell(canonical, rows, name, value, at_ms)
        sentinel = nodes.record_marker(rows[canonical])
        for cells in by_time.values() or [by_time.setdefault(now_ms, {})]:
            cells |= {nodes.URL: canonical.encode(), nodes.SENTINEL: sentinel}
        written_now = {nodes.VERSION: os.urandom(8).hex().encode(), crawl_column(IMPORTED): b"1"}
        if record.due_at_ms is not None:
            written_now[nodes.DUE] = due_cell(record.due_at_ms)
        key = self._zen.node_id(canonical)
        evidence = page_cells(canonical, rows[canonical], record, now_ms)
        entries: list[Mutation] = []
        if evidence:
            state_of_page, fetched_at_ms = evidence
            rows[canonical] = {**rows[canonical], nodes.FACTS: Cell(b"{}", fetched_at_ms)}
            by_time[fetched_at_ms] = {**by_time.get(fetched_at_ms, {}), **state_of_page}
            if cell := state_of_page.get(nodes.LIKENESS):
                likeness = nodes.stored_likeness({nodes.LIKENESS: Cell(cell, fetched_at_ms)})
                entries = self._same_content.skip_damaged(
                    entry_put(canonical, likeness, fetched_at_ms)
                )
        for name, value in record.fields.items():
            entries += record_puts(canonical, {name: value}, record.at_ms.get(name, now_ms))
        return [*entries, *(put_properties(key, cells, at_ms) for at_ms, cells in by_time.items()),
                put_properties(key, written_now, now_ms)]  # fmt: skip

    def _history_cell(
        self, canonical: str, rows: dict[str, Row], name: str, value: bytes, at_ms: int
    ) -> dict[bytes, bytes]:
        """
        Return the history cell of a field, if it has a history. Also updates `rows`, because a URL
        may occur twice in a batch.
        """
        if name not in self._histories:
            return {}
        history = nodes.history_cell(rows[canonical], name)
        updated = nodes.history_with(history, value, at_ms, self._history_length)
        if updated is None:
            return {}
        rows[canonical] = {**rows[canonical], history_column(name): Cell(updated, at_ms)}
        return {history_column(name): updated}

    def _write_alias_and_links(
        self, number: int, url: str, record: UrlRecord, on_problem: OnProblem
    ) -> int:
        """
        Write a record's alias and links. Return 1 if the record is an alias, because `write` has
        not counted it yet; otherwise 0.
        """
        try:
            if record.links:
                self._store.links.add(url, record.links)
            if record.canonical_url is None:
                return 0
            self._store.aliases.merge(
                url,
                record.canonical_url,
                at_ms=record.canonical_at_ms,
                provisional=record.provisional,
                reasons=("imported",),
            )
            if own_cell := alias_cell(record):
                at_ms = record.canonical_at_ms or self._clock.now_ms()
                self._zen.nodes.put(
                    self._zen.node_id(normalize(url)), {nodes.OWN: own_cell}, at_ms=at_ms
                )
            if record.fields:
                self._write_plain([(number, url, record)], self._clock.now_ms(), on_problem)
        except BAD_INPUT as error:
            on_problem(number, str(error))
            return 0
        return 1


def _source_url(record: UrlRecord) -> str | None:
    source = record.facts.get("final_url")
    try:
        return normalize(source) if isinstance(source, str) else None
    except InvalidUrl:
        return None
