"""Waits for a condition instead of a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WITHIN_S = 60.0
"""Generous, since a busy machine is not a failure."""


def wait_until(condition: Callable[[], T]) -> T:
    """Returns the value of `condition` once it is true; raises AssertionError after the limit."""
    until_s = time.monotonic() + WITHIN_S
    while not (value := condition()):
        assert time.monotonic() < until_s, f"{condition!r} is still {value!r}"
        time.sleep(0.01)
    return value
