"""
The Redis keys of a queue.

They start with `<prefix>pl1:{<queue>}:` and share a hash tag; the 1 is the layout version.
"""

from __future__ import annotations

from typing import NamedTuple

from pinlater.models import PRIORITIES, JobState

LAYOUT = "pl1"
PARTS = ("seq", "run", "body", "claim", "ok", "bad", "end", "uniq", "cfg", "stat", "wake")
"""The last parts of the keys, in the order of lua/prelude.lua; `p0` to `p9` follow."""


class QueueKeys(NamedTuple):
    """The Redis keys of a queue, in the order of lua/prelude.lua."""

    seq: str
    running: str
    bodies: str
    claims: str
    succeeded: str
    failed: str
    ended: str
    unique: str
    config: str
    stats: str
    wake: str
    p0: str
    p1: str
    p2: str
    p3: str
    p4: str
    p5: str
    p6: str
    p7: str
    p8: str
    p9: str

    @property
    def priorities(self) -> tuple[str, ...]:
        """Return the keys of the sorted sets of PENDING jobs, the most urgent first."""
        return self[-len(PRIORITIES) :]

    def for_state(self, state: JobState) -> tuple[str, ...]:
        match state:
            case JobState.PENDING:
                return self.priorities
            case JobState.RUNNING:
                return (self.running,)
            case JobState.SUCCEEDED:
                return (self.succeeded,)
            case JobState.FAILED:
                return (self.failed,)


def queue_keys(prefix: str, queue: str) -> QueueKeys:
    """Return the keys of a queue; `{queue}` makes them share a hash slot."""
    stem = f"{prefix}{LAYOUT}:{{{queue}}}:"
    return QueueKeys(*(stem + part for part in PARTS), *(f"{stem}p{p}" for p in PRIORITIES))
