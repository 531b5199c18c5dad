"""
Gates: an application's control over which jobs its process claims from a queue.

    gates.put("fetch", lambda: 9 if there_is_room() else gates.NOTHING)

A process always claims from a queue without a gate. It calls a closed gate four times a second, and
the jobs meanwhile wait on the server, where other processes may claim them. A gate affects only its
own process: to stop a queue everywhere, pause it.
"""

from __future__ import annotations

from collections.abc import Callable

from aragog.pinlater.models import PRIORITIES

EVERYTHING = PRIORITIES[-1]
NOTHING = -1

_gates: dict[str, Callable[[], int]] = {}


def put(queue: str, gate: Callable[[], int] | None) -> None:
    """
    Call `gate` before every claim from the queue; None removes the gate.

    It returns the least urgent priority (0 to 9) that may be claimed, or `NOTHING`. It runs in
    the worker's event loop: it must return within milliseconds and never raise.
    """
    if gate is None:
        _gates.pop(queue, None)
    else:
        _gates[queue] = gate


def lowest(queue: str) -> int:
    """Return the least urgent priority that may be claimed now."""
    gate = _gates.get(queue)
    return EVERYTHING if gate is None else gate()
