"""One call to a Thrift service, from its frame to its reply."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Protocol

from aragog.api.operations.steps import Steps, Wait
from aragog.api.server.memory import SMALL_BYTES
from aragog.api.server.threads import ThreadCall
from aragog.api.server.thrift import wire
from aragog.api.server.thrift.connection import Connection
from aragog.api.server.thrift.contract import Method
from aragog.api.server.thrift.errors import WireException, wire_exception
from aragog.errors import BadInput

_MIN_QUEUED_S = 0.002


class CallOwner(Protocol):
    """The server's interface for calls."""

    def on_finish(self, call: Call) -> None:
        """Called when `call.reply` is set."""

    def on_deadline(self, call: Call) -> None:
        """Called to respond without a result, because the deadline has passed."""


class Call(ThreadCall):
    """One call, from its frame to its reply."""

    __slots__ = (
        "arguments",
        "arguments_offset",
        "connection",
        "counted_bytes",
        "frame",
        "is_answered",
        "method",
        "outcome",
        "owner",
        "reply",
        "sequence_id",
        "started_at_s",
        "steps",
        "timeout_s",
        "timer",
        "token",
    )

    def __init__(
        self,
        owner: CallOwner,
        connection: Connection,
        method: Method,
        frame: bytes,
        head: wire.MessageHead,
        timeout_s: float,
    ) -> None:
        self.owner = owner
        self.connection = connection
        self.method = method
        self.frame = frame
        self.sequence_id = head.sequence_id
        self.arguments_offset = head.arguments_offset
        self.started_at_s = now_s = time.monotonic()
        super().__init__(now_s + timeout_s)
        self.timeout_s = timeout_s
        """Maximum duration of the call, or of each step of a waiting call."""
        self.arguments: Any = None
        """The arguments, or None until they are decoded."""
        self.reply: bytes | Wait = b""
        """The framed reply, or the wait that the call needs before its next step."""
        self.outcome = "abandoned"
        """The outcome for metrics and the access log. The call's thread sets it."""
        self.is_answered = False
        self.counted_bytes = 0
        """
        How many of the frame's bytes are counted in the server's `requests`. They are released once
        no thread uses the frame.
        """
        self.token: str | None = None
        """The name of the caller's token."""
        self.steps: Steps[Any] | None = None
        self.timer: asyncio.TimerHandle | None = None
        """Ends the wait; None unless the call is waiting."""

    def decode_arguments(self) -> Any:
        """
        Decode the call's arguments. They may include a deadline.

        Raises:
            wire.BadArguments: they cannot be read.
        """
        if self.arguments is not None:
            return self.arguments
        arguments = wire.read_arguments(self.method, self.frame, self.arguments_offset)
        arguments.token = self.token
        options = arguments.__dict__.get("options")
        deadline_ms = getattr(options, "deadline_ms", None)
        if deadline_ms is not None:
            self.timeout_s = min(self.timeout_s, max(deadline_ms, 1) / 1000)
            self.deadline_s = self.started_at_s + self.timeout_s
        self.arguments = arguments
        return arguments

    def update_deadline(self, now_s: float) -> None:
        """
        Read the deadline while the call waits for a thread. Large calls keep the default deadline
        until a thread decodes them.
        """
        if self.arguments is not None or now_s - self.started_at_s < _MIN_QUEUED_S:
            return
        if len(self.frame) <= SMALL_BYTES:
            with contextlib.suppress(wire.BadArguments):  # the thread reports the error
                self.decode_arguments()

    def exception_reply(self, reply: WireException) -> bytes:
        return wire.exception_reply(
            self.method.name.encode(), self.sequence_id, reply.field, reply.error
        )

    def restart_deadline(self) -> None:
        self.deadline_s = time.monotonic() + self.timeout_s

    # Called by `CallThreads`

    @property
    def abandoned(self) -> bool:
        return self.is_answered or self.connection.is_closed

    def run(self) -> None:
        if self.is_answered:
            return
        try:
            value = self.steps or self.method.handler.run(self.decode_arguments())
            if isinstance(value, GeneratorType):
                self.steps = value
                try:
                    self.reply, self.outcome = next(value), "waits"
                    return
                except StopIteration as end:
                    value = end.value
            self.reply_with(value)
        except Exception as error:  # noqa: BLE001 - fails only this call, and is logged
            self.fail_with(error)

    def group_filter(self) -> Callable[[Call], bool] | None:
        """Return a predicate for calls that can share one read of the store with this call."""
        method, other_arguments = self.method, wire.after_string(self.frame, self.arguments_offset)
        if other_arguments is None or method.handler.can_batch is None:
            return None
        with contextlib.suppress(wire.BadArguments):
            if method.handler.can_batch(wire.cached_fields(method.arguments, other_arguments)):
                return partial(_can_join, method, other_arguments)
        return None

    def run_with(self, others: Sequence[Call]) -> None:
        """Run several calls to one method, which costs little more than one call."""
        started: list[tuple[Call, Any]] = []
        for call in (self, *others):
            try:
                if not call.is_answered:
                    started.append((call, call.decode_arguments()))
            except Exception as error:  # noqa: BLE001 - see `run`
                call.fail_with(error)
        run_batch = self.method.handler.run_batch
        values = run_batch([arguments for _, arguments in started]) if run_batch else []
        for (call, _), value in zip(started, values, strict=True):
            if isinstance(value, Exception):
                call.fail_with(value)
            else:
                call.reply_with(value)

    def finish(self) -> None:
        self.owner.on_finish(self)

    def expire(self) -> None:
        self.owner.on_deadline(self)

    def reply_with(self, value: Any) -> None:
        self.reply, self.outcome = wire.reply(self.method, self.sequence_id, value), "ok"

    def fail_with(self, error: Exception) -> None:
        if isinstance(error, wire.TooManyItems):
            error = BadInput(str(error))
        if isinstance(error, wire.BadArguments):
            name = self.method.name.encode()
            self.reply = wire.refusal_reply(name, self.sequence_id, wire.PROTOCOL_ERROR, str(error))
            self.outcome = "malformed"
            return
        exception = wire_exception(error)
        self.reply = self.exception_reply(exception)
        self.outcome = type(exception.error).__name__


