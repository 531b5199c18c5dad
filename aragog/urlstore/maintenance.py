"""
Maintains a UrlStore: compacts links (adds journaled changes to the inlink lists), repairs the
store, rewrites packs, and measures how fresh pages are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from aragog.urlstore.bodies import Bodies
from aragog.urlstore.budget_state import BudgetState
from aragog.urlstore.freshness import SAMPLE, Freshness, freshness
from aragog.urlstore.pack_objects import ObjectPacking, PackingReport
from aragog.urlstore.pack_upkeep import PackUpkeep, UpkeepReport
from aragog.urlstore.repair import GRACE_S, Progress, Repair, RepairReport
from aragog.urlstore.write_clock import WriteClock
from aragog.urlstore.writing.alias_merger import AliasMerger
from zengraph import MultiGraph
from zengraph.links import CompactionReport, Compactor


@dataclass(slots=True, eq=False)
class Maintenance:
    """Maintains a store. Any number of processes may do so at once."""

    zen: MultiGraph
    bodies: Bodies
    merger: AliasMerger
    compactor: Compactor
    clock: WriteClock
    _positions: BudgetState = field(init=False)
    _freshness: tuple[int, dict[str, Freshness]] = field(init=False, default=(0, {}))

    def __post_init__(self) -> None:
        self._positions = BudgetState(self.zen)

    def compact_links(self, limit: int = 1000) -> CompactionReport:
        """
        Add the journal rows of about `limit` pages to the inlink lists. Takes about 30 KB of memory
        per page.

        Safe to kill: the next run, on any machine, gives the same lists and counts.
        """
        return self.compactor.compact(limit)

    def compaction_lag_ms(self) -> int:
        """
        Return how long the oldest link change has been waiting for compaction, or 0 if there is
        none.
        """
        return self.compactor.lag_ms()

    def repair(
        self,
        progress: Progress | None = None,
        *,
        report: Callable[[str], None] = lambda _: None,
        grace_s: float = GRACE_S,
        wait: bool = True,
    ) -> RepairReport:
        """
        Make the whole store's indexes, aliases, content, counts and due rows match its nodes.

        Workers may run at the same time: rows younger than `grace_s` are left to their writers.
        Content that no node points to is removed after another `grace_s` or, if `wait` is False,
        left to a later repair. Calls `report` with a line of text before each long step that does
        not count rows.
        """
        repair = Repair(
            self.zen,
            self.bodies,
            self.merger,
            self.compactor,
            self.clock.clock,
            grace_s=grace_s,
            wait=wait,
        )
        repaired = repair.run(progress, report)
        self.clock.record_deletion(self.clock.now_ms())
        return repaired

    def upkeep_packs(self, limit: int = 100) -> UpkeepReport:
        """
        Rewrite packs that are mostly unused, and erase bytes that must not be kept; see
        `PackUpkeep`.

        Both are limited to about `limit` packs each.
        """
        return PackUpkeep(self.zen, self.bodies, self.clock.clock).run(limit)

    def dead_pack_bytes(self) -> int | None:
        """
        Return the bytes of pack records that no page uses.

        `upkeep_packs` counts them. None if it has not run, or there are no packs.
        """
        packs = self.bodies.packs
        return None if packs is None else packs.catalog.dead_bytes()

    def pack_objects(self, on_progress: Callable[[int], None] = lambda _: None) -> PackingReport:
        """Move content that is stored as objects into packs; see `ObjectPacking`."""
        return ObjectPacking(self.zen, self.bodies).run(on_progress)

    def freshness(self, sample: int = SAMPLE, *, cached_s: float = 0.0) -> dict[str, Freshness]:
        """
        Return how old stored pages are and which fraction is refreshed on time, by page type.

        Computed from a sample. May return an earlier result that is at most `cached_s` seconds old.
        """
        now_ms = self.clock.clock.now_ms()
        at_ms, result = self._freshness
        if not 0 <= now_ms - at_ms < cached_s * 1000:
            result = freshness(self.zen, now_ms, sample)
            self._freshness = (now_ms, result)
        return result

    def bookmark(self, name: str) -> str | None:
        """Return the stored position of a long walk; None at the beginning."""
        return self._positions.bookmark(name)

    def set_bookmark(self, name: str, cursor: str) -> None:
        """Store a walk's position; an empty cursor means that the walk is complete."""
        self._positions.set_bookmark(name, cursor, self.clock.now_ms())
