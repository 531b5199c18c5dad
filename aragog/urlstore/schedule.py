"""The refresh schedule: when pages are fetched again, who watches them, and the crawl budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aragog.errors import BadInput
from aragog.urlstore import nodes
from aragog.urlstore.budget_state import BudgetState
from aragog.urlstore.crawl_budget import Budget
from aragog.urlstore.due_index import DueIndex
from aragog.urlstore.nodes import Nodes, text
from aragog.urlstore.record_reader import BASE
from aragog.urlstore.records import Due
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.takedowns import Takedowns, check_not_taken_down
from aragog.urlstore.watchers import MAX_OWNER_BYTES, Watch, Watches
from aragog.urlstore.write_clock import MAX_AT_MS, WriteClock
from aragog.urlstore.writing.next_due import read_state
from urlspelling import normalize
from zengraph import MultiGraph
from zengraph.records import Row


class Schedule:
    """The due index, the watches and the crawl budgets of a UrlStore; threads may share it."""

    def __init__(self, zen: MultiGraph, takedowns: Takedowns, clock: WriteClock) -> None:
        self._nodes = Nodes(zen)
        self._due = DueIndex(zen)
        self._watches = Watches(zen)
        self._budget_state = BudgetState(zen)
        self._takedowns = takedowns
        self._clock = clock

    def claim_due(
        self, now_ms: int, limit: int, lease_s: float, *, upto_ms: int | None = None
    ) -> list[Due]:
        """
        Claim up to `limit` due URLs for `lease_s` seconds, soonest first.

        With `upto_ms`, claims only URLs that are due by then. When the lease ends, a claimed URL
        becomes due again unless it was written or rescheduled.
        """
        return self._due.claim(now_ms, limit, lease_s, upto_ms)

    def oldest_due_ms(self, now_ms: int) -> int | None:
        """Return the due time of the oldest URL that is due and unclaimed, or None."""
        return self._due.oldest_ms(now_ms)

    def postpone(self, later: Sequence[tuple[Due, int]]) -> None:
        """Postpone claimed URLs, unless they were rescheduled since the claim."""
        now_ms = self._clock.now_ms()
        self._due.postpone(later, now_ms)
        self._clock.record_deletion(now_ms)

    def capped(self, at_ms: int, what: str) -> int:
        """See `WriteClock.capped`. Use it for requests dated by another machine."""
        return self._clock.capped(at_ms, what)

    def plan(self, url: str, due_at_ms: int | None) -> None:
        """
        Set when a URL is fetched again; None: never.

        Raises:
            BadInput: the time is negative, or after the year 10,000.
            TakenDown: the URL was taken down.
        """
        if due_at_ms is not None and not 0 <= due_at_ms <= MAX_AT_MS:
            raise BadInput(f"due_at_ms: {due_at_ms} is out of range; give milliseconds since 1970")
        now_ms = self._clock.now_ms()
        canonical, row = self._nodes.resolve(normalize(url), BASE)
        check_not_taken_down(canonical, row)
        with self._takedowns.guard_write(canonical):
            self._due.schedule(canonical, due_at_ms, now_ms)
        self._clock.record_deletion(now_ms)

    def refresh_state(self, url: str) -> RefreshState | None:
        return read_state(self._nodes.resolve(normalize(url), [nodes.REFRESH])[1])

    def budgets(self, domains: Sequence[str]) -> dict[str, Budget]:
        """Return the domains' budgets; empty for a domain without a stored budget."""
        return self._budget_state.budgets(domains)

    def keep_budgets(self, budgets: Mapping[str, Budget]) -> None:
        if budgets:
            self._budget_state.keep_budgets(budgets, self._clock.now_ms())

    def take_tick(self, name: str, now_ms: int, min_interval_s: float) -> float | None:
        """See `BudgetState.take_tick`."""
        return self._budget_state.take_tick(name, now_ms, min_interval_s)

    def watch(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        Keep a URL's page fresh for `owner` from `at_ms` (now if None) on. Does not fetch it now.

        Idempotent for all spellings and aliases of the URL. If an owner both watches and
        unwatches, the request with the later time wins, even if it arrives first.

        Raises:
            BadInput: the owner's name is empty or too long; `at_ms` is negative or more than a
                minute in the future.
            TakenDown: the URL was taken down.
        """
        canonical, row = self._set_watch(url, owner, at_ms, active=True)
        state = read_state(row)
        if state and state.due_at_ms is not None and not text(row, nodes.DUE):
            now_ms = self._clock.now_ms()
            self._due.schedule(canonical, max(state.due_at_ms, now_ms), now_ms)

    def unwatch(self, url: str, owner: str, *, at_ms: int | None = None) -> None:
        """
        End an owner's watch. After the last watch, the page is kept but no longer refreshed.

        Does not change a URL that was never watched.

        Raises:
            BadInput: the owner's name is empty or too long; `at_ms` is negative or more than a
                minute in the future.
        """
        self._set_watch(url, owner, at_ms, active=False)

    def watchers(self, url: str) -> list[str]:
        """Return the owners that watch the URL's page, sorted."""
        return self._watches.owners(self._nodes.resolve(normalize(url))[0])

    def _set_watch(
        self, url: str, owner: str, at_ms: int | None, *, active: bool
    ) -> tuple[str, Row]:
        if not 0 < len(owner.encode("utf-8", "replace")) <= MAX_OWNER_BYTES:
            raise BadInput(f"owner: must have 1 to {MAX_OWNER_BYTES} bytes")
        at_ms = self._clock.instant(at_ms)
        normalized, now_ms = normalize(url), self._clock.now_ms()
        columns = [nodes.REFRESH, nodes.DUE, nodes.REMOVED]
        canonical, row = self._nodes.resolve(normalized, columns)
        if active:
            check_not_taken_down(canonical, row)
        with self._takedowns.guard_write(*([canonical] if active else [])):
            watched = self._watches.write(
                canonical, Watch(owner, normalized, active, at_ms), now_ms
            )
        if watched is False and text(row, nodes.DUE):
            self._due.schedule(canonical, None, now_ms)
            self._clock.record_deletion(now_ms)
        return canonical, row
