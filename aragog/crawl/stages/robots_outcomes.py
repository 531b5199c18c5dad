"""What the fetch of a robots.txt or tdmrep.json means for its origin's rules. Pure."""

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

# Any 4xx: "the crawler MAY access any resources" (2.3.1.3).
UNAVAILABLE = 404


def result_of(origin_url: str, outcome: Outcome) -> RobotsResult:
    """The entry of the cache for an outcome; RFC 9309, 2.3.1 defines what each status means."""
    body = outcome.body if isinstance(outcome, Fetched) else b""
    # After a redirect the validators belong to another URL.
    own = isinstance(outcome, Fetched) and not outcome.hops
    validators = Validators(outcome.header("etag"), outcome.header("last-modified"))
    return RobotsResult(
        origin_url,
        status_of(outcome),
        body,
        outcome.fetched_at_ms,
        validators if own else Validators(),
        failure=outcome.kind if isinstance(outcome, Unreachable) else None,
    )


def tdm_rules_of(outcome: Outcome) -> tuple[TdmRule, ...]:
    """
    The rules of a tdmrep.json by the outcome of its fetch. Pure.

    A site without such a file reserves nothing, and neither does one that fails to send it (TDMRep:
    "does not implement this protocol"). A file that is too large, or was not requested because no
    slot was free, might reserve everything, so it counts as if it did.
    """
    if isinstance(outcome, Fetched) and outcome.status == 200:
        return UNREADABLE if outcome.truncated else read_tdm_file(outcome.body)
    return UNREADABLE if isinstance(outcome, TooLarge | Deferred | Refused) else ()


def status_of(outcome: Outcome) -> int | None:
    """The status that the cache stores for an outcome; None: the rules are unreadable. Pure."""
    if isinstance(outcome, Blocked) and outcome.cause is not RefusalCause.NO_CONTACT:
        # No connection is made to this origin; the SSRF filter refuses each page by itself, and
        # gives a better reason than "robots.txt is unreachable".
        return UNAVAILABLE
    if isinstance(outcome, Unreachable) and outcome.kind is UnreachableKind.REDIRECT:
        return UNAVAILABLE  # past the five hops that RFC 9309, 2.3.1.2 asks for
    if isinstance(outcome, TooLarge | Unreadable | Deferred | Refused | Blocked):
        # Deferred: the next hop's domain has no free slot; the redirect is not an answer yet.
        # Refused: the rules lie on a host that is never asked.
        return None
    if isinstance(outcome, Fetched):
        return outcome.status if _is_readable(outcome) else None
    if isinstance(outcome, Unreachable) and (outcome.status or 0) < 400:
        return None  # a part that was not requested, or a 304 without a condition
    return outcome.status


def _is_readable(outcome: Fetched) -> bool:
    """Whether the body has all rules that count, as text."""
    if outcome.truncated and len(outcome.body) < MAX_BYTES:
        return False  # the rules that are missing may be those that forbid
    # Without a decoder for its content coding the rules cannot be read.
    return not is_undecoded(outcome.headers, outcome.body)
