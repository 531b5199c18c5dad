"""
Assign the lanes of the link journal (`_journal_keys`) to the processes that compact them.

A compaction claims a *slot* (a number from 0 to 127) and some lanes until it has executed its plan.
Its deltas, the changes that it adds to lists, are named by its slot and its number within the slot.
A slot has only one compaction at a time, so its numbers are consecutive, as `delta_names` requires.
A lane is claimed by only one compaction at a time, so a source's changes are compacted in order of
time. All claims are in one cell, which is replaced by check-and-put.

Claims expire according to the clocks of the processes. If the plan was not stored yet, the expired
claim is void, and its slow process can no longer store a plan. If the plan was stored, the claim
remains until another process takes it over and executes the plan again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import orjson

from zengraph.clock import Clock
from zengraph.errors import StoreUnavailable
from zengraph.links._inlinks.delta_names import PASSED
from zengraph.links._journal_keys import LANES
from zengraph.tables import CellTable

LOCK_MS = 300_000
"""The lifetime of a claim (ms), longer than any compaction takes."""
ROW = b"\xffcompaction"
"""The journal table's row of claims."""
ALL_LANES = frozenset(range(LANES))

_COLUMN = b"l:claims"
_FORMER = b"l:plan"
"""The column with the plan of earlier versions, which ran one compaction at a time."""
_ATTEMPTS = 1000


@dataclass(frozen=True, slots=True)
class LaneClaim:
    slot: int
    number: int
    """The number of the compaction within its slot."""
    holder: bytes
    until_ms: int
    lanes: frozenset[int]
    planned: bool = False
    """True once the plan is stored."""
    waits: bool = False
    """True while the compaction waits for more lanes."""


@dataclass(frozen=True, slots=True)
class Claims:
    """All claims at one moment."""

    last: tuple[int, ...] = ()
    """The last compaction's number, by slot."""
    held: tuple[LaneClaim, ...] = ()

    def pack(self) -> bytes:
        held = [
            (c.slot, c.number, c.holder.hex(), c.until_ms, sorted(c.lanes), c.planned, c.waits)
            for c in self.held
        ]
        return orjson.dumps({"last": self.last, "held": held})

    @staticmethod
    def unpack(value: bytes) -> Claims:
        parts = orjson.loads(value)
        held = tuple(
            LaneClaim(
                slot, number, bytes.fromhex(holder), until_ms, frozenset(lanes), planned, waits
            )
            for slot, number, holder, until_ms, lanes, planned, waits in parts["held"]
        )
        return Claims(tuple(parts["last"]), held)

    def valid(self, now_ms: int) -> Claims:
        """Return a copy without void claims."""
        held = tuple(claim for claim in self.held if claim.planned or claim.until_ms > now_ms)
        return replace(self, held=held)

    def free_lanes(self) -> frozenset[int]:
        return ALL_LANES.difference(*(claim.lanes for claim in self.held))

    def free_slot(self) -> int | None:
        """Return the lowest slot without a compaction, or None."""
        taken = {claim.slot for claim in self.held}
        return next((slot for slot in range(PASSED) if slot not in taken), None)

    def abandoned(self, now_ms: int) -> LaneClaim | None:
        """Return an expired claim with a stored plan, or None. That plan must be executed again."""
        return next((c for c in self.held if c.planned and c.until_ms <= now_ms), None)

    def find(self, claim: LaneClaim) -> LaneClaim | None:
        """Return the current version of a claim, or None if its process has lost it."""
        return next((c for c in self.held if c.holder == claim.holder), None)

    def with_claim(self, claim: LaneClaim) -> Claims:
        """Return a copy in which this claim replaces its slot's claim."""
        numbers = [*self.last, *[0] * (claim.slot + 1 - len(self.last))]
        numbers[claim.slot] = claim.number
        return Claims(tuple(numbers), (*(c for c in self.held if c.slot != claim.slot), claim))

    def without(self, claim: LaneClaim) -> Claims:
        return replace(self, held=tuple(c for c in self.held if c.holder != claim.holder))

    def next_number(self, slot: int) -> int:
        return 1 + (self.last[slot] if slot < len(self.last) else 0)


Change = Callable[[Claims], Claims | None]
"""Maps the claims to new ones, or returns None to leave them unchanged."""


