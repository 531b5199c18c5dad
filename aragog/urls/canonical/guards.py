"""
Why a URL that a page names may not stand for it: one function a guard, each None or a reason.

A wrong canonical URL is worse than none, for it makes two pages share one record. So whatever a
page says must be believable without fetching anything; what is not yet known makes the decision
provisional, and what is known to be false refuses it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from aragog.urls.canonical.evidence import Evidence, KnownPage
from aragog.urls.domain import registered_domain

MAX_STEPS = 10
"""Of a chain of canonical URLs and redirects; as many as redirects of one fetch."""

_PASSING_STATUS = (408, 425, 429)
_FRONT_DOOR = re.compile(
    r"/(?:(?:index|default|home|main|start|welcome)(?:\.[A-Za-z0-9]{2,5})?/?"
    r"|[A-Za-z]{2}(?:[-_][A-Za-z]{2,4})?/?)?"
)
_AMP_CACHE = re.compile(r"https://[^/]*\.cdn\.ampproject\.org/[a-z]/(?:s/)?([^/]+)/")
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


def is_gone(page: KnownPage) -> bool:
    """Did the URL's own fetch say that there is no page? 408, 425, 429 and 5xx say nothing."""
    status = page.status or 200
    return page.gone or (400 <= status < 500 and status not in _PASSING_STATUS)


def is_confirmed(url: str, page: KnownPage | None) -> bool:
    """Was `url` itself fetched, and does it not name another URL?"""
    return (
        page is not None
        and page.status is not None
        and (200 <= page.status < 300 or page.status == 304)
        and not page.gone
        and page.redirects_to is None
        and page.canonical_url in (None, url)
    )


def is_respelled(url: str, target: str) -> bool:
    """Is `target` the same address with another `www.` or with https instead of http?"""
    if url.startswith("https://") and not target.startswith("https://"):
        return False
    return _SCHEME_AND_WWW.sub("", url, 1) == _SCHEME_AND_WWW.sub("", target, 1)


def same_site(url: str, other: str) -> bool:
    """Do both belong to one registered domain?"""
    return registered_domain(url) == registered_domain(other)


def homepage(page: str, target: str) -> str | None:
    """A page inside a site is not its homepage, whatever a template or a catch-all says."""
    there, here = urlsplit(target), urlsplit(page)
    if there.path != "/" or there.query or _FRONT_DOOR.fullmatch(here.path):
        return None
    return "the homepage does not stand for a page inside the site"


def other_domain(evidence: Evidence, target: str) -> str | None:
    """Another site is believed when it redirected here, or when an AMP cache serves its copy."""
    page, chain = evidence.final_url, {hop.url for hop in evidence.redirects}
    if same_site(target, page) or target in chain:
        return None
    cached = _AMP_CACHE.match(page)
    if cached and registered_domain(cached[1]) == registered_domain(target):
        return None
    return "another domain, without a redirect between the two"


def redirects_here(evidence: Evidence, target: str) -> str | None:
    """What led here cannot stand for what it led to."""
    if any(hop.url == target and hop.permanent for hop in evidence.redirects):
        return "it redirects permanently to this page"
    return None


def downgrade(page: str, target: str) -> str | None:
    """A page that answers on https and names itself with http was moved and its tag forgotten."""
    if page.startswith("https://") and target.startswith("http://") and is_respelled(target, page):
        return "the page answers on https and this is its old http spelling"
    return None


def own_amp(evidence: Evidence, target: str) -> str | None:
    """The AMP version stands behind the page it was made from, never before it."""
    if target == evidence.amp_url and not evidence.is_amp:
        return "it is this page's own AMP version"
    return None


def other_language(evidence: Evidence, target: str) -> str | None:
    """A translation is another page, as soon as the page lists itself beside it."""
    spoken: dict[str, set[str]] = {}
    for language, url in evidence.hreflang:
        spoken.setdefault(url, set()).add(language.lower())
    here = spoken.get(evidence.final_url, set()) | spoken.get(evidence.url, set())
    there = spoken.get(target, set())
    if here and there and not here & there:
        return f"it is the {', '.join(sorted(there))} version of this page"
    return None


def refusal(evidence: Evidence, target: str) -> str | None:
    """The first reason why `target` may not stand for the page; None when there is none."""
    page = evidence.final_url
    return (
        redirects_here(evidence, target)
        or downgrade(page, target)
        or own_amp(evidence, target)
        or other_domain(evidence, target)
        or other_language(evidence, target)
        or homepage(page, target)
    )


def way(evidence: Evidence, target: str) -> tuple[list[str], str | None]:
    """
    Where `target` leads by what is known of it: each URL on the way, and a reason to refuse it.

    A known redirect goes before a known canonical URL. The last URL of the way stands for all.
    """
    ours = {evidence.url, evidence.final_url, *(hop.url for hop in evidence.redirects)}
    passed = [target]
    while (known := evidence.known.get(passed[-1])) is not None:
        here = passed[-1]
        if is_gone(known):
            return passed, f"{here} is known to be gone ({known.status or 'no page'})"
        onward = known.redirects_to or known.canonical_url or here
        if onward == here:
            break
        if onward in ours:
            verb = "redirects" if known.redirects_to else "points"
            return passed, f"{here} {verb} back to this page"
        if onward in passed:
            return passed, f"a loop: {' to '.join([*passed, onward])}"
        if len(passed) == MAX_STEPS:
            return passed, f"a chain of more than {MAX_STEPS} URLs"
        passed.append(onward)
    return passed, None
