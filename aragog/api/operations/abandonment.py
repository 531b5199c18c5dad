"""Whether anybody still waits for what a thread does: long reads ask now and then, and stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Abandonable(Protocol):
    """A call that a thread makes for somebody."""

    @property
    def abandoned(self) -> bool:
        """Nobody waits for the result anymore. In any thread."""


class _Running(threading.local):
    """The call that this thread makes; None: several together, or none."""

    call: Abandonable | None = None


RUNNING = _Running()
"""Set by whoever makes calls in threads (`aragog.api.server.threads`)."""


def is_abandoned() -> bool:
    """
    Whether nobody waits any more for what this thread does: its caller has gone, or is too late.

    Long reads ask this now and then, and stop.
    """
    call = RUNNING.call
    return call is not None and call.abandoned


def abandonment() -> Callable[[], bool]:
    """`is_abandoned` of what this thread does now, for a thread that does a part of it."""
    call = RUNNING.call
    return lambda: call is not None and call.abandoned
