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
from aragog.urlstore.signal_trust import Evidence
from aragog.urlstore.tombstones import Tombstones
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing import (
    content_entries,
    item_changes,
    page_plan,
    page_rows,
    plan_bodies,
)
from aragog.urlstore.writing.alias_merger import AliasMerger, alias_puts
from aragog.urlstore.writing.page_changes import (
    has_another_page,
    is_failed_alias,
    is_newly_reserved,
    moved_cell,
    reserved_change,
)
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan
from aragog.urlstore.writing.page_planner import PagePlanner
from aragog.urlstore.writing.plan_bodies import UnusedRecord
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
        self._rules = FieldRules(settings)
        self._outlinks = outlinks
        self._aliases = aliases
        self._tombstones = tombstones
        self._trust = Trust(zen, aliases, refresh)
        self._planner = WritePlanner(zen, self._trust, settings.history, tombstones.refuses)
        self._page_planner = PagePlanner(
            zen, settings, refresh or RefreshSettings(), signals, in_packs=bodies.in_packs
        )
        self._clock = clock or SystemClock()
        self._watches = Watches(zen)
        self._same = SameContent(zen)
        self._items = ItemIndex(zen)
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
        targets, rows, remaining = self._planner.plan(pages, now_ms)
        plans = self._page_planner.plan(targets)
        plans, ticket = plan_bodies.put_bodies(self._bodies, plans)
        newest = [plan for plan in plans if plan.target.is_newest]
        current = [plan for plan in newest if not plan.target.copy]
        unused = plan_bodies.unused_records(plans)
        plan_bodies.record_sharing(self._bodies, plans)
        self._write_links(current, now_ms)
        self._write_changes(newest, current)
        plan_bodies.check_ages(plans, ticket)
        self._write_nodes(plans, current, unused, now_ms)
        plan_bodies.give_own_records(self._bodies, self._zen, plans)
        plan_bodies.give_up_replaced(self._bodies, self._zen, plans, unused)
        if ticket is not None:
            ticket.settle()
        self._remove_outdated(current, rows, now_ms)
        self._undo_disproved([plan.target for plan in newest], now_ms)
        self._settle_aliases(targets, rows, now_ms)
        self._recheck_aliases(targets, now_ms)
        self._record_evidence(current)
        return {id(plan.target.page): page_plan.to_written(plan) for plan in plans}, remaining

    def _record_evidence(self, current: Sequence[PageWritePlan]) -> None:
        """Record the evidence about hosts. Called last, because losing it does no harm."""
        evidence: dict[str, list[Evidence]] = defaultdict(list)
        for plan in current:
            if plan.evidence is not None:
                evidence[host(plan.target.canonical)].append(plan.evidence)
        if self._signals is not None and evidence:
            self._signals.record_evidence(evidence)

    def _write_links(self, current: Sequence[PageWritePlan], now_ms: int) -> None:
        writes = [
            # A source without a node has links only if an earlier run of the batch was killed.
            LinksWrite(
                target.canonical, target.at_ms, self._allowed_links(links), is_new=not target.row
            )
            for target in (plan.target for plan in current)
            if (links := target.page.links) is not None
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
        target = plan.target
        watched = page_plan.is_watched(target)
        return reserved_change(target, self._watches.owners(target.canonical) if watched else ())

    def _write_nodes(
        self,
        plans: Sequence[PageWritePlan],
        current: Sequence[PageWritePlan],
        unused: Sequence[UnusedRecord],
        now_ms: int,
    ) -> None:
        """
        Write edges, index rows and nodes.
        An alias's edge may be on another server, so it is written before the alias's pointer.
        """
        edges = [
            put
            for plan in plans
            for alias in plan.target.aliases
            for put in alias_puts(self._zen, alias, plan.target.canonical, now_ms)
        ]
        # Before the pointers: a repeated write finds them set and skips this step.
        edges += _moved_rows(self._zen, [plan.target for plan in plans])
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
        node_rows += plan_bodies.unused_record_rows(self._zen, unused)
        for plan in current:
            if plan.cells:
                if plan.due_at_ms is not None:
                    indexes.append(
                        due_put(self._zen, plan.target.canonical, plan.due_at_ms, now_ms)
                    )
                node_rows.append(page_rows.write_time_row(self._zen, plan, now_ms))
        self._zen.mutate([*indexes, *node_rows])

    def _remove_outdated(
        self, current: Sequence[PageWritePlan], rows: Mapping[str, Row], now_ms: int
    ) -> None:
        """Remove old due rows and fields, and the index entries of replaced bodies and items."""
        current = [plan for plan in current if plan.target.row]  # new pages replace nothing
        self._same.forget([old for plan in current for old in content_entries.outdated(plan)])
        self._items.forget([old for plan in current for old in item_changes.outdated(plan)])
        outdated = [
            (self._zen.node_id(plan.target.canonical), due_at_ms, now_ms)
            for plan in current
            if (due_at_ms := page_rows.outdated_due_ms(plan, rows)) is not None
        ]
        if outdated:
            self._zen.by_number.delete_many(outdated)
        vanished = [
            page_rows.vanished_fields(self._zen, plan.target)
            for plan in current
            if plan.target.gone
        ]
        if vanished:
            self._zen.nodes.delete_many(vanished)

    def _undo_disproved(self, newest: Sequence[PageTarget], now_ms: int) -> None:
        for gone in (True, False):
            group = [target for target in newest if target.page.gone is gone]
            if trusted := [url for target in group for url in page_plan.urls_without_page(target)]:
                self._trust.revoke_aliases(trusted, now_ms, gone=gone)

    def _recheck_aliases(self, targets: Sequence[PageTarget], now_ms: int) -> None:
        if replaced := [target.canonical for target in targets if has_another_page(target)]:
            self._trust.schedule_recheck(replaced, now_ms)
        if rechecked := [target.page.url for target in targets if is_failed_alias(target)]:
            self._trust.mark_rechecked(rechecked, now_ms)

    def _settle_aliases(
        self, targets: Sequence[PageTarget], rows: Mapping[str, Row], now_ms: int
    ) -> None:
        for target in targets:
            for alias in target.aliases:
                if page_plan.has_data(rows.get(alias, {})):
                    self._aliases.settle(alias, now_ms)


def _moved_rows(zen: MultiGraph, targets: Sequence[PageTarget]) -> list[Mutation]:
    """Return cells for the URLs that had their own pages and now lead to other pages."""
    return [
        put_properties(
            zen.node_id(target.page.url),
            {nodes.URL: target.page.url.encode(), **cell},
            target.page.fetched_at_ms,
        )
        for target in targets
        if target.is_newest and (cell := moved_cell(target))
    ]
