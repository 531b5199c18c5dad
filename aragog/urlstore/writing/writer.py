"""
The store stage: writes a batch of fetched pages with a few batched requests.

Order: content, then outlinks (journal first), then index rows, then nodes; last, data that is no
longer valid is removed. After a crash between two steps the whole batch is written again: every
step either puts the same values at the same timestamps or checks whether its work is done.

Pages of a batch that share a URL are written one after the other, so a batch has the same result
as writing its pages one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import orjson

from aragog.clock import Clock, SystemClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore.aliases.merger import AliasMerger, alias_puts
from aragog.urlstore.content.ports import ContentStore
from aragog.urlstore.feed.change import Change, ChangeKind
from aragog.urlstore.feed.changes import publish, shown
from aragog.urlstore.pages import history, nodes, report_cell
from aragog.urlstore.pages.field_rules import FieldRules
from aragog.urlstore.pages.hosts import host_put, sender_put
from aragog.urlstore.pages.nodes import facts_of
from aragog.urlstore.records import OutLink, PageWrite, Written
from aragog.urlstore.schedule.due_index import due_cell, due_put
from aragog.urlstore.schedule.next_fetch import WATCHED, Next, planned
from aragog.urlstore.schedule.usual_intervals import IGNORED_FIELDS
from aragog.urlstore.schedule.watches import Watches
from aragog.urlstore.takedowns.tombstones import Tombstones
from aragog.urlstore.writing import page_updates
from aragog.urlstore.writing.page_updates import PageWritePlan, is_failed_fetch
from aragog.urlstore.writing.write_planner import WritePlanner
from aragog.zen.graph import Zen
from aragog.zen.mutations import Mutation, put_properties
from aragog.zen.node_ids import node_id
from aragog.zen.outlink_writer import LinksWrite, OutlinkWriter
from aragog.zen.outlinks import PackedLinks
from aragog.zen.properties import Cell, Row

# Of one attempt: an attempt without a status must not show that of the attempt before.
_OF_AN_ATTEMPT = ("outcome", "status", "reason", "latency_ms", "address", "attempts")


class PageWriter:
    """Writes pages; safe to repeat, to run late, and to run in several processes at once."""

    def __init__(
        self,
        zen: Zen,
        content: ContentStore,
        settings: StoreSettings,
        outlinks: OutlinkWriter,
        aliases: AliasMerger,
        tombstones: Tombstones,
        refresh: RefreshSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._tombstones = tombstones
        self._planner = WritePlanner(zen, aliases, settings.history, tombstones.refuses)
        self._zen = zen
        self._clock = clock or SystemClock()
        self._refresh = refresh or RefreshSettings()
        self._watches = Watches(zen)
        self._content = content
        self._outlinks = outlinks
        self._aliases = aliases
        self._rules = FieldRules(settings)
        self._history = settings.history
        self._history_length = settings.history_length

    def write(
        self, pages: Sequence[PageWrite], now_ms: int
    ) -> tuple[dict[int, Written], list[PageWrite]]:
        """
        Write the pages that share no URL with an older page of the batch.

        Returns the results by the `id` of each page, and the remaining pages. Write those next,
        with a later `now_ms`, because a deletion now hides a value that is put at the same instant.

        Raises:
            InvalidField: a field of some page cannot be stored; nothing was written.
            StoreUnavailable, ContentUnavailable: write the batch again.
        """
        for page in pages:
            self._rules.check(page.fields)
        plans, rows, left = self._planner.plan(pages, now_ms)
        newest = [p for p in plans if not p.stale and not p.refused]
        current = {p.canonical: p for p in newest if not p.copy}
        for plan in plans:
            if not plan.refused and not plan.copy:
                self._fill(plan, newest=not plan.stale)
        self._content.put_many([plan.body for plan in plans if plan.body])
        self._write_links(current, now_ms)
        self._write_rows(plans, current, now_ms)
        self._remove_old(current, rows, now_ms)
        if trusted := [url for plan in newest for url in page_updates.refuted(plan)]:
            self._aliases.disappoint(trusted, now_ms)
        self._settle(plans, rows, now_ms)
        return {id(plan.page): page_updates.written(plan) for plan in plans}, left

    def _fill(self, plan: PageWritePlan, *, newest: bool) -> None:
        page, cells = plan.page, plan.cells
        failed = is_failed_fetch(page)
        if failed and plan.canonical != page.url:
            return
        cells[nodes.URL] = plan.canonical.encode()
        cells[nodes.SENTINEL] = b"1"
        facts: dict[str, object] = {"url": page.url, "final_url": page.final_url}
        if failed:
            stored_facts = {n: v for n, v in facts_of(plan.row).items() if n not in _OF_AN_ATTEMPT}
            facts = {**facts, **stored_facts, **page.facts}
            facts["attempted_at_ms"] = page.fetched_at_ms
        else:
            facts = {**facts, **page.facts, "fetched_at_ms": page.fetched_at_ms}
            facts["complete"] = int(plan.complete)
        cells[nodes.FACTS] = orjson.dumps(facts)
        if plan.canonical in (page.url, page.final_url) and not failed:
            # The URL itself was fetched, so it stands for itself, whatever was assumed before.
            cells[nodes.CANONICAL] = plan.canonical.encode()
        if plan.canonical in (page.url, page.final_url) and (page.gone or not failed):
            cells[nodes.OWN] = page_updates.own_cell(page, plan.canonical, plan.canonical)
        self._fill_fields(plan, newest=newest)
        if newest:
            self._plan_next(plan)
        self._remember(plan)
        if page.content is not None and newest:
            cells |= page_updates.content_cells(plan, page.content)

    def _fill_fields(self, plan: PageWritePlan, *, newest: bool) -> None:
        """
        The fields that differ from the stored ones; for an older fetch only the missing fields,
        unless the newer fetch reported all fields.

        If a page was fetched through another URL, all fields are written: should that URL turn out
        not to be an alias, the timestamp identifies what its fetch contributed.
        """
        page, row = plan.page, plan.row
        alone = plan.canonical == page.url == page.final_url
        # An older fetch adds nothing to a newer one that reported all fields.
        fills = not (plan.stale and facts_of(row).get("complete"))
        for name, value in page.fields.items():
            stored = row.get(column := nodes.field_column(name))
            same = stored is not None and stored.value == value
            if newest and not same:
                plan.changed.append(name)
            if (stored is None and fills) or (newest and not (same and alone)):
                plan.cells[column] = value
        if newest:
            plan.changed += sorted(plan.gone)
        if page.provenance:
            provenance = page_updates.provenance_cell(plan)
            if provenance != (row[nodes.PROVENANCE].value if nodes.PROVENANCE in row else None):
                plan.cells[nodes.PROVENANCE] = provenance

    def _plan_next(self, plan: PageWritePlan) -> None:
        seen = plan.page.seen
        if seen is None:
            plan.due_at_ms = plan.page.due_at_ms
        else:
            following = planned(
                plan.row, plan.page, seen, plan.changed, self._refresh, canonical=plan.canonical
            )
            plan.cells[nodes.REFRESH] = following.cell
            plan.due_at_ms = following.due_at_ms
            self._note_change(plan, following)

    def _note_change(self, plan: PageWritePlan, following: Next) -> None:
        """The page's entry in the change feed; only watched pages are reported as new."""
        changed = [name for name in plan.changed if name not in IGNORED_FIELDS]
        watched = nodes.text(plan.row, nodes.WATCHED) == WATCHED.decode()
        kind: ChangeKind
        if following.given_up:
            kind = "gone"
        elif changed and (watched or not following.first):
            kind = "new" if following.first else "changed"
        else:
            return
        both = {}
        for name in changed:
            stored = plan.row.get(nodes.field_column(name))
            both[name] = (shown(stored and stored.value), shown(plan.page.fields.get(name)))
        owners = tuple(self._watches.owners(plan.canonical)) if watched else ()
        plan.change = Change(plan.canonical, plan.page.fetched_at_ms, kind, both, owners)

    def _remember(self, plan: PageWritePlan) -> None:
        for name in self._history:
            value = plan.page.fields.get(name)
            if name in plan.gone:
                past = history.cell_of(plan.row, name)
                plan.cells |= {nodes.history_column(name): past.value} if past else {}
            if value is not None:
                column = nodes.history_column(name)
                past = history.cell_of(plan.row, name)
                at_ms = plan.page.fetched_at_ms
                new = history.extended(past, value, at_ms, self._history_length)
                if new is not None:
                    plan.cells[column] = new
                    plan.row = {**plan.row, column: Cell(new, at_ms)}

    def _write_links(self, current: Mapping[str, PageWritePlan], now_ms: int) -> None:
        writes = [
            LinksWrite(plan.canonical, plan.page.fetched_at_ms, self._linkable(links))
            for plan in current.values()
            if (links := plan.page.links) is not None
        ]
        if writes:
            self._outlinks.write(writes, now_ms)

    def _linkable(self, links: Iterable[OutLink]) -> PackedLinks:
        """Links without those to taken-down sites."""
        if isinstance(links, PackedLinks) and self._tombstones.is_empty:
            return links
        return PackedLinks.of(link for link in links if not self._tombstones.refuses(link.url))

    def _write_rows(
        self, plans: Sequence[PageWritePlan], current: Mapping[str, PageWritePlan], now_ms: int
    ) -> None:
        indexes: list[Mutation] = []
        edges: list[Mutation] = []
        rows: list[Mutation] = []
        for plan in plans:
            at_ms = plan.page.fetched_at_ms
            if plan.cells:
                if nodes.SENTINEL not in plan.row:
                    indexes.append(host_put(plan.canonical, now_ms))
                rows.append(put_properties(node_id(plan.canonical), plan.cells, at_ms))
            for alias in plan.aliases:
                edges += alias_puts(alias, plan.canonical, now_ms)
                indexes.append(host_put(alias, now_ms))
                rows.append(
                    put_properties(node_id(alias), page_updates.pointer_cells(plan, alias), at_ms)
                )
            if plan.page.report is not None and not plan.refused:
                cells = {nodes.FETCH: report_cell.to_cell(plan.page.report)}
                cells[nodes.URL] = plan.page.url.encode()
                rows.append(put_properties(node_id(plan.page.url), cells, at_ms))
            indexes += [
                sender_put(url, plan.page.final_url, at_ms) for url in page_updates.sent_to(plan)
            ]
        for plan in current.values():
            if plan.cells:
                due_at_ms = plan.due_at_ms
                if due_at_ms is not None:
                    indexes.append(due_put(plan.canonical, due_at_ms, now_ms))
                stamped = {nodes.VERSION: os.urandom(8).hex().encode()}
                stamped[nodes.DUE] = due_cell(due_at_ms)
                rows.append(put_properties(node_id(plan.canonical), stamped, now_ms))
        changes = [plan.change for plan in current.values() if plan.change]
        if changes:
            # Before the nodes: a change may be reported twice, but is never lost.
            publish(self._zen, changes, self._clock)
        if edges:
            # An alias's edge is stored with its canonical URL, so it is written before the pointer.
            self._zen.mutate(edges)
        self._zen.mutate([*indexes, *rows])

    def _remove_old(
        self, current: Mapping[str, PageWritePlan], rows: Mapping[str, Row], now_ms: int
    ) -> None:
        """Remove what the new state has made invalid."""
        outdated = []
        for canonical, plan in current.items():
            old = nodes.text(rows.get(canonical, {}), nodes.DUE)
            if plan.cells and old and old != str(plan.due_at_ms):
                outdated.append((node_id(canonical), int(old), now_ms))
        if outdated:
            self._zen.due_times.delete_many(outdated)
        vanished = [
            (node_id(canonical), list(map(nodes.field_column, sorted(plan.gone))), at_ms)
            for canonical, plan in current.items()
            if plan.gone
            for at_ms in [plan.page.fetched_at_ms]
        ]
        if vanished:
            self._zen.nodes.delete_many(vanished)

    def _settle(self, plans: Sequence[PageWritePlan], rows: Mapping[str, Row], now_ms: int) -> None:
        """Move the data of new aliases to their canonical URLs."""
        for plan in plans:
            for alias in plan.aliases:
                if page_updates.has_own(rows.get(alias, {})):
                    self._aliases.settle(alias, now_ms)
