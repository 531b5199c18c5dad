"""
Decides which record a fetched page belongs to. No I/O.

A URL that was fetched itself keeps its own record. If a page declares a canonical URL, it goes to
that URL's record only if it matches: the bodies are identical, or the main texts are nearly the
same. If the canonical URL was never fetched, the first page that declares it provides its record,
and later pages join if they match. The first page that does not match ends this provisional state
(`trust`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from aragog.urlstore import nodes
from aragog.urlstore.compression import body_hash, stored_hash
from aragog.urlstore.nodes import alias_of, facts_of, follow_aliases, text
from aragog.urlstore.records import PageWrite
from urlspelling import url_key
from zengraph.records import Lease, Row


class Standing(Enum):
    """How a page relates to the record of its canonical URL."""

    OWN = "own"
    """The record belongs to one of the fetch's own URLs."""
    FIRST = "first"
    """The page is the first to declare this canonical URL, which was never fetched."""
    UPDATES = "updates"
    """The page provided the record of this never-fetched URL, and updates it now."""
    JOINS = "joins"
    """The page matches the record, and just becomes an alias."""
    APART = "apart"
    """The page keeps its own record: it does not match, or its canonical URL is not trusted."""
    DISPUTES = "disputes"
    """The page is the first that does not match the record of a never-fetched URL."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """The record that a page goes to, and why."""

    canonical: str
    standing: Standing = Standing.OWN
    declared: str | None = None
    """The declared canonical URL, after following known aliases."""
    why: str = ""
    """Why the declared URL is not used as the page's canonical URL."""
    is_doubted: bool = False
    """True if the declared URL must be fetched before it is trusted."""


def is_failed_fetch(page: PageWrite) -> bool:
    """Return True for a fetch without a page, which shows nothing about identity or fields."""
    return not page.fields and page.links is None and page.content is None


def fetched_urls(page: PageWrite) -> set[str]:
    """Return the URLs that the fetch went through."""
    hops = page.report.hops if page.report else ()
    return {page.url, page.final_url, *(hop.url for hop in hops)}


def resolve_canonical(page: PageWrite, rows: Mapping[str, Row]) -> str:
    """Return the declared canonical URL, after following its aliases."""
    if is_failed_fetch(page):
        return follow_aliases(page.url, rows)
    canonical = page.canonical_url
    pointer = rows.get(canonical, {}).get(nodes.CANONICAL)
    is_itself = canonical in (page.url, page.final_url)
    if is_itself and (pointer is None or pointer.at_ms <= page.fetched_at_ms):
        return canonical
    return follow_aliases(canonical, rows)


def agrees(page: PageWrite, row: Row) -> bool | None:
    """Return True if the page matches the node's page, or None if nothing comparable is stored."""
    stored = nodes.stored_likeness(row)
    if page.likeness and stored:
        return page.likeness.agrees(stored)
    if page.content and nodes.CONTENT_HASH in row:
        digest = row[nodes.CONTENT_HASH].value.decode()
        is_same = digest == stored_hash(page.content) or digest == body_hash(page.content)
        return True if is_same else None
    return None


def judge(page: PageWrite, rows: Mapping[str, Row], now_ms: int) -> Judgment:
    """Decide whose record `page` goes to; `rows` has the nodes of all URLs involved."""
    canonical = resolve_canonical(page, rows)
    fetched = fetched_urls(page)
    if is_failed_fetch(page) or canonical in fetched:
        return Judgment(canonical)
    row = rows.get(canonical, {})
    if page.canonical_url in fetched:
        # Later evidence made the URL an alias, so this older fetch must replace nothing there.
        is_kept = nodes.was_fetched(row)
        return Judgment(canonical, Standing.JOINS if is_kept else Standing.OWN)
    if facts_of(row, nodes.OWN).get("gone"):
        judgment = _keep_apart(page, canonical, f"{canonical} is gone")
    elif nodes.was_fetched(row) or canonical in nodes.page_senders(row):
        judgment = _judge_fetched(page, canonical, rows)
    else:
        judgment = _judge_unfetched(page, canonical, rows, now_ms)
    return _after_later_evidence(page, judgment, rows)


