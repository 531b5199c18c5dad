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
    lists: tuple[bytes, ...] = ()
    """Ids of posting lists from which removed links are deleted; likewise."""
    left: bool = False
    """True when there are journal rows that the plan does not take."""

    def __bool__(self) -> bool:
        """True while there is work to do."""
        return bool(self.rows or self.lists)

    def done(self) -> CompactionPlan:
        """The plan that replaces this one after it was carried out."""
        return CompactionPlan(self.number)

    def pack(self) -> bytes:
        """The cell."""
        rows = [(row.key.hex(), [name.hex() for name in row.dead]) for row in self.rows]
        lists = [list_id.hex() for list_id in self.lists]
        return orjson.dumps(
            {"number": self.number, "rows": rows, "lists": lists, "left": self.left}
        )

    @staticmethod
    def unpack(value: bytes) -> CompactionPlan:
        """Read the output of `pack`."""
        plan = orjson.loads(value)
        rows = tuple(
            PlannedRow(bytes.fromhex(key), tuple(bytes.fromhex(name) for name in dead))
            for key, dead in plan["rows"]
        )
        lists = tuple(map(bytes.fromhex, plan["lists"]))
        return CompactionPlan(plan["number"], rows, lists, plan["left"])
