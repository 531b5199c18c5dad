"""Upkeep: folding, repair, freshness, and the places where long walks stopped."""

from __future__ import annotations

from aragog.urlstore.records import CompactionReport
from aragog.urlstore.repair import GRACE_S, Progress, Repair, RepairReport
from aragog.urlstore.schedule.freshness import SAMPLE, Freshness, freshness
from aragog.urlstore.store_base import StoreBase


class StoreUpkeep(StoreBase):
    """What keeps a UrlStore in order."""

    def compact_links(self, limit: int = 1000) -> CompactionReport:
        """
        Fold the journal rows of about `limit` pages into the inlinks; about 30 KB of memory a page.

        Killed at any point and run again, here or elsewhere, it gives the same lists and counts.
        """
        return self._compactor.fold(limit)

    def fold_lag_ms(self) -> int:
        """How long the oldest change has waited to be folded; 0: nothing waits."""
        return self._compactor.lag_ms()

    def repair(self, progress: Progress | None = None, *, grace_s: float = GRACE_S) -> RepairReport:
        """
        Walk all and make indexes, aliases, content, counts and due rows agree with the nodes.

        May run beside the workers: what is younger than `grace_s` is left to its writer. Where
        content is found that nothing points to, it waits `grace_s` before that is removed.
        """
        repair = Repair(
            self._tables,
            self._content,
            self._aliases,
            self._compactor,
            self._clock,
            grace_s=grace_s,
        )
        report = repair.run(progress)
        self._floor_ms = self._now_ms() + 1
        return report

    def freshness(self, sample: int = SAMPLE, *, cached_s: float = 0.0) -> dict[str, Freshness]:
        """
        How old what is served is and how much is refreshed in time, by type, from a sample.

        With `cached_s` the last answer is given again while it is no older.
        """
        now_ms = self._clock.now_ms()
        at_ms, found = self._fresh
        if not 0 <= now_ms - at_ms < cached_s * 1000:
            found = freshness(self._tables, now_ms, sample)
            self._fresh = (now_ms, found)
        return found

    def take_tick(self, name: str, now_ms: int, least_s: float) -> float | None:
        """Seconds since the last tick of that name, for one caller; None: it is too soon."""
        return self._pacing.take_tick(name, now_ms, least_s)

    def bookmark(self, name: str) -> str | None:
        """Where a long walk of that name was; None: at its beginning."""
        return self._pacing.bookmark(name)

    def set_bookmark(self, name: str, cursor: str) -> None:
        """Where it is now; an empty cursor: it is done, the next one begins anew."""
        self._pacing.set_bookmark(name, cursor, self._now_ms())

    def sweep_changes(self, kept_s: float) -> int:
        """Let go of changes older than that; how many rows."""
        return self._changes.sweep(self._now_ms() - int(kept_s * 1000))