def _can_join(method: Method, other_arguments: bytes, call: Call) -> bool:
    return (
        call.method is method
        and wire.after_string(call.frame, call.arguments_offset) == other_arguments
    )


class ParkedCalls:
    """
    A server's waiting calls. It must be used on the server's event loop.

    Args:
        resume: called with each call whose wait is over.
    """

    def __init__(self, resume: Callable[[Call], None]) -> None:
        self._on_resume = resume
        self._calls: dict[Connection, Call] = {}
        """The calls by connection. A connection has one call at a time."""

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._calls

    def park(self, call: Call, wait: Wait) -> None:
        """Let a call wait without a thread, until `wait` is over or the client disconnects."""
        loop = asyncio.get_running_loop()
        self._calls[call.connection] = call
        call.timer = timer = loop.call_later(wait.max_s, self._resume, call)

        def on_wake(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
                loop.call_soon_threadsafe(self._resume, call, timer)

        wait.condition.add_done_callback(on_wake)

    def cancel(self, connection: Connection) -> Call | None:
        """End and return the waiting call of a disconnected client; None if no call is waiting."""
        call = self._remove(connection)
        if call is not None and call.steps is not None:
            call.steps.close()
        return call

    def resume_all(self) -> None:
        for call in list(self._calls.values()):
            self._resume(call)

    def _resume(self, call: Call, timer: asyncio.TimerHandle | None = None) -> None:
        """Run a call's next step, unless `timer` is set and is no longer the call's timer."""
        if timer is not None and call.timer is not timer:
            return
        if self._remove(call.connection) is not None:
            call.restart_deadline()
            self._on_resume(call)

    def _remove(self, connection: Connection) -> Call | None:
        call = self._calls.pop(connection, None)
        if call is not None and call.timer is not None:
            call.timer.cancel()
            call.timer = None
        return call
