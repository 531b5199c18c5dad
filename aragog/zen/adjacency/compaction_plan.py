"""The plan of one compaction: which journal rows it takes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import orjson


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A journal row that a compaction takes."""

    key: bytes
    dead: tuple[bytes, ...] = ()
    """Names of its changes that never took effect."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The work of a compaction; stored before it touches a posting list."""

    number: int = 0
    """Counts compactions; it names the deltas that this one writes."""
    rows: tuple[PlannedRow, ...] = ()
    """Oldest first; empty once the compaction is complete."""
    left: bool = False
    """True when there are journal rows that the plan does not take."""

    def done(self) -> CompactionPlan:
        """The plan that replaces this one after it was carried out."""
        return CompactionPlan(self.number)

    def pack(self) -> bytes:
        """The cell."""
        rows = [(row.key.hex(), [name.hex() for name in row.dead]) for row in self.rows]
        return orjson.dumps({"number": self.number, "rows": rows, "left": self.left})

    @staticmethod
    def unpack(value: bytes) -> CompactionPlan:
        """What `pack` returned."""
        plan = orjson.loads(value)
        rows = tuple(
            PlannedRow(bytes.fromhex(key), tuple(bytes.fromhex(name) for name in dead))
            for key, dead in plan["rows"]
        )
        return CompactionPlan(plan["number"], rows, plan["left"])
