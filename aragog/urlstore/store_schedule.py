"""When pages are fetched again, who holds them, and what became other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aragog.errors import BadInput
from aragog.urls.normalize import normalize
from aragog.urlstore.feed.changes import Change
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import text
from aragog.urlstore.pages.record_reader import BASE
from aragog.urlstore.records import Due, ListPage
from aragog.urlstore.schedule.crawl_budget import Budget
from aragog.urlstore.schedule.next_fetch import state_of
from aragog.urlstore.schedule.refresh_policy import RefreshState
from aragog.urlstore.schedule.watches import MAX_OWNER_BYTES, Watch
from aragog.urlstore.store_base import StoreBase
from aragog.zen.tables import Row


class StoreSchedule(StoreBase):
    """The due index, holds and the change feed of a UrlStore."""

    def claim_due(
        self, now_ms: int, limit: int, lease_s: float, *, upto_ms: int | None = None
    ) -> list[Due]:
        """
        Up to `limit` URLs whose time has come, soonest first; nobody else gets them for `lease_s`.

        With `upto_ms` only those whose time had come by then.

        A claimed URL is due again when the lease is over, unless it was written or rescheduled.
        """
        return self._due.claim(now_ms, limit, lease_s, upto_ms)

    def oldest_due_ms(self, now_ms: int) -> int | None:
        """When the oldest URL that is due and not claimed was due; None: nothing is."""
        return self._due.oldest_ms(now_ms)

    def put_off(self, later: Sequence[tuple[Due, int]]) -> None:
        """Give URLs that were claimed another instant, unless they were planned anew meanwhile."""
        now_ms = self._now_ms()
        self._due.put_off(later, now_ms)
        self._floor_ms = now_ms + 1

    def schedule(self, url: str, due_at_ms: int | None) -> None:
        """Fetch a URL again at an instant; None: never. Replaces what was planned before."""
        now_ms = self._now_ms()
        canonical, row = self._canonical(normalize(url), BASE)
        self._check_not_taken_down(canonical, row)
        with self._writing(canonical):
            self._due.schedule(canonical, due_at_ms, now_ms)
        self._floor_ms = now_ms + 1

    def refresh_state(self, url: str) -> RefreshState | None:
        """What the refresh schedule remembers of the URL's page; None: nothing."""
        return state_of(self._canonical(normalize(url), [nodes.REFRESH])[1])

    def budgets(self, domains: Sequence[str]) -> dict[str, Budget]:
        """What is remembered of the refreshes of each domain."""
        return self._pacing.budgets(domains)

    def keep_budgets(self, budgets: Mapping[str, Budget]) -> None:
        """Remember it for the next tick."""
        if budgets:
            self._pacing.keep_budgets(budgets, self._now_ms())

    def watch(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        Keep a URL's page fresh for `owner`, as of `at_ms` (None: now). It fetches nothing itself.

        Holding twice is holding once, by whatever spelling or alias; of a hold and a release by
        the same owner the later one counts, whatever order they come in.

        Raises:
            BadInput: the owner's name is empty or too long.
            TakenDown: the URL was taken down.
        """
        canonical, row = self._set_hold(url, owner, at_ms, active=True)
        state = state_of(row)
        if state and state.due_at_ms is not None and not text(row, nodes.DUE):
            now_ms = self._now_ms()
            self._due.schedule(canonical, max(state.due_at_ms, now_ms), now_ms)

    def unwatch(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        Let go of a URL. The last one to do so ends its refreshing; what is stored stays.

        A URL that nobody ever held goes on as before.
        """
        self._set_hold(url, owner, at_ms, active=False)

    def _set_hold(
        self, url: str, owner: str, at_ms: int | None, *, active: bool
    ) -> tuple[str, Row]:
        if not 0 < len(owner.encode("utf-8", "replace")) <= MAX_OWNER_BYTES:
            raise BadInput(f"owner: must have 1 to {MAX_OWNER_BYTES} bytes")
        asked, now_ms = normalize(url), self._now_ms()
        canonical, row = self._canonical(asked, [nodes.REFRESH, nodes.DUE, nodes.REMOVED])
        if active:
            self._check_not_taken_down(canonical, row)
        at_ms = now_ms if at_ms is None else at_ms
        with self._writing(*([canonical] if active else [])):
            held = self._watches.write(canonical, Watch(owner, asked, active, at_ms), now_ms)
        if held is False and text(row, nodes.DUE):
            self._due.schedule(canonical, None, now_ms)
            self._floor_ms = now_ms + 1
        return canonical, row

    def holders(self, url: str) -> list[str]:
        """Who holds the URL's page."""
        return self._watches.owners(self.resolve(url))

    def changes(
        self,
        cursor: str | None = None,
        limit: int = 100,
        *,
        owner: str | None = None,
        host: str | None = None,
    ) -> ListPage[Change]:
        """
        What became other behind the cursor (None: since the oldest kept), and the next cursor.

        Of all pages, of those that `owner` held then, or of one host. Each change comes once at
        least; a page may be empty though there is more behind its cursor.
        """
        return self._changes.page(cursor, self._now_ms(), limit, owner=owner, host=host)

    def changes_end(self) -> str:
        """The cursor behind all changes that can be read now."""
        return self._changes.end(self._now_ms())
