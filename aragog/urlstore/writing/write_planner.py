"""
Decides which node each page of a batch is written to, and reads what is stored there.

Pages that share a URL are planned one after the other, each after the previous page was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from aragog.urlstore import nodes
from aragog.urlstore.nodes import Nodes, alias_of, facts_of
from aragog.urlstore.records import PageWrite
from aragog.urlstore.writing import page_plan
from aragog.urlstore.writing.agreement import (
    Judgment,
    Standing,
    agrees,
    claimant,
    is_disproved,
    is_failed_fetch,
    judge,
)
from aragog.urlstore.writing.next_due import vanished_fields
from aragog.urlstore.writing.page_plan import PageTarget
from aragog.urlstore.writing.trust import Trust
from zengraph import MultiGraph
from zengraph.records import Lease, Row

_COLUMNS = (
    nodes.SENTINEL,
    nodes.URL,
    nodes.CANONICAL,
    nodes.OWN,
    nodes.FACTS,
    nodes.PROVENANCE,
    nodes.CONTENT_HASH,
    *nodes.POINTERS,
    nodes.DUE,
    nodes.REMOVED,
    nodes.REFRESH,
    nodes.WATCHED,
    nodes.SIGNAL,
    nodes.LEAVING,
    nodes.PROVISIONAL,
    nodes.REASONS,
    nodes.LIKENESS,
    nodes.MOVED,
    nodes.CLAIM,
    nodes.CONFLICTING_PAGES,
    nodes.ENQUEUED_FOR_CHECK,
    nodes.WITHDRAWN,
)

CLAIM_MS = 600_000
"""Milliseconds that a page's claim to a canonical URL lasts."""


