"""The results of enqueuing URLs. This module is cheap to import."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EnqueueStatus(StrEnum):
    """The result of enqueuing one URL."""

    ACCEPTED = "accepted"
    WAITING = "already waiting"
    INVALID = "invalid"
    TAKEN_DOWN = "taken down"
    """The URL, its host or its domain was taken down."""
    OUT_OF_SCOPE = "out of scope"
    """The URL is outside the scope of its crawl."""
    OVER_BUDGET = "over budget"
    """The crawl has reached its maximum number of URLs (in total or for this host), or the quota of
    the API token that started it is used up."""


@dataclass(frozen=True, slots=True)
class EnqueueResult:
    """The result for one URL. Results are in the order of the input."""

    input: str
    status: EnqueueStatus
    url: str | None = None
    """The normalized URL. None if the input is invalid."""
    reason: str | None = None
