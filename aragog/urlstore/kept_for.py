"""
The crawls that a stored page is kept for, identified by their purposes. No I/O.

Here, a crawl's name consists of its purposes, for example `ai-input+search`. `any` has no purposes,
and `usual` is the crawl in the settings. The fact `kept_for` lists these names; without it, a page
is kept for the usual crawl. If a site withdraws permission for a crawl, the page is deleted only if
no other crawl keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aragog.pages.preferences import refusing_line

KEPT_FOR = "kept_for"
USUAL = "usual"
_ANY = "any"
_PREFERENCE_FACTS = ("robots_preferences", "page_preferences")

Facts = Mapping[str, object]


def crawl_name(purposes: str | None) -> str:
    """Return the name of a crawl with these purposes (None: those in the settings)."""
    if purposes is None:
        return USUAL
    return "+".join(sorted(set(purposes.split()))) or _ANY


def purposes_of(name: str) -> str | None:
    """Return the purposes that a name stands for, separated by spaces as in jobs."""
    if name == USUAL:
        return None
    return "" if name == _ANY else name.replace("+", " ")


def crawls_of(facts: Facts) -> frozenset[str]:
    """Return the crawls that a page with these facts is kept for; empty if no page was fetched."""
    names = facts.get(KEPT_FOR)
    if isinstance(names, str) and names:
        return frozenset(names.split())
    return frozenset({USUAL} if facts.get("fetched_at_ms") else ())


def kept_for_fact(names: Collection[str]) -> str | None:
    """Return the fact `kept_for`. It is None for pages kept only for the usual crawl."""
    return " ".join(sorted(names)) if set(names) - {USUAL} else None


def other_permitted_crawls(before: Facts, current: Facts, crawl: str) -> frozenset[str]:
    """
    Return the other crawls that a page is kept for, if its site still permits them.

    Args:
        before: the facts of the stored page.
        current: facts with the site's current statements.
        crawl: the crawl that has just fetched the page.
    """
    texts = [current.get(name) for name in _PREFERENCE_FACTS]
    return frozenset(
        name
        for name in crawls_of(before) - {crawl}
        if not refusing_line(texts, (purposes_of(name) or "").split())
    )
