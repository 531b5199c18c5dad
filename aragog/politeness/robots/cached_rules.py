"""
The cached robots rules of an origin: their validity, and their update by a fetch. Pure.

The validity is that of RFC 9309, sections 2.3.1 and 2.4:

    2xx, 4xx            good: fresh for `robots_fresh_s`, usable for `robots_usable_s`
    429, 5xx, no answer nothing may be fetched; asked for again after `robots_error_s`; older good
                        rules stay in use while they are usable
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from aragog.politeness.robots.record import RobotsRecord
from aragog.politeness.robots.rules import RobotsRules
from aragog.settings import PolitenessSettings


class RulesState(Enum):
    """How a caller should treat an origin's rules."""

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


MISSING = CachedRules(RulesState.MISSING)


def judged(
    record: RobotsRecord,
    rules: RobotsRules,
    settings: PolitenessSettings,
    *,
    now_ms: int,
    ahead_ms: int,
) -> CachedRules:
    """
    Return what a record and its rules are worth now.

    Args:
        record: its times are those of the server's clock.
        rules: those of the record.
        settings: how long rules are valid.
        now_ms: the caller's clock, which the times of the result follow.
        ahead_ms: how far the server's clock is ahead of it.
    """
    age_s = (now_ms + ahead_ms - record.fetched_at_ms) / 1000
    tried_ago_s = (now_ms + ahead_ms - record.tried_at_ms) / 1000
    lately_failed = record.failing_since_ms > 0 and tried_ago_s < settings.robots_error_s
    if record.good:
        if age_s >= settings.robots_usable_s:
            return MISSING
        fresh = lately_failed or age_s < settings.robots_fresh_s
    elif lately_failed:
        fresh = True
    else:
        return MISSING
    retry_at_ms = record.tried_at_ms + settings.robots_error_s * 1000
    return CachedRules(
        state=RulesState.FRESH if fresh else RulesState.STALE,
        rules=rules,
        fetched_at_ms=int(record.fetched_at_ms) - ahead_ms,
        status=record.status if record.status > 0 else None,
        unreachable=not record.good,
        retry_at_ms=int(retry_at_ms) - ahead_ms if record.failing_since_ms else None,
    )
