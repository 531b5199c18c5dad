"""The results of enqueuing URLs. Pure, and cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EnqueueStatus(StrEnum):
    """The result of enqueuing one URL."""

    ACCEPTED = "accepted"
    WAITING = "already waiting"
    INVALID = "invalid"
    TAKEN_DOWN = "taken down"
    """The URL, its host or its domain was taken down, so it is not fetched."""
    OUT_OF_SCOPE = "out of scope"
    """It is outside of the scope of its crawl."""
    OVER_BUDGET = "over budget"
    """Its crawl has reached its limit of URLs."""


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """The result for one URL. Results are in the order of the input."""

    input: str
    status: EnqueueStatus
    url: str | None = None
    """The normalized URL. None if the input is invalid."""
    reason: str | None = None
    """Why the URL is invalid or was refused."""
