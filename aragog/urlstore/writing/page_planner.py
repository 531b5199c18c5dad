"""
Plans what is written for each page of a batch, once its target is known.

`PagePlanner` runs the steps, each of which returns its part, and combines the parts in one
`PageWritePlan`:

    plan_cells     facts, fields, histories
    next_due       when to fetch again
    plan_bodies    the body and the pointer to it
    item_changes   changes to items
    page_changes   entries for the change feed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore import nodes
from aragog.urlstore.change_signals import ChangeSignals
from aragog.urlstore.feed import Change
from aragog.urlstore.signal_trust import HostTrust
from aragog.urlstore.watchers import Watches
from aragog.urlstore.writing.agreement import is_failed_fetch
from aragog.urlstore.writing.item_changes import ItemNews
from aragog.urlstore.writing.next_due import NextFetch, plan_next
from aragog.urlstore.writing.page_changes import (
    FetchComparison,
    PageOwners,
    changed_cell,
    find_changes,
    redirect_changes,
)
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan, is_watched
from aragog.urlstore.writing.plan_bodies import NO_BODY, plan_body
from aragog.urlstore.writing.plan_cells import (
    field_changes,
    history_cells,
    late_facts,
    page_cells,
)
from urlspelling.domain import host
from zengraph import MultiGraph


class PagePlanner:
    """
    Plans pages. Reads watchers, items on other pages and the trust in hosts, and writes nothing.

    Args:
        zen: the graph with the pages.
        settings: the histories to keep.
        refresh: when pages are fetched again.
        signals: reads the trust in hosts; None if it is not recorded.
        in_packs: True if bodies are stored in packs.
    """

    def __init__(
        self,
        zen: MultiGraph,
        settings: StoreSettings,
        refresh: RefreshSettings,
        signals: ChangeSignals | None,
        *,
        in_packs: bool,
    ) -> None:
        self._watches = Watches(zen)
        self._item_news = ItemNews(zen)
        self._settings = settings
        self._refresh = refresh
        self._signals = signals
        self._in_packs = in_packs

    def plan(self, targets: Sequence[PageTarget]) -> list[PageWritePlan]:
        """
        Return what to write for each page.

        Raises:
            StoreUnavailable: write the batch again.
        """
        trusts = self._host_trusts(targets)
        return [self._plan(target, trusts.get(target.canonical)) for target in targets]

    def _plan(self, target: PageTarget, trust: HostTrust | None) -> PageWritePlan:
        if target.copy:
            changes = self._redirect_changes(target) if target.is_newest else ()
            return PageWritePlan(target, changes=changes)
        # A failed fetch through an alias says nothing about the canonical URL.
        is_failed_alias = target.canonical != target.page.url and is_failed_fetch(target.page)
        if target.refused or is_failed_alias:
            return PageWritePlan(target)
        return self._plan_page(target, trust)

    def _plan_page(self, target: PageTarget, trust: HostTrust | None) -> PageWritePlan:
        """Run the steps. An older fetch adds only data that the store does not have."""
        page = target.page
        cells = page_cells(target)
        fields = field_changes(target)
        cells |= fields.cells
        next_fetch = self._next_fetch(target, fields.changed, trust)
        if next_fetch is not None:
            cells |= next_fetch.cells
        cells |= history_cells(target, self._settings.history, self._settings.history_length)
        body = NO_BODY
        if page.content is not None and not target.stale:
            body = plan_body(target, page.content, in_packs=self._in_packs)
            cells |= body.cells
        changes: Sequence[Change] = ()
        if next_fetch is not None:
            changes = self._find_changes(target, next_fetch, fields.changed, cells)
            cells |= changed_cell(target, changes)
        return PageWritePlan(
            target,
            cells,
            late_facts(target, cells[nodes.FACTS]),
            body.body,
            body.unpacked,
            due_at_ms=_due_at_ms(target, next_fetch),
            evidence=next_fetch.evidence if next_fetch else None,
            changes=changes,
        )

    def _next_fetch(
        self, target: PageTarget, changed: Sequence[str], trust: HostTrust | None
    ) -> NextFetch | None:
        """Return the next fetch; None if the caller chose its time, or for an older fetch."""
        page = target.page
        if target.stale or page.seen is None:
            return None
        return plan_next(
            target.row,
            page,
            page.seen,
            changed,
            self._refresh,
            canonical=target.canonical,
            trust=trust,
        )

    def _find_changes(
        self,
        target: PageTarget,
        next_fetch: NextFetch,
        changed: Sequence[str],
        cells: Mapping[bytes, bytes],
    ) -> list[Change]:
        owners = self._find_owners(target)
        is_compared = not next_fetch.first or is_watched(target)
        item_news = self._item_news.of(target, changed) if is_compared else {}
        found = FetchComparison(next_fetch, changed, item_news, cells)
        return find_changes(target, found, owners, all_pages=self._refresh.report_new_pages)

    def _redirect_changes(self, target: PageTarget) -> list[Change]:
        owners = self._find_owners(target).requested
        return redirect_changes(target, owners, all_pages=self._refresh.report_new_pages)

    def _find_owners(self, target: PageTarget) -> PageOwners:
        url = target.page.url
        owners = self._watches.owners(target.canonical) if is_watched(target) else ()
        if url == target.canonical:
            return PageOwners(owners, owners)
        if nodes.text(target.requested_row, nodes.WATCHED):
            return PageOwners(owners, self._watches.owners(url))
        return PageOwners(owners)

    def _host_trusts(self, targets: Sequence[PageTarget]) -> dict[str, HostTrust]:
        """Return the trust in the hosts whose pages have a mark (`signal_marks`)."""
        hosts = {
            target.canonical: host(target.canonical)
            for target in targets
            if nodes.SIGNAL in target.row and target.is_current
        }
        if self._signals is None or not hosts:
            return {}
        trusts = self._signals.trusts(set(hosts.values()))
        return {url: trusts[name] for url, name in hosts.items()}


def _due_at_ms(target: PageTarget, next_fetch: NextFetch | None) -> int | None:
    if next_fetch is not None:
        return next_fetch.due_at_ms
    return None if target.stale else target.page.due_at_ms
