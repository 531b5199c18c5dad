"""
The only way tests wait: until a condition holds, with a limit that only a failure reaches.

The limits are generous, because a busy machine is not a fault, and a passing test waits no longer
than necessary. To check that something does not happen, wait for another event, not a pause.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WITHIN_S = 120.0
EVERY_S = 0.02


def wait_until(
    condition: Callable[[], T],
    within_s: float = WITHIN_S,
    *,
    every_s: float = EVERY_S,
    meanwhile: Callable[[], object] | None = None,
    otherwise: Callable[[], object] | str = "",
) -> T:
    """
    Call `condition` until it returns a true value, and return that value.

    Args:
        within_s: the limit, after which AssertionError gives the condition's location and last
            value.
        every_s: the pause between two calls, for conditions that are expensive.
        meanwhile: called before each call, such as a supervisor's restart of what died.
        otherwise: additional text for the failure, such as a log.
    """
    until_s = time.monotonic() + within_s
    while True:
        if meanwhile is not None:
            meanwhile()
        if value := condition():
            return value
        if time.monotonic() > until_s:
            code = getattr(condition, "__code__", None)
            where = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)
            detail = otherwise() if callable(otherwise) else otherwise
            raise AssertionError(f"{value!r} after {within_s:g} s at {where}\n{detail}".rstrip())
        time.sleep(every_s)
