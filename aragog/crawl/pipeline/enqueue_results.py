"""The result for each URL that was enqueued. Pure, and cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EnqueueStatus(StrEnum):
    """The outcome of enqueuing one URL."""

    ACCEPTED = "accepted"
    WAITING = "already waiting"
    INVALID = "invalid"
    TAKEN_DOWN = "taken down"
    """It was taken down, or its host or domain, so it is not fetched."""
    OUT_OF_SCOPE = "out of scope"
    """The scope of its crawl leaves it out."""
    OVER_BUDGET = "over budget"
    """Its crawl has as many URLs as it may."""


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """The result for one URL; results have the order of the input."""

    input: str
    status: EnqueueStatus
    url: str | None = None
    """The normalized URL; None when the input is invalid."""
    reason: str | None = None
    """Why the URL is invalid or was refused."""
