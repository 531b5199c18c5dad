"""
Gates let an application decide which jobs its process claims from a queue.

    gates.put("fetch", lambda: 9 if there_is_room() else gates.NOTHING)

A worker can reserve room for urgent jobs, so that they never wait for another job to end:

    gates.reserve_room("fetch", gates.ReservedRoom(jobs=2, lowest=2))

A worker that serves several queues can limit how many jobs of one queue it runs at once, so that
slow jobs never use up all its room:

    gates.limit("robots", 8)

A limit may also be a function, which gets the number of jobs that the worker has claimed from the
queue.

A queue without a gate is always open. A gate that admits only some jobs is called four times a
second. Other jobs stay on the server, where other processes may claim them. An `Allowance` covers
all shards together, and lasts until the gate's next call. A gate affects only its own process. To
stop a queue everywhere, pause it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pinlater.models import PRIORITIES

EVERYTHING = PRIORITIES[-1]
NOTHING = -1
GATE_CHECK_EVERY_S = 0.25
"""A partly open gate is called at this interval, because nothing reports when it opens."""
URGENT_CHECK_EVERY_S = 0.03
"""A worker with room only for urgent jobs checks for them at this interval."""


class Allowance(NamedTuple):
    """Which jobs a gate admits."""

    lowest: int
    """The least urgent priority that may be claimed (0 to 9), or `NOTHING`."""
    jobs: int | None = None
    """How many jobs may be claimed until the gate's next call; None means any number."""

    @property
    def is_open(self) -> bool:
        return self.lowest >= EVERYTHING and self.jobs is None


class ReservedRoom(NamedTuple):
    """Room on a worker that is reserved for a queue's urgent jobs."""

    jobs: int
    lowest: int = NOTHING
    """The least urgent priority that may use it."""


Gate = Callable[[], "Allowance | int"]
Limit = Callable[[int], int]
"""Takes how many jobs of a queue this process has claimed; returns how many it may have."""
NO_ROOM = ReservedRoom(0)

_gates: dict[str, Gate] = {}
_reserved: dict[str, ReservedRoom] = {}
_limits: dict[str, int | Limit] = {}


def put(queue: str, gate: Gate | None) -> None:
    """
    Call `gate` before claims from the queue; None removes the gate.

    The gate returns an `Allowance` or only its `lowest`. It runs in the worker's event loop, so it
    must be fast (milliseconds) and never raise.
    """
    if gate is None:
        _gates.pop(queue, None)
    else:
        _gates[queue] = gate


def has_gate(queue: str) -> bool:
    """Return whether the queue has a gate."""
    return queue in _gates


def reserve_room(queue: str, reserved: ReservedRoom | None) -> None:
    """
    Reserve room for urgent jobs of the queue; None removes the reservation.

    A worker with no other room claims only jobs of these priorities.
    """
    if reserved is None:
        _reserved.pop(queue, None)
    else:
        _reserved[queue] = reserved


def reserved_room(queue: str) -> ReservedRoom:
    """Return the room reserved for urgent jobs of the queue."""
    return _reserved.get(queue, NO_ROOM)


def limit(queue: str, jobs: int | Limit | None) -> None:
    """
    Limit how many jobs of the queue this process has at once, over all shards; None: no limit.

    A job counts from its claim until its ack. At the limit, other jobs wait on the server. A
    function is called before each claim, and at least four times a second at the limit, in the
    worker's event loop, so it must be fast and never raise.
    """
    if jobs is None:
        _limits.pop(queue, None)
    else:
        _limits[queue] = jobs


def get_limit(queue: str, count_held: Callable[[], int] = lambda: 0) -> int | None:
    """
    Return how many jobs of the queue this process may have at once, or None if there is no limit.

    Args:
        queue: name of the queue.
        count_held: returns how many of the queue's jobs the process has; called only if the limit
            is a function.
    """
    limit = _limits.get(queue)
    return limit(count_held()) if callable(limit) else limit


def allowance(queue: str) -> Allowance:
    """Return what may be claimed now."""
    gate = _gates.get(queue)
    result = EVERYTHING if gate is None else gate()
    return result if isinstance(result, Allowance) else Allowance(result)


class Allowances:
    """The remaining allowances of one consumer's queues, across all shards."""

    def __init__(self) -> None:
        self._unexpired: dict[str, tuple[float, Allowance]] = {}
        """When a limited allowance expires, and what is left of it, by queue."""

    def remaining(self, queue: str, now_s: float) -> tuple[Allowance, float]:
        """Return what may be claimed now, and when the gate will be called again."""
        expires_at_s, remaining = self._unexpired.get(queue, (0.0, None))
        if remaining is None or now_s >= expires_at_s:
            expires_at_s, remaining = now_s + GATE_CHECK_EVERY_S, allowance(queue)
            self._unexpired.pop(queue, None)
            if remaining.jobs is not None:
                self._unexpired[queue] = expires_at_s, remaining
        return remaining, expires_at_s

    def count_claimed(self, queue: str, jobs: int) -> None:
        if queue in self._unexpired:
            expires_at_s, remaining = self._unexpired[queue]
            self._unexpired[queue] = (
                expires_at_s,
                remaining._replace(jobs=max(0, (remaining.jobs or 0) - jobs)),
            )
