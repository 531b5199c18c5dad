"""Operations that may take longer than a browser should wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")
_running: set[asyncio.Future[Any]] = set()
"""Operations that continue; asyncio itself keeps no reference to them."""
log = logging.getLogger(__name__)


async def finish_within(
    operation: Awaitable[tuple[T, str]], max_wait_s: float, name: str
) -> tuple[T, str] | None:
    """
    Return the result of an operation and its problem, or None if it takes longer.

    It then continues, and a problem is logged.

    Args:
        operation: returns its result and a problem, like `FlowerPage.read`.
        max_wait_s: how long to wait for it.
        name: what to call it in the log.
    """
    future = asyncio.ensure_future(operation)
    await asyncio.wait({future}, timeout=max_wait_s)
    if future.done():
        return future.result()

    def end(finished: asyncio.Future[tuple[T, str]]) -> None:
        _running.discard(finished)
        if problem := finished.result()[1]:
            log.warning("%s failed: %s", name, problem)

    _running.add(future)
    future.add_done_callback(end)
    return None