def _after_later_evidence(page: PageWrite, judgment: Judgment, rows: Mapping[str, Row]) -> Judgment:
    """Correct the judgment if later evidence has settled where the URL leads."""
    pointer = rows.get(page.final_url, {}).get(nodes.CANONICAL)
    if (
        pointer is None
        or pointer.at_ms <= page.fetched_at_ms
        or judgment.standing is Standing.DISPUTES
    ):
        return judgment
    target = follow_aliases(page.final_url, rows)
    if target == judgment.canonical:
        return judgment
    standing = Standing.APART if target == page.final_url else Standing.JOINS
    why = judgment.why or f"a later fetch made it an alias of {target}"
    return replace(judgment, canonical=target, standing=standing, why=why)


def _judge_fetched(page: PageWrite, canonical: str, rows: Mapping[str, Row]) -> Judgment:
    is_same = agrees(page, rows[canonical])
    if is_same or (is_same is None and _is_alias(page, canonical, rows)):
        return Judgment(canonical, Standing.JOINS, canonical)
    return _keep_apart(page, canonical, f"{canonical} was fetched and {_difference_text(is_same)}")


def _judge_unfetched(
    page: PageWrite, canonical: str, rows: Mapping[str, Row], now_ms: int
) -> Judgment:
    row = rows.get(canonical, {})
    senders = nodes.page_senders(row)
    has_conflicts = nodes.CONFLICTING_PAGES in row
    has_provisional_alias = is_provisional(canonical, rows)
    if has_conflicts:
        why = f"{canonical} is not trusted until it is fetched: pages that declare it differ"
        # A process was killed while revoking the trust in this URL; finish that.
        standing = Standing.DISPUTES if has_provisional_alias else Standing.APART
        return Judgment(page.final_url, standing, canonical, why, is_doubted=True)
    if page.final_url in senders or page.url in senders:
        return Judgment(canonical, Standing.UPDATES, canonical)
    if senders:
        is_same = agrees(page, row)
        if is_same or (is_same is None and _is_alias(page, canonical, rows)):
            return Judgment(canonical, Standing.JOINS, canonical)
        why = f"{senders[0]} declares {canonical} too, and {_difference_text(is_same)}"
        standing = (
            Standing.DISPUTES if has_provisional_alias and is_same is not None else Standing.APART
        )
        return Judgment(page.final_url, standing, canonical, why)
    claim = Lease.of(row, nodes.CLAIM)
    if claim and claim.is_live(now_ms) and claim.holder != claimant(page):
        return _keep_apart(
            page, canonical, f"another page that declares {canonical} is being written"
        )
    return Judgment(canonical, Standing.FIRST, canonical)


def claimant(page: PageWrite) -> bytes:
    """Return the cell value that marks an unfetched canonical URL as claimed by a page."""
    return url_key(page.final_url)


def is_provisional(canonical: str, rows: Mapping[str, Row]) -> bool:
    """Return True if a provisional alias of `canonical` provided its record."""
    row = rows.get(canonical, {})
    if nodes.was_fetched(row):
        return False
    return any(
        sender != canonical and is_trusting(rows.get(sender, {}), sender, canonical)
        for sender in nodes.page_senders(row)
    )


def is_trusting(row: Row, alias: str, canonical: str) -> bool:
    """Return True if `alias` is a provisional alias of `canonical`, or being detached from it."""
    if text(row, nodes.LEAVING) == canonical:
        return True
    return bool(text(row, nodes.PROVISIONAL)) and alias_of(row, alias) == canonical


def is_disproved(page: PageWrite, judgment: Judgment, rows: Mapping[str, Row]) -> bool:
    """Return True if an alias provided a page for this URL and this fetch found another one."""
    canonical = judgment.canonical
    if is_failed_fetch(page) or canonical not in (page.url, page.final_url):
        return False
    if not is_provisional(canonical, rows):
        return False
    if {page.url, page.final_url} & {*nodes.page_senders(rows[canonical])}:
        return False
    return not agrees(page, rows[canonical])


def _is_alias(page: PageWrite, canonical: str, rows: Mapping[str, Row]) -> bool:
    return follow_aliases(page.final_url, rows) == canonical


def _keep_apart(page: PageWrite, declared: str, why: str) -> Judgment:
    return Judgment(page.final_url, Standing.APART, declared, why)


def _difference_text(is_same: bool | None) -> str:
    return "has another page" if is_same is False else "it is unknown whether its page is the same"