class WritePlanner:
    """Reads nodes, and decides on the targets of pages."""

    def __init__(
        self,
        zen: MultiGraph,
        trust: Trust,
        history: Sequence[str],
        refuses: Callable[[str], bool],
    ) -> None:
        self._zen = zen
        self._nodes = Nodes(zen)
        self._trust = trust
        self._refuses = refuses
        history_columns = [(nodes.field_column(f), nodes.history_column(f)) for f in history]
        self._columns = (*_COLUMNS, *(column for pair in history_columns for column in pair))
        self._fields = frozenset(history)
        self._claim_clock = zen.clock
        self._claim = zen.nodes.leases(nodes.CLAIM, CLAIM_MS, zen.clock)

    def plan(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[list[PageTarget], dict[str, Row], list[PageWrite]]:
        """
        Return the targets, all nodes that were read, and the pages to plan after these.

        Also detaches URLs from canonical URLs that their pages no longer declare.

        Raises:
            StoreUnavailable: write the batch again.
        """
        rows = self._read(pages)
        targets = []
        remaining = []
        seen_urls: set[str] = set()
        for page in sorted(pages, key=lambda page: page.fetched_at_ms):
            judgment = judge(page, rows, now_ms)
            page_urls = {judgment.canonical, *page.urls, *page_plan.stored_canonicals(page, rows)}
            must_wait = not seen_urls.isdisjoint(page_urls)
            seen_urls |= page_urls  # even if this page waits: later pages must wait for it
            if must_wait or self._detach(page, judgment, rows, now_ms):
                remaining.append(page)
            else:
                targets.append(self._target_of(page, judgment, rows))
        return self._with_vanished_fields(targets), rows, remaining

    def _read(self, pages: Sequence[PageWrite]) -> dict[str, Row]:
        for page in pages:
            if not self._fields.issuperset(page.fields):
                self._add_known_fields(page.fields)
        urls = {url for page in pages for url in page.urls}
        rows = self._nodes.read(urls, self._columns)
        while missing := page_plan.referenced_urls(rows):
            rows |= self._nodes.read(missing, self._columns)
        return rows

    def _target_of(self, page: PageWrite, judgment: Judgment, rows: dict[str, Row]) -> PageTarget:
        """Return a page's target, which says if the page is stale, refused, or a copy."""
        canonical = judgment.canonical
        row = rows.get(canonical, {})
        nodes.check_url(row, canonical)
        before_ms = page_plan.seen_at_ms(row, failed=is_failed_fetch(page))
        refused = self._is_refused(page, canonical, rows)
        if judgment.is_doubted and nodes.ENQUEUED_FOR_CHECK in rows.get(
            judgment.declared or "", {}
        ):
            judgment = replace(judgment, is_doubted=False)
        older_by_ms = max(0, before_ms - page.fetched_at_ms)
        return PageTarget(
            page,
            canonical,
            row,
            rows.get(page.url, {}),
            judgment,
            older_by_ms,
            refused=refused,
            aliases=() if refused else self._aliases_of(page, judgment, rows),
        )

    def _is_refused(self, page: PageWrite, canonical: str, rows: Mapping[str, Row]) -> bool:
        """Return True if a node does not accept the page, or one of its URLs was taken down."""
        urls = [url for url in {page.url, canonical} if url in rows]
        return any(page_plan.refuses(rows[url], page) for url in urls) or any(
            self._is_taken_down(rows, url) for url in page_plan.identifying_urls(page)
        )

    def _detach(
        self, page: PageWrite, judgment: Judgment, rows: dict[str, Row], now_ms: int
    ) -> bool:
        """
        Detach URLs from canonical URLs that this page disproves or no longer declares.

        Returns True if the page must be judged again, because URLs were detached or another page
        declared its canonical URL first.
        """
        if judgment.standing is Standing.OWN and not any(map(rows.get, page.urls)):
            return False  # most pages of a crawl are new: none of their URLs leads elsewhere
        if judgment.standing is Standing.DISPUTES:
            self._trust.dispute(str(judgment.declared), page.final_url, now_ms)
            return True
        if is_disproved(page, judgment, rows):
            why = f"{judgment.canonical} was fetched and has another page"
            self._trust.separate_aliases(judgment.canonical, now_ms, why)
            return True
        if self._hand_over_record(page, judgment, rows, now_ms):
            return True
        return self._detach_urls(page, judgment, rows, now_ms) or not self._claim_canonical(
            page, judgment, rows
        )

    def _hand_over_record(
        self, page: PageWrite, judgment: Judgment, rows: dict[str, Row], now_ms: int
    ) -> bool:
        """
        Hand a never-fetched canonical URL's record over to the aliases that matched it.

        Does so only if the record was fetched from this page's URL and the page has changed since.
        Returns True if there were such aliases.
        """
        if is_failed_fetch(page):
            return False
        sent_records = {
            canonical
            for url in (page.url, page.final_url)
            for canonical in (judgment.canonical, alias_of(rows.get(url, {}), url))
            if canonical and canonical != url and url in nodes.page_senders(rows.get(canonical, {}))
        }
        changed_records = [
            canonical
            for canonical in sorted(sent_records)
            if not nodes.was_fetched(rows[canonical])
            and page_plan.seen_at_ms(rows[canonical], failed=False) < page.fetched_at_ms
            and agrees(page, rows[canonical]) is False
        ]
        handed_over = [self._trust.hand_over(canonical, now_ms) for canonical in changed_records]
        return any(handed_over)

    def _detach_urls(
        self, page: PageWrite, judgment: Judgment, rows: dict[str, Row], now_ms: int
    ) -> bool:
        """
        Detach fetched URLs and their watches from canonical URLs that no longer apply.

        If the canonical URL was never fetched itself, its page has data from these URLs. That data
        moves back. Returns True if any were detached.
        """
        detached = page_plan.detached_urls(page, judgment, rows)
        for url in detached:
            self._trust.detach(url, now_ms, at_ms=rows[url][nodes.CANONICAL].at_ms + 1)
        return bool(detached)

    def _claim_canonical(self, page: PageWrite, judgment: Judgment, rows: dict[str, Row]) -> bool:
        """
        Claim a canonical URL that was neither fetched nor declared before.

        Returns False if another page claimed it first.
        """
        if judgment.standing is not Standing.FIRST:
            return True
        row, holder = rows.get(judgment.canonical, {}), claimant(page)
        before = Lease.of(row, nodes.CLAIM)
        if before and before.holder == holder and before.is_live(self._claim_clock.now_ms()):
            return True
        return self._claim.take(self._zen.node_id(judgment.canonical), before, holder) is not None

    def _with_vanished_fields(self, targets: list[PageTarget]) -> list[PageTarget]:
        """
        Return the targets with the fields that disappeared from their pages. One multi-get.

        A field name stays in the provenance until its cell is gone, so that the next run of a
        killed batch deletes it.
        """
        missing = {target.canonical: _missing(target) for target in targets}
        missing = {url: fields for url, fields in missing.items() if fields}
        names = sorted(frozenset[str]().union(*missing.values()))
        if not names:
            return targets
        columns = [
            column_of(name)
            for name in names
            for column_of in (nodes.field_column, nodes.provenance_column)
        ]
        rows = self._nodes.read(missing, columns)
        return [
            _with_missing(target, rows[target.canonical], missing[target.canonical])
            if target.canonical in missing
            else target
            for target in targets
        ]

    def _aliases_of(
        self, page: PageWrite, judgment: Judgment, rows: Mapping[str, Row]
    ) -> Sequence[str]:
        """Return the URLs that point to the page's node from now on."""
        if is_failed_fetch(page):
            return ()
        members = dict.fromkeys(page.urls)
        members.pop(judgment.canonical, None)
        if judgment.why:
            members.pop(page.canonical_url, None)
        if page.canonical_url == page.url:
            # After a temporary redirect, the target is its own canonical URL.
            members.pop(page.final_url, None)
        return [
            url
            for url in members
            if not page_plan.has_newer_pointer(rows[url], page)
            and not self._is_taken_down(rows, url)
        ]

    def _is_taken_down(self, rows: Mapping[str, Row], url: str) -> bool:
        return self._refuses(url) or nodes.is_taken_down(rows.get(url, {}))

    def _add_known_fields(self, fields: Iterable[str]) -> None:
        """
        Also read these fields from now on, so that unchanged values are not rewritten.

        After a while, a process knows all fields that the pipeline writes. Fields that only
        applications write are never read.
        """
        self._columns = (*self._columns, *map(nodes.field_column, set(fields) - self._fields))
        self._fields = self._fields.union(fields)


def _missing(target: PageTarget) -> frozenset[str]:
    """Return the names of fields that the pipeline found only in earlier fetches of the page."""
    if target.stale or not target.complete:
        return frozenset()
    provenance = facts_of(target.row, nodes.PROVENANCE)
    return frozenset(provenance.keys() - target.page.fields.keys())


def _with_missing(target: PageTarget, cells: Row, missing: frozenset[str]) -> PageTarget:
    row = {**target.row, **cells}
    gone = vanished_fields(row, (), missing, target.page.fetched_at_ms)
    return target._replace(row=row, missing=missing, gone=gone)
