"""One call of a Thrift service, and what becomes of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Generator
from typing import Any, NamedTuple

from aragog.api.memory import SMALL_BYTES
from aragog.api.steps import Steps, Wait
from aragog.api.thrift import wire
from aragog.api.thrift.connection import Connection
from aragog.api.thrift.contract import Method
from aragog.api.thrift.errors import Raised, raised_for
from aragog.errors import BadInput


class Call:
    """One call, from its frame to its reply."""

    __slots__ = (
        "answered",
        "arguments",
        "arguments_at",
        "connection",
        "counted_bytes",
        "deadline_s",
        "frame",
        "limit_s",
        "method",
        "number",
        "started_at_s",
        "steps",
        "timer",
        "token",
    )

    def __init__(
        self, connection: Connection, method: Method, frame: bytes, head: wire.MessageHead,
        limit_s: float,
    ) -> None:  # fmt: skip
        self.connection = connection
        self.method = method
        self.frame = frame
        self.number = head.number
        self.arguments_at = head.arguments_at
        self.started_at_s = now_s = time.monotonic()
        self.limit_s = limit_s
        """For the whole call, or for each of its steps."""
        self.deadline_s = now_s + limit_s
        self.arguments: Any = None
        """Decoded; None: not yet."""
        self.answered = False
        self.counted_bytes = 0
        """Of the frame, in the server's `requests`, until no thread uses it."""
        self.token: str | None = None
        """The name of its token."""
        self.steps: Steps[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None
        """Runs while the call waits."""

    def decoded(self) -> Any:
        """
        The arguments of the call, which may have a deadline of its own.

        Raises:
            wire.BadArguments: they cannot be read.
        """
        if self.arguments is not None:
            return self.arguments
        arguments = wire.read_arguments(self.method, self.frame, self.arguments_at)
        arguments.token = self.token
        options = arguments.__dict__.get("options")
        deadline_ms = getattr(options, "deadline_ms", None)
        if deadline_ms is not None:
            self.limit_s = min(self.limit_s, max(deadline_ms, 1) / 1000)
            self.deadline_s = self.started_at_s + self.limit_s
        self.arguments = arguments
        return arguments

    def read_ahead(self) -> None:
        """Learn the deadline of a call that no thread has begun; a large one keeps the default."""
        if self.arguments is None and len(self.frame) <= SMALL_BYTES:
            with contextlib.suppress(wire.BadArguments):  # the thread reports it
                self.decoded()

    def raised(self, reply: Raised) -> bytes:
        """The reply with an exception of the contract, in its frame."""
        return wire.raised(self.method.name.encode(), self.number, reply.field, reply.error)

    def restart(self) -> None:
        """Give the next step of the call its whole time."""
        self.deadline_s = time.monotonic() + self.limit_s


class Done(NamedTuple):
    """The result of a step of a call in a thread."""

    call: Call
    data: bytes | Wait
    """The reply in its frame, or what the call waits for."""
    outcome: str


def run(call: Call) -> Done:
    """Make a call, or its next step: the reply and the outcome, or what it waits for."""
    if call.answered:
        return Done(call, b"", "abandoned")
    try:
        value = call.steps or call.method.run(call.decoded())
        if isinstance(value, Generator):
            call.steps = value
            try:
                return Done(call, next(value), "waits")
            except StopIteration as end:
                value = end.value
        return Done(call, wire.reply(call.method, call.number, value), "ok")
    except Exception as error:  # noqa: BLE001 - any defect is this call's, and is logged
        return failed(call, error)


def run_together(calls: list[Call]) -> list[Done]:
    """The same of several calls of one method, for little more than one of them costs."""
    done: list[Done] = []
    started: list[tuple[Call, Any]] = []
    for call in calls:
        try:
            if not call.answered:
                started.append((call, call.decoded()))
            else:
                done.append(Done(call, b"", "abandoned"))
        except Exception as error:  # noqa: BLE001 - see `run`
            done.append(failed(call, error))
    method, together = calls[0].method, calls[0].method.together
    values = together([arguments for _, arguments in started]) if together else []
    for (call, _), value in zip(started, values, strict=True):
        if isinstance(value, Exception):
            done.append(failed(call, value))
        else:
            done.append(Done(call, wire.reply(method, call.number, value), "ok"))
    return done


def failed(call: Call, error: Exception) -> Done:
    """The reply to a call that raised."""
    if isinstance(error, wire.TooManyItems):
        error = BadInput(str(error))
    if isinstance(error, wire.BadArguments):
        name = call.method.name.encode()
        data = wire.refused(name, call.number, wire.PROTOCOL_ERROR, str(error))
        return Done(call, data, "malformed")
    reply = raised_for(error)
    return Done(call, call.raised(reply), type(reply.error).__name__)
