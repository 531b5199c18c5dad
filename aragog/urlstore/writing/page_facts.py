"""
Computes a node's facts after a fetch. They describe the page, the attempt, and the crawls that the
page is kept for. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.preferences import merge_statements
from aragog.urlstore.kept_for import (
    KEPT_FOR,
    USUAL,
    crawls_of,
    kept_for_fact,
    other_permitted_crawls,
)
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.records import ABSENT, WITHHELD, Fact, PageWrite, absent_as
from aragog.urlstore.writing.agreement import is_failed_fetch
from zengraph.records import Row

_ATTEMPT_FACTS = (
    "outcome", "status", "reason", "latency_ms", "address", "attempts", "crawler_price", "cause",
    "attempted_url",
)  # fmt: skip
"""Facts that a failed fetch always replaces, because they belong to the previous attempt."""


def _absence_facts(page: PageWrite, before: Mapping[str, object]) -> dict[str, object]:
    """
    Return the fact that says whether the page is absent after a failed fetch.

    Temporary failures leave it unchanged.
    """
    now = page.facts.get("outcome")
    if page.gone or now in WITHHELD:
        return {ABSENT: now}
    outcome = None if _is_not_modified(page) else absent_as(before)
    return {ABSENT: outcome} if outcome else {}


def facts_after(page: PageWrite, row: Row, *, complete: bool) -> dict[str, object]:
    """
    Return the facts after a fetch. A failed fetch replaces only those about the last attempt.

    Args:
        page: the fetch.
        row: the node before the fetch.
        complete: True if the fetch reports all fields of the page.
    """
    before = facts_of(row)
    facts: dict[str, object] = {"url": page.url, "final_url": page.final_url}
    if is_failed_fetch(page):
        facts |= {n: v for n, v in before.items() if n not in _ATTEMPT_FACTS}
        facts |= {**page.facts, "attempted_at_ms": page.fetched_at_ms}
        facts |= _withdrawn_statements(before, page)
        facts.pop(ABSENT, None)
        facts |= _absence_facts(page, before)
    else:
        facts |= {**page.facts, "fetched_at_ms": page.fetched_at_ms, "complete": int(complete)}
    facts.pop(KEPT_FOR, None)
    if (crawls := kept_for_fact(_crawls_to_keep_for(page, before, facts))) is not None:
        facts[KEPT_FOR] = crawls
    return facts


def merge_attempt(facts: Mapping[str, object], stored: Mapping[str, object]) -> dict[str, object]:
    """Add the facts of a later attempt that was stored before this page."""
    attempt = {n: v for n, v in stored.items() if n in (*_ATTEMPT_FACTS, "attempted_at_ms", ABSENT)}
    return {n: v for n, v in facts.items() if n not in _ATTEMPT_FACTS} | attempt


def attempt_facts(facts: Mapping[str, object], url: str) -> dict[str, object]:
    """Return the attempt's facts, which stay in the node when its page moves away."""
    names = (*_ATTEMPT_FACTS, "attempted_at_ms")
    return {"url": url, "final_url": url} | {n: v for n, v in facts.items() if n in names}


def _withdrawn_statements(before: Mapping[str, Fact], page: PageWrite) -> dict[str, Fact]:
    """
    Return the changes to the stored page's statements after a fetch without a page.

    Such a fetch can only add refusals. After a 304, robots.txt applies to the stored page and may
    also allow a use again.
    """
    names = (
        ("page_preferences",)
        if _is_not_modified(page)
        else ("page_preferences", "robots_preferences")
    )
    result: dict[str, Fact] = {}
    for name in names:
        old_text, new_text = before.get(name), page.facts.get(name)
        if isinstance(new_text, str):
            result[name] = merge_statements(
                old_text if isinstance(old_text, str) else None, new_text
            )
    return result


def _crawls_to_keep_for(
    page: PageWrite, before: Mapping[str, object], facts: Mapping[str, object]
) -> frozenset[str]:
    """Return the crawls that the page is kept for, given the new `facts`."""
    crawl = str(page.facts.get(KEPT_FOR) or USUAL)
    if page.withdrawn:
        return other_permitted_crawls(before, facts, crawl)
    if is_failed_fetch(page) and not _is_not_modified(page):
        return crawls_of(before)
    return other_permitted_crawls(before, facts, crawl) | {crawl}


def _is_not_modified(page: PageWrite) -> bool:
    return page.facts.get("outcome") == OutcomeKind.NOT_MODIFIED
