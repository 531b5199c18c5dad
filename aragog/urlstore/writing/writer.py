"""
Writes a batch of fetched pages with a few batched requests.

The order is: content, outlinks (journal first), index rows, nodes. Outdated data is removed at the
end. After a crash, the whole batch is written again: every step either writes the same values with
the same timestamps, or checks whether its work is done.

Pages of a batch that share a URL are written one after the other.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.change_signals import ChangeSignals
from aragog.urlstore.due_index import due_put
from aragog.urlstore.feed import Change, publish
from aragog.urlstore.field_rules import FieldRules
from aragog.urlstore.items import ItemIndex
from aragog.urlstore.records import PageWrite, Written
from aragog.urlstore.same_content import SameContent
from aragog.urlstore.signal_trust import Evidence, HostTrust
from aragog.urlstore.tombstones import Tombstones
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing import (
    content_entries,
    item_changes,
    page_plan,
    page_rows,
    plan_bodies,
    plan_cells,
)
from aragog.urlstore.writing.agreement import is_failed_fetch
from aragog.urlstore.writing.alias_merger import AliasMerger, alias_puts
from aragog.urlstore.writing.item_changes import ItemNews
from aragog.urlstore.writing.next_due import NextFetch
from aragog.urlstore.writing.page_changes import (
    changed_cell,
    find_changes,
    has_another_page,
    is_failed_alias,
    is_newly_reserved,
    moved_cell,
    redirect_changes,
    reserved_change,
)
from aragog.urlstore.writing.page_plan import PageWritePlan
from aragog.urlstore.writing.trust import Trust
from aragog.urlstore.writing.write_planner import WritePlanner
from urlspelling.domain import host
from zengraph import MultiGraph
from zengraph.links import LinksWrite, OutlinkWriter, PackedLinks
from zengraph.records import Mutation, Row, put_properties

log = logging.getLogger(__name__)


class PageWriter:
    """Writes pages. This may be repeated, run late, and run in several processes at once."""

    def __init__(
        self,
        zen: MultiGraph,
        bodies: Bodies,
        settings: StoreSettings,
        outlinks: OutlinkWriter,
        aliases: AliasMerger,
        tombstones: Tombstones,
        refresh: RefreshSettings | None = None,
        clock: Clock | None = None,
        signals: ChangeSignals | None = None,
    ) -> None:
        self._zen = zen
        self._bodies = bodies
        self._settings = settings
        self._rules = FieldRules(settings)
        self._outlinks = outlinks
        self._aliases = aliases
        self._tombstones = tombstones
        self._trust = Trust(zen, aliases, refresh)
        self._planner = WritePlanner(zen, self._trust, settings.history, tombstones.refuses)
        self._refresh = refresh or RefreshSettings()
        self._clock = clock or SystemClock()
        self._watches = Watches(zen)
        self._same = SameContent(zen)
        self._items = ItemIndex(zen)
        self._item_news = ItemNews(zen)
        self._signals = signals

    def write(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[dict[int, Written], list[PageWrite]]:
        """
        Write the pages that share no URL with an earlier page of the batch.

        Returns the results by the `id()` of each page, and the remaining pages. Write those next,
        with a later `now_ms`, because this write's deletes hide values with the same time.

        Raises:
            InvalidField: a field of a page cannot be stored; nothing was written.
            StoreUnavailable: the tables do not respond; write the batch again.
            ContentUnavailable: the content store does not respond; write the batch again.
        """
        for page in pages:
            self._rules.check(page.fields)
        plans, rows, remaining = self._planner.plan(pages, now_ms)
        newest = [plan for plan in plans if not plan.stale and not plan.refused]
        current = [plan for plan in newest if not plan.copy]
        trusts = self._host_trusts(current)
        for plan in plans:
            if not plan.refused and not plan.copy:
                self._fill(plan, trusts.get(plan.canonical))
        for plan in newest:
            if plan.copy:
                self._find_owners(plan)
                plan.changes = redirect_changes(plan, all_pages=self._refresh.report_new_pages)
        ticket = plan_bodies.put_bodies(self._bodies, plans)
        plan_bodies.record_sharing(self._bodies, plans)
        self._write_links(current, now_ms)
        self._write_changes(newest, current)
        plan_bodies.check_ages(plans, ticket)
        self._write_nodes(plans, current, now_ms)
        plan_bodies.give_own_records(self._bodies, self._zen, plans)
        plan_bodies.give_up_replaced(self._bodies, self._zen, plans)
        if ticket is not None:
            ticket.settle()
        self._remove_outdated(current, rows, now_ms)
        self._undo_disproved(newest, now_ms)
        self._settle_aliases(plans, rows, now_ms)
        self._recheck_aliases(plans, now_ms)
        self._record_evidence(current)
        return {id(plan.page): page_plan.to_written(plan) for plan in plans}, remaining

    def _host_trusts(self, current: Sequence[PageWritePlan]) -> dict[str, HostTrust]:
        """Return the trust in the hosts whose pages have a mark (`signal_marks`)."""
        hosts = {p.canonical: host(p.canonical) for p in current if nodes.SIGNAL in p.row}
        if self._signals is None or not hosts:
            return {}
        trusts = self._signals.trusts(set(hosts.values()))
        return {url: trusts[name] for url, name in hosts.items()}

    def _record_evidence(self, current: Sequence[PageWritePlan]) -> None:
        """Record the evidence about hosts. Called last, because losing it does no harm."""
        evidence: dict[str, list[Evidence]] = defaultdict(list)
        for plan in current:
            if plan.evidence is not None:
                evidence[host(plan.canonical)].append(plan.evidence)
        if self._signals is not None and evidence:
            self._signals.record_evidence(evidence)

    def _fill(self, plan: PageWritePlan, trust: HostTrust | None = None) -> None:
        """Fill in a plan. An older fetch adds only data that the store does not have."""
        page = plan.page
        if is_failed_fetch(page) and plan.canonical != page.url:
            return
        plan_cells.fill_page(plan)
        next_fetch = None if plan.stale else plan_cells.fill_next_fetch(plan, self._refresh, trust)
        plan_cells.fill_histories(plan, self._settings.history, self._settings.history_length)
        if page.content is not None and not plan.stale:
            in_packs = self._bodies.in_packs
            plan_bodies.fill_content(plan, page.content, in_packs=in_packs)
        if next_fetch is not None:
            self._find_changes(plan, next_fetch)

    def _find_changes(self, plan: PageWritePlan, next_fetch: NextFetch) -> None:
        owners = self._find_owners(plan)
        if not next_fetch.first or page_plan.is_watched(plan):
            plan.item_news = self._item_news.of(plan)
        all_pages = self._refresh.report_new_pages
        plan.changes = find_changes(plan, next_fetch, owners, all_pages=all_pages)
        plan.cells |= changed_cell(plan)

    def _find_owners(self, plan: PageWritePlan) -> Sequence[str]:
        """Return the page's owners, and fill in those that watch the fetched URL."""
        page = plan.page
        owners = self._watches.owners(plan.canonical) if page_plan.is_watched(plan) else ()
        if page.url != plan.canonical and nodes.text(plan.requested_row, nodes.WATCHED):
            plan.requested_owners = tuple(self._watches.owners(page.url))
        elif page.url == plan.canonical:
            plan.requested_owners = tuple(owners)
        return owners

    def _write_links(self, current: Sequence[PageWritePlan], now_ms: int) -> None:
        writes = [
            # A source without a node has links only if an earlier run of the batch was killed.
            LinksWrite(plan.canonical, plan.at_ms, self._allowed_links(links), is_new=not plan.row)
            for plan in current
            if (links := plan.page.links) is not None
        ]
        if writes:
            self._outlinks.write(writes, now_ms)

    def _allowed_links(self, links: Iterable[tuple[str, str, str]]) -> PackedLinks:
        if isinstance(links, PackedLinks) and self._tombstones.is_empty:
            return links
        return PackedLinks.of(link for link in links if not self._tombstones.refuses(link[0]))

    def _write_changes(
        self, newest: Sequence[PageWritePlan], current: Sequence[PageWritePlan]
    ) -> None:
        """
        Publish the changes.
        Called before the nodes are written: changes may be reported twice, but are never lost.
        """
        changes = [change for plan in newest for change in plan.changes]
        changes += map(self._reserved_change, filter(is_newly_reserved, current))
        if changes:
            publish(self._zen, changes, self._clock)

    def _reserved_change(self, plan: PageWritePlan) -> Change:
        watched = page_plan.is_watched(plan)
        return reserved_change(plan, self._watches.owners(plan.canonical) if watched else ())

    def _write_nodes(
        self, plans: Sequence[PageWritePlan], current: Sequence[PageWritePlan], now_ms: int
    ) -> None:
        """
        Write edges, index rows and nodes.
        An alias's edge may be on another server, so it is written before the alias's pointer.
        """
        edges = [
            put
            for plan in plans
            for alias in plan.aliases
            for put in alias_puts(self._zen, alias, plan.canonical, now_ms)
        ]
        # Before the pointers: a repeated write finds them set and skips this step.
        edges += _moved_rows(self._zen, plans)
        if edges:
            self._zen.mutate(edges)
        indexes = [put for plan in plans for put in page_rows.index_rows(self._zen, plan, now_ms)]
        indexes += self._same.skip_damaged(
            put for plan in current for put in content_entries.put(plan)
        )
        indexes += self._items.skip_damaged(
            put for plan in plans for put in item_changes.puts(plan)
        )
        node_rows = [put for plan in plans for put in page_rows.node_rows(self._zen, plan)]
        node_rows += plan_bodies.unused_records(self._zen, plans)
        for plan in current:
            if plan.cells:
                if plan.due_at_ms is not None:
                    indexes.append(due_put(self._zen, plan.canonical, plan.due_at_ms, now_ms))
                node_rows.append(page_rows.write_time_row(self._zen, plan, now_ms))
        self._zen.mutate([*indexes, *node_rows])

    def _remove_outdated(
        self, current: Sequence[PageWritePlan], rows: Mapping[str, Row], now_ms: int
    ) -> None:
        """Remove old due rows and fields, and the index entries of replaced bodies and items."""
        current = [plan for plan in current if plan.row]  # a new page has replaced nothing
        self._same.forget([old for plan in current for old in content_entries.outdated(plan)])
        self._items.forget([old for plan in current for old in item_changes.outdated(plan)])
        outdated = [
            (self._zen.node_id(plan.canonical), due_at_ms, now_ms)
            for plan in current
            if (due_at_ms := page_rows.outdated_due_ms(plan, rows)) is not None
        ]
        if outdated:
            self._zen.by_number.delete_many(outdated)
        vanished = [page_rows.vanished_fields(self._zen, plan) for plan in current if plan.gone]
        if vanished:
            self._zen.nodes.delete_many(vanished)

    def _undo_disproved(self, newest: Sequence[PageWritePlan], now_ms: int) -> None:
        for gone in (True, False):
            group = [plan for plan in newest if plan.page.gone is gone]
            if trusted := [url for plan in group for url in page_plan.urls_without_page(plan)]:
                self._trust.revoke_aliases(trusted, now_ms, gone=gone)

    def _recheck_aliases(self, plans: Sequence[PageWritePlan], now_ms: int) -> None:
        if replaced := [plan.canonical for plan in plans if has_another_page(plan)]:
            self._trust.schedule_recheck(replaced, now_ms)
        if rechecked := [plan.page.url for plan in plans if is_failed_alias(plan)]:
            self._trust.mark_rechecked(rechecked, now_ms)

    def _settle_aliases(
        self, plans: Sequence[PageWritePlan], rows: Mapping[str, Row], now_ms: int
    ) -> None:
        for plan in plans:
            for alias in plan.aliases:
                if page_plan.has_data(rows.get(alias, {})):
                    self._aliases.settle(alias, now_ms)


def _moved_rows(zen: MultiGraph, plans: Sequence[PageWritePlan]) -> list[Mutation]:
    """Return cells for the URLs that had their own pages and now lead to other pages."""
    return [
        put_properties(
            zen.node_id(plan.page.url),
            {nodes.URL: plan.page.url.encode(), **cell},
            plan.page.fetched_at_ms,
        )
        for plan in plans
        if not plan.stale and not plan.refused and (cell := moved_cell(plan))
    ]
