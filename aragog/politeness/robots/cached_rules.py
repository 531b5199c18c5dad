"""What the robots cache knows of an origin, and what a fetch of robots.txt adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from aragog.politeness.robots.rules import RobotsRules


class RulesState(Enum):
    """What a caller should do with an origin's rules."""

    FRESH = "fresh"
    """Use them."""
    STALE = "stale"
    """Use them, and request a refresh."""
    MISSING = "missing"
    """There are no rules: fetch robots.txt first."""


@dataclass(frozen=True, slots=True)
class CachedRules:
    """The cached state of one origin's rules."""

    state: RulesState
    rules: RobotsRules | None = None
    """None when MISSING."""
    fetched_at_ms: int | None = None
    """When the response arrived that contained these rules."""
    status: int | None = None
    """HTTP status of that response; None: MISSING, or no response."""
    unreachable: bool = False
    """Fetching is forbidden only because robots.txt was unreachable: retry at `retry_at_ms`."""
    retry_at_ms: int | None = None
    """When robots.txt is requested again after an error; None: the last response was good."""


class RobotsResult(NamedTuple):
    """The result of fetching one robots.txt; see `RobotsCache.put`."""

    origin: str
    status: int | None
    body: bytes
    fetched_at_ms: int
