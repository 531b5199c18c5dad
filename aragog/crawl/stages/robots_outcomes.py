"""Interprets the outcome of fetching a robots.txt or tdmrep.json."""

from __future__ import annotations

from aragog.crawl.fetcher.content_types import is_undecoded
from aragog.crawl.politeness.robots_records import RobotsResult, Validators
from aragog.crawl.politeness.robots_rules import MAX_BYTES
from aragog.crawl.politeness.tdm_file import UNREADABLE, TdmRule, read_tdm_file
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import (
    Blocked,
    Deferred,
    Fetched,
    Outcome,
    Refused,
    TooLarge,
    Unreachable,
    UnreachableKind,
    Unreadable,
)

# For any 4xx, "the crawler MAY access any resources" (RFC 9309, 2.3.1.3).
UNAVAILABLE = 404


def make_robots_result(origin_url: str, outcome: Outcome) -> RobotsResult:
    """Return the cache entry for an outcome, according to RFC 9309, 2.3.1."""
    body = outcome.body if isinstance(outcome, Fetched) else b""
    # After a redirect, the validators belong to another URL.
    has_own_validators = isinstance(outcome, Fetched) and not outcome.hops
    validators = Validators(outcome.header("etag"), outcome.header("last-modified"))
    return RobotsResult(
        origin_url,
        get_status_to_cache(outcome),
        body,
        outcome.fetched_at_ms,
        validators if has_own_validators else Validators(),
        failure=outcome.kind if isinstance(outcome, Unreachable) else None,
    )


def read_tdm_rules(outcome: Outcome) -> tuple[TdmRule, ...]:
    """
    Return the rules of a tdmrep.json, given the outcome of its fetch.

    A site that does not send this file reserves no rights (TDMRep: "does not implement this
    protocol"). A file that is too large, or was not requested because no slot (request time) was
    free, counts as reserving everything, because it might.
    """
    if isinstance(outcome, Fetched) and outcome.status == 200:
        return UNREADABLE if outcome.truncated else read_tdm_file(outcome.body)
    return UNREADABLE if isinstance(outcome, TooLarge | Deferred | Refused) else ()


def get_status_to_cache(outcome: Outcome) -> int | None:
    """Return the status to cache for an outcome, or None if the rules are unreadable."""
    if isinstance(outcome, Blocked) and outcome.cause is not RefusalCause.NO_CONTACT:
        # The SSRF filter refuses this origin's pages with a better reason than "robots.txt is
        # unreachable".
        return UNAVAILABLE
    if isinstance(outcome, Unreachable) and outcome.kind is UnreachableKind.REDIRECT:
        return UNAVAILABLE  # more than the five redirects required by RFC 9309, 2.3.1.2
    if isinstance(outcome, TooLarge | Unreadable | Deferred | Refused | Blocked):
        # Deferred: no response yet, because the domain of a redirect target has no free slot.
        # Refused: the rules are on a host that must not be requested.
        return None
    if isinstance(outcome, Fetched):
        return outcome.status if _is_readable(outcome) else None
    if isinstance(outcome, Unreachable) and (outcome.status or 0) < 400:
        return None  # a 206 or a 304 that was not asked for
    return outcome.status


def _is_readable(outcome: Fetched) -> bool:
    if outcome.truncated and len(outcome.body) < MAX_BYTES:
        return False  # the missing part may contain Disallow rules
    # Without a decoder for its content coding, the rules are unreadable.
    return not is_undecoded(outcome.headers, outcome.body)
