"""
Gates: an application's control over which jobs its process claims from a queue.

    gates.put("fetch", lambda: 9 if there_is_room() else gates.NOTHING)

A worker can also keep room for urgent jobs, so that they never wait until one of its jobs ends:

    gates.reserve_room("fetch", gates.ReservedRoom(jobs=2, lowest=2))

A worker that serves several queues can bound the jobs that it has of one at once, so that slow jobs
of that queue never take the room of the others:

    gates.limit("robots", 8)

Instead of a number, a limit may be a function of how many jobs of the queue the worker has.

A process always claims from a queue without a gate. It calls a gate that is not wide open four
times a second, and the jobs in the meantime wait on the server, where other processes may claim
them. The jobs that an `Allowance` allows are for all shards together, and until the gate is called
again. A gate affects only its own process: to stop a queue everywhere, pause it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pinlater.models import PRIORITIES

EVERYTHING = PRIORITIES[-1]
NOTHING = -1
ASK_EVERY_S = 0.25
"""Interval between two calls of a gate that is not wide open; no event reports that it opened."""
ASK_NEARLY_FULL_S = 0.03
"""Interval between two looks of a worker whose room is kept for urgent jobs."""


class Allowance(NamedTuple):
    """The jobs that a gate admits: how many, and of which priorities."""

    lowest: int
    """The least urgent priority that may be claimed (0 to 9), or `NOTHING`."""
    jobs: int | None = None
    """How many jobs may be claimed until the gate is called again; None: any number."""

    @property
    def is_wide(self) -> bool:
        """True if the gate holds nothing back."""
        return self.lowest >= EVERYTHING and self.jobs is None


class ReservedRoom(NamedTuple):
    """The room of a worker that only urgent jobs of a queue use."""

    jobs: int
    lowest: int = NOTHING
    """The least urgent priority that uses it."""


Gate = Callable[[], "Allowance | int"]
Limit = Callable[[int], int]
"""From how many jobs of a queue a process has, how many it may have."""
NO_ROOM = ReservedRoom(0)

_gates: dict[str, Gate] = {}
_kept: dict[str, ReservedRoom] = {}
_limits: dict[str, int | Limit] = {}


def put(queue: str, gate: Gate | None) -> None:
    """
    Call `gate` before claims from the queue; None removes the gate.

    It returns an `Allowance`, or only its `lowest`. It runs in the worker's event loop: it must
    return within milliseconds and never raise.
    """
    if gate is None:
        _gates.pop(queue, None)
    else:
        _gates[queue] = gate


def has_gate(queue: str) -> bool:
    """Whether the queue has a gate."""
    return queue in _gates


def reserve_room(queue: str, kept: ReservedRoom | None) -> None:
    """
    Reserve room for urgent jobs of the queue; None: for none.

    A worker with no more room than that left claims only jobs of these priorities, and looks for
    them every `ASK_NEARLY_FULL_S`.
    """
    if kept is None:
        _kept.pop(queue, None)
    else:
        _kept[queue] = kept


def reserved_room(queue: str) -> ReservedRoom:
    """Return the room that is kept for urgent jobs of the queue."""
    return _kept.get(queue, NO_ROOM)


def limit(queue: str, jobs: int | Limit | None) -> None:
    """
    Limit how many jobs of the queue are here at once, from all shards together; None: any number.

    A claim counts until its ack. At the limit, the queue's other jobs wait on the server. A
    function is called before each claim, and at least four times a second at the limit, in the
    worker's event loop: see `put`.
    """
    if jobs is None:
        _limits.pop(queue, None)
    else:
        _limits[queue] = jobs


def limit_of(queue: str, held: Callable[[], int] = lambda: 0) -> int | None:
    """
    Return how many jobs of the queue this process may have at once; None: any number.

    Args:
        queue: its name.
        held: returns how many it has; called only if the limit depends on it.
    """
    jobs = _limits.get(queue)
    return jobs(held()) if callable(jobs) else jobs


def allowance(queue: str) -> Allowance:
    """Return what may be claimed now."""
    gate = _gates.get(queue)
    allowed = EVERYTHING if gate is None else gate()
    return allowed if isinstance(allowed, Allowance) else Allowance(allowed)


class Allowances:
    """The jobs that the gates allow one consumer to claim, from all shards together."""

    def __init__(self) -> None:
        self._bounded: dict[str, tuple[float, Allowance]] = {}
        """The queues whose number of jobs is bounded: until when, and how many jobs are left."""

    def left(self, queue: str, now_s: float) -> tuple[Allowance, float]:
        """Return what may be claimed now, and when the gate is called again if it is not wide."""
        until_s, left = self._bounded.get(queue, (0.0, None))
        if left is None or now_s >= until_s:
            until_s, left = now_s + ASK_EVERY_S, allowance(queue)
            self._bounded.pop(queue, None)
            if left.jobs is not None:
                self._bounded[queue] = until_s, left
        return left, until_s

    def count_claimed(self, queue: str, jobs: int) -> None:
        """Count jobs that were claimed."""
        if queue in self._bounded:
            until_s, left = self._bounded[queue]
            self._bounded[queue] = until_s, left._replace(jobs=max(0, (left.jobs or 0) - jobs))
