"""Waiting calls: generators that occupy a thread only while they run a step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Wait(NamedTuple):
    """The condition that a call waits for before its next step."""

    condition: Future[bool]
    max_s: float
    """Maximum wait before the next step. If the server stops, the step runs at once."""


Steps = Generator[Wait, None, T]
"""A waiting call. Its result is the generator's return value. Closing it cancels the call."""


class Run(Protocol):
    """Runs one short blocking call in a thread."""

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]: ...


def run_steps(steps: Steps[T]) -> T:
    """Run a waiting call in this thread, and return its result."""
    try:
        while True:
            future, max_s = next(steps)
            wait([future], max_s)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()


async def run_steps_async(steps: Steps[T], run: Run) -> T:
    """
    Run a waiting call on an event loop, and return its result.

    Args:
        steps: the call.
        run: runs one short blocking call in a thread.
    """
    try:
        while True:
            step = await run(lambda: _next_step(steps))
            if isinstance(step, _Result):
                value: T = step.value
                return value
            future, max_s = step
            await asyncio.wait([asyncio.wrap_future(future)], timeout=max_s)
    finally:
        with suppress(ValueError):  # the call was cancelled while a thread was running a step
            steps.close()


class _Result(NamedTuple):
    """A finished call's result, because StopIteration cannot pass through a future."""

    value: Any


def _next_step(steps: Steps[Any]) -> Wait | _Result:
    try:
        return next(steps)
    except StopIteration as end:
        return _Result(end.value)
