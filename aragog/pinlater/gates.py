"""
Gates: what a process claims of a queue just now, as its application decides.

    gates.put("fetch", lambda: 9 if there_is_room() else gates.NOTHING)

A queue without a gate is claimed from in any case. A closed gate is asked four times a second; jobs
wait on the server meanwhile, for whoever may claim them. Other processes are not concerned: to stop
a queue everywhere, pause it.
"""

from __future__ import annotations

from collections.abc import Callable

from aragog.pinlater.models import PRIORITIES

EVERYTHING = PRIORITIES[-1]
NOTHING = -1

_gates: dict[str, Callable[[], int]] = {}


def put(queue: str, gate: Callable[[], int] | None) -> None:
    """
    Ask `gate` before every claim from the queue; None takes the gate away.

    It answers with the least urgent priority (0 to 9) that may be claimed, or `NOTHING`. It is
    called in the worker's event loop: it must answer within milliseconds and raise nothing.
    """
    if gate is None:
        _gates.pop(queue, None)
    else:
        _gates[queue] = gate


def lowest(queue: str) -> int:
    """The least urgent priority that may be claimed now."""
    gate = _gates.get(queue)
    return EVERYTHING if gate is None else gate()