class ClaimCell:
    """
    The cell that contains the claims.

    Args:
        max_compactions: maximum number of concurrent compactions.
    """

    def __init__(self, table: CellTable, clock: Clock, max_compactions: int) -> None:
        self._table = table
        self._clock = clock
        self._max_compactions = max_compactions

    def read(self) -> Claims:
        """Return the valid claims."""
        return self._read()[0]

    def is_full(self) -> bool:
        """Return True if all lanes are claimed or `max_compactions` are running."""
        claims = self.read()
        return not claims.free_lanes() or len(claims.held) >= self._max_compactions

    def begin(self, wanted: Sequence[int], most: int, *, urgent: bool = False) -> LaneClaim | None:
        """
        Claim the first free lanes of `wanted`, up to `most`. Returns None if none is free or,
        unless `urgent`, if `max_compactions` are running.
        """
        return self._new(
            lambda claims: frozenset([x for x in wanted if x in claims.free_lanes()][:most]),
            lambda claims: urgent or len(claims.held) < self._max_compactions,
        )

    def begin_alone(self) -> LaneClaim | None:
        """Claim all lanes. Returns None if another process has claimed a lane."""
        return self._new(lambda _: ALL_LANES, lambda claims: not claims.held)

    def begin_waiting(self) -> LaneClaim | None:
        """
        Claim the free lanes; `wait` claims the others later. Returns None if another process is
        waiting.
        """
        return self._new(
            Claims.free_lanes, lambda claims: not any(c.waits for c in claims.held), waits=True
        )

    def wait(self, claim: LaneClaim) -> LaneClaim | None:
        """Renew the claim and add all free lanes. Returns None if the claim was lost."""
        return self._edit(
            claim,
            lambda claims, own: replace(
                own, lanes=own.lanes | claims.free_lanes(), until_ms=self._until_ms()
            ),
        )

    def plan(self, claim: LaneClaim, lanes: Iterable[int]) -> LaneClaim | None:
        """
        Mark the plan for these lanes as stored, and free the other lanes. Returns None if the claim
        was lost.
        """
        own = frozenset(lanes)
        return self._edit(
            claim, lambda _, now: replace(now, lanes=own, planned=True, until_ms=self._until_ms())
        )

    def take_over(self, claim: LaneClaim) -> LaneClaim | None:
        """Take over a dead process's claim. Returns None if another process already has."""
        holder = os.urandom(8)
        return self._edit(
            claim, lambda _, now: replace(now, holder=holder, until_ms=self._until_ms())
        )

    def end(self, claim: LaneClaim) -> bool:
        """Release the claim. Returns False if it was lost."""
        return bool(
            self._change(lambda claims: claims.without(claim) if claims.find(claim) else None)
        )

    def abandon(self, claim: LaneClaim) -> None:
        """Release the claim. Another compaction executes its plan if one is stored."""
        if claim.planned:
            self._edit(claim, lambda _, now: replace(now, until_ms=0))
        else:
            self.end(claim)

    def _new(
        self,
        lanes_of: Callable[[Claims], frozenset[int]],
        allowed: Callable[[Claims], bool],
        *,
        waits: bool = False,
    ) -> LaneClaim | None:
        holder = os.urandom(8)

        def change(claims: Claims) -> Claims | None:
            slot, lanes = claims.free_slot(), lanes_of(claims)
            if slot is None or not (lanes or waits) or not allowed(claims):
                return None
            number = claims.next_number(slot)
            claim = LaneClaim(slot, number, holder, self._until_ms(), lanes, waits=waits)
            return claims.with_claim(claim)

        claims = self._change(change)
        return claims.held[-1] if claims else None

    def _edit(
        self, claim: LaneClaim, edit: Callable[[Claims, LaneClaim], LaneClaim]
    ) -> LaneClaim | None:
        def change(claims: Claims) -> Claims | None:
            own = claims.find(claim)
            return None if own is None else claims.with_claim(edit(claims, own))

        claims = self._change(change)
        return claims.held[-1] if claims else None

    def _change(self, change: Change) -> Claims | None:
        """Replace the claims. Returns None if `change` returns None."""
        for _ in range(_ATTEMPTS):
            claims, cell = self._read()
            new = change(claims)
            if new is None:
                return None
            if self._table.check_and_put(ROW, _COLUMN, cell, new.pack()):
                return new
        raise StoreUnavailable("link journal", "too many processes change its claims at once")

    def _read(self) -> tuple[Claims, bytes | None]:
        row = self._table.get(ROW, [_COLUMN, _FORMER])
        if _COLUMN in row:
            value = row[_COLUMN].value
            return Claims.unpack(value).valid(self._clock.now_ms()), value
        if _FORMER in row:
            return _former(row[_FORMER].value), None
        return Claims(), None

    def _until_ms(self) -> int:
        return self._clock.now_ms() + LOCK_MS


def _former(value: bytes) -> Claims:
    """Read the cell of earlier versions. Slot 0 continues their compactions' numbers."""
    plan = orjson.loads(value)
    if plan["rows"] or plan["lists"]:
        raise StoreUnavailable(
            "link journal",
            "a compaction of an earlier version was interrupted; let that version complete it",
        )
    return Claims((plan["number"],))
