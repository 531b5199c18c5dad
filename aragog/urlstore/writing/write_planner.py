"""
Plan the writes of a batch: the page that each fetch belongs to, and its stored data.

Pages that share a URL wait for each other, so a plan is made from the state before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from aragog.urlstore import nodes
from aragog.urlstore.nodes import Nodes, facts_of
from aragog.urlstore.records import PageWrite
from aragog.urlstore.writing import page_plan
from aragog.urlstore.writing.alias_merger import AliasMerger
from aragog.urlstore.writing.next_due import vanished_fields
from aragog.urlstore.writing.page_plan import PageWritePlan, is_failed_fetch
from aragog.zen.graph import Zen
from aragog.zen.properties import Row

_COLUMNS = (
    nodes.SENTINEL,
    nodes.URL,
    nodes.CANONICAL,
    nodes.OWN,
    nodes.FACTS,
    nodes.PROVENANCE,
    nodes.CONTENT_HASH,
    nodes.DUE,
    nodes.REMOVED,
    nodes.REFRESH,
    nodes.WATCHED,
    nodes.LEAVING,
)


class WritePlanner:
    """Reads nodes and makes plans."""

    def __init__(
        self,
        zen: Zen,
        aliases: AliasMerger,
        history: Sequence[str],
        refuses: Callable[[str], bool],
    ) -> None:
        self._nodes = Nodes(zen)
        self._aliases = aliases
        self._refuses = refuses
        past = [(nodes.field_column(f), nodes.history_column(f)) for f in history]
        self._columns = (*_COLUMNS, *(column for pair in past for column in pair))
        self._fields = frozenset(history)

    def plan(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[list[PageWritePlan], dict[str, Row], list[PageWrite]]:
        """
        Plans, the nodes they were made from, and the pages that must wait for these.

        Detaches URLs from canonical URLs that their pages no longer name.

        Raises:
            StoreUnavailable: write the batch again.
        """
        rows = self._read(pages)
        plans = []
        later = []
        touched: set[str] = set()
        for page in sorted(pages, key=lambda page: page.fetched_at_ms):
            canonical = page_plan.canonical_of(page, rows)
            page_urls = {canonical, *page.urls, *page_plan.canonicals_of(page, rows)}
            waits = not touched.isdisjoint(page_urls)
            touched |= page_urls  # those of a waiting page too: who shares one comes after it
            if waits or self._detach(page, canonical, rows, now_ms):
                later.append(page)
            else:
                plans.append(self._plan_of(page, canonical, rows))
        for plan in plans:
            self._point(plan, rows)
        self._look_for_gone(plans)
        return plans, rows, later

    def _read(self, pages: Sequence[PageWrite]) -> dict[str, Row]:
        """The nodes of all URLs of the pages, and of the canonical URLs that they lead to."""
        for page in pages:
            if not self._fields.issuperset(page.fields):
                self._know(page.fields)
        urls = {url for page in pages for url in page.urls}
        rows = self._nodes.read(urls, self._columns)
        while missing := page_plan.targets_of(rows):
            rows |= self._nodes.read(missing, self._columns)
        return rows

    def _plan_of(self, page: PageWrite, canonical: str, rows: dict[str, Row]) -> PageWritePlan:
        """The plan of one page: whether it is stale, refused, or a copy of what is stored."""
        row = rows.get(canonical, {})
        nodes.check_url(row, canonical)
        before_ms = page_plan.seen_at_ms(row, failed=is_failed_fetch(page))
        refused = any(
            page_plan.refuses(rows[url], page) for url in {page.url, canonical} if url in rows
        ) or any(map(partial(self._taken_down, rows), page_plan.identity_of(page)))
        older_by_ms, is_copy = (
            before_ms - page.fetched_at_ms,
            page_plan.is_copy(page, canonical, row),
        )
        return PageWritePlan(page, canonical, row, max(0, older_by_ms), refused, is_copy)

    def _detach(self, page: PageWrite, canonical: str, rows: dict[str, Row], now_ms: int) -> bool:
        """
        Detach fetched URLs from canonical URLs that this fetch no longer names; True if any were.

        Only if the canonical URL was never fetched itself: its page then consists of what these
        URLs contributed. A canonical URL that was fetched keeps its data until its next fetch.
        """
        left = page_plan.leaving(page, canonical, rows)
        for url in left:
            self._aliases.undo(url, now_ms, at_ms=rows[url][nodes.CANONICAL].at_ms + 1)
        return bool(left)

    def _look_for_gone(self, plans: Sequence[PageWritePlan]) -> None:
        """
        Read the fields that disappeared from pages, with one multi-get; most pages have none.

        The pipeline remembers a field name until its cell is gone, so that a batch that was
        killed before it removed the cell removes it when it runs again.
        """
        for plan in plans:
            if plan.complete and not plan.stale:
                provenance = facts_of(plan.row, nodes.PROVENANCE)
                plan.missing = frozenset(provenance.keys() - plan.page.fields.keys())
        names = sorted(frozenset[str]().union(*(plan.missing for plan in plans)))
        if not names:
            return
        columns = [
            column_of(name)
            for name in names
            for column_of in (nodes.field_column, nodes.from_column)
        ]
        rows = self._nodes.read({plan.canonical for plan in plans if plan.missing}, columns)
        for plan in plans:
            if plan.missing:
                plan.row = {**plan.row, **rows[plan.canonical]}
                plan.gone = vanished_fields(plan.row, (), plan.missing, plan.page.fetched_at_ms)

    def _point(self, plan: PageWritePlan, rows: Mapping[str, Row]) -> None:
        """Decide which URLs become aliases of the canonical URL; `rows` is the state before."""
        page = plan.page
        if not is_failed_fetch(page) and not plan.refused:
            members = dict.fromkeys(page.urls)
            members.pop(plan.canonical, None)
            if page.canonical_url == page.url:
                # A temporary redirect: its target stands for itself.
                members.pop(page.final_url, None)
            plan.aliases = [
                url
                for url in members
                if not page_plan.has_newer_pointer(rows[url], page)
                and not self._taken_down(rows, url)
            ]

    def _taken_down(self, rows: Mapping[str, Row], url: str) -> bool:
        return self._refuses(url) or nodes.is_taken_down(rows.get(url, {}))

    def _know(self, fields: Iterable[str]) -> None:
        """
        Also read these fields from now on, so that stored values are not written again.

        A process soon knows all fields that pages have, so the set of columns to read is nearly
        constant, and fields that the application added are never read.
        """
        self._columns = (*self._columns, *map(nodes.field_column, set(fields) - self._fields))
        self._fields = self._fields.union(fields)
