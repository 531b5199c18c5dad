"""
Gates: an application's control over which jobs its process claims from a queue.

    gates.put("fetch", lambda: 9 if there_is_room() else gates.NOTHING)

A process always claims from a queue without a gate. It calls a gate that is not wide open four
times a second, and the jobs meanwhile wait on the server, where other processes may claim them. A
gate affects only its own process: to stop a queue everywhere, pause it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from aragog.pinlater.models import PRIORITIES

EVERYTHING = PRIORITIES[-1]
NOTHING = -1


class Opening(NamedTuple):
    """What a gate lets through."""

    lowest: int
    """The least urgent priority that may be claimed (0 to 9), or `NOTHING`."""
    jobs: int | None = None
    """How many jobs the next claim may take, the most urgent ones; None: any number."""

    @property
    def is_wide(self) -> bool:
        """True if the gate holds nothing back."""
        return self.lowest >= EVERYTHING and self.jobs is None


Gate = Callable[[], "Opening | int"]

_gates: dict[str, Gate] = {}


def put(queue: str, gate: Gate | None) -> None:
    """
    Call `gate` before every claim from the queue; None removes the gate.

    It returns an `Opening`, or only its `lowest`. It runs in the worker's event loop: it must
    return within milliseconds and never raise.
    """
    if gate is None:
        _gates.pop(queue, None)
    else:
        _gates[queue] = gate


def opening(queue: str) -> Opening:
    """Return what may be claimed now."""
    gate = _gates.get(queue)
    found = EVERYTHING if gate is None else gate()
    return found if isinstance(found, Opening) else Opening(found)
