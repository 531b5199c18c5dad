"""Stop long reads whose caller no longer waits for the result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class Abandonable(Protocol):
    """A call that a thread executes for its caller."""

    @property
    def abandoned(self) -> bool:
        """True if nobody is waiting for the result anymore. Any thread may read this."""


class _Running(threading.local):
    """The call that this thread executes, or None while it executes none or several."""

    call: Abandonable | None = None


RUNNING = _Running()
"""Set by `aragog.api.server.threads`."""


def is_abandoned() -> bool:
    """
    Return True if this thread's caller has disconnected or its deadline has passed. Long reads then
    stop.
    """
    call = RUNNING.call
    return call is not None and call.abandoned


def abandonment() -> Callable[[], bool]:
    """Return a function that tells other threads whether this thread's call is abandoned."""
    call = RUNNING.call
    return lambda: call is not None and call.abandoned
