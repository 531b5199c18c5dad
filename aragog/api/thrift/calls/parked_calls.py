"""Calls that wait for something and occupy no thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from aragog.api.steps import Wait
from aragog.api.thrift.calls.call import Call
from aragog.api.thrift.connection import Connection


class ParkedCalls:
    """
    The calls of a server that wait; used on its event loop.

    Args:
        go_on: called with each call whose wait is over.
    """

    def __init__(self, go_on: Callable[[Call], None]) -> None:
        self._go_on = go_on
        self._calls: dict[Connection, Call] = {}
        """A connection has one call at a time."""

    def __len__(self) -> int:
        return len(self._calls)

    def park(self, call: Call, wait: Wait) -> None:
        """Let a call wait without a thread, until its time is over or its client leaves."""
        loop = asyncio.get_running_loop()
        self._calls[call.connection] = call
        call.timer = timer = loop.call_later(wait.most_s, self._resume, call)

        def woken(_: object) -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._resume, call, timer)

        wait.until.add_done_callback(woken)

    def cancel(self, connection: Connection) -> Call | None:
        """End the call of a client that left, and return it, if it has one that waits."""
        call = self._taken(connection)
        if call is not None and call.steps is not None:
            call.steps.close()
        return call

    def resume_all(self) -> None:
        """Take the next step of every call."""
        for call in list(self._calls.values()):
            self._resume(call)

    def _resume(self, call: Call, timer: asyncio.TimerHandle | None = None) -> None:
        """Take the next step of a call; `timer`: unless it has been taken since that wait."""
        if timer is not None and call.timer is not timer:
            return
        if self._taken(call.connection) is not None:
            call.restart()
            self._go_on(call)

    def _taken(self, connection: Connection) -> Call | None:
        call = self._calls.pop(connection, None)
        if call is not None and call.timer is not None:
            call.timer.cancel()
            call.timer = None
        return call
