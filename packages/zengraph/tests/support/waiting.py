"""Wait for a condition instead of a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WITHIN_S = 60.0
"""Generous, because a busy machine is no fault."""


def wait_until(condition: Callable[[], T]) -> T:
    """What `condition` returns as soon as that is true; AssertionError after the limit."""
    until_s = time.monotonic() + WITHIN_S
    while not (value := condition()):
        assert time.monotonic() < until_s, f"{condition!r} is still {value!r}"
        time.sleep(0.01)
    return value
