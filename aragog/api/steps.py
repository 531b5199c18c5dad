"""Calls that wait: generators that need a thread only while they take a step."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Wait(NamedTuple):
    """The condition that a call waits for before its next step."""

    until: Future[bool]
    most_s: float
    """The next step comes after this time in any case, and at once if the server stops."""


Steps = Generator[Wait, None, T]
"""A call that waits. Its value is what the generator returns; closing it cancels the call."""
