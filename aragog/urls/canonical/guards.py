"""
The guards of canonical decisions: each returns why a declared URL is rejected, or None. Pure.

A wrong canonical URL is worse than none, because two pages would share one record. A declaration
must therefore be plausible without a fetch; unknown facts make the decision provisional, and known
contradictions reject it.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from aragog.urls.canonical.evidence import Evidence, KnownPage
from aragog.urls.domain import registered_domain

MAX_STEPS = 10
"""Maximum length of a chain of canonical URLs and redirects, as for redirects of one fetch."""

_TEMPORARY_STATUS = (408, 421, 425, 429)
_HOMEPAGE_PATH = re.compile(
    r"/(?:(?:index|default|home|main|start|welcome)(?:\.[A-Za-z0-9]{2,5})?/?"
    r"|[A-Za-z]{2}(?:[-_][A-Za-z]{2,4})?/?)?"
)
_AMP_CACHE = re.compile(r"https://[^/]*\.cdn\.ampproject\.org/[a-z]/(?:s/)?([^/]+)/")
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


def is_gone(page: KnownPage) -> bool:
    """Report whether a fetch of the URL found no page; 408, 421, 425, 429 and 5xx do not count."""
    status = page.status or 200
    return page.gone or (400 <= status < 500 and status not in _TEMPORARY_STATUS)


def is_confirmed(url: str, page: KnownPage | None) -> bool:
    """Report whether `url` was fetched and declares no other canonical URL."""
    return (
        page is not None
        and page.status is not None
        and (200 <= page.status < 300 or page.status == 304)
        and not page.gone
        and page.redirects_to is None
        and page.canonical_url in (None, url)
    )


def is_respelled(url: str, target: str) -> bool:
    """Report whether `target` differs from `url` only by `www.` or by https instead of http."""
    if url.startswith("https://") and not target.startswith("https://"):
        return False
    return _SCHEME_AND_WWW.sub("", url, 1) == _SCHEME_AND_WWW.sub("", target, 1)


def same_site(url: str, other: str) -> bool:
    """Report whether both URLs have the same registered domain."""
    return registered_domain(url) == registered_domain(other)


def homepage(page: str, target: str) -> str | None:
    """Reject the homepage as canonical URL of another page; templates often declare it."""
    target_parts = urlsplit(target)
    if target_parts.path != "/" or target_parts.query:
        return None
    if _HOMEPAGE_PATH.fullmatch(urlsplit(page).path):
        return None
    return "the homepage is not the canonical URL of another page"


def other_domain(evidence: Evidence, target: str) -> str | None:
    """Reject another domain unless it redirected here or the page is its copy in an AMP cache."""
    page, chain = evidence.final_url, {hop.url for hop in evidence.redirects}
    if same_site(target, page) or target in chain:
        return None
    cached = _AMP_CACHE.match(page)
    if cached and registered_domain(cached[1]) == registered_domain(target):
        return None
    return "another domain, without a redirect between the two"


def redirects_here(evidence: Evidence, target: str) -> str | None:
    """Reject a URL that redirects permanently to this page."""
    if any(hop.url == target and hop.permanent for hop in evidence.redirects):
        return "it redirects permanently to this page"
    return None


def downgrade(page: str, target: str) -> str | None:
    """Reject the http spelling of a page that was fetched over https: its tag is outdated."""
    if page.startswith("https://") and target.startswith("http://") and is_respelled(target, page):
        return "the page uses https and this is its old http spelling"
    return None


def own_amp(evidence: Evidence, target: str) -> str | None:
    """Reject the AMP version of this page."""
    if target == evidence.amp_url and not evidence.is_amp:
        return "it is the AMP version of this page"
    return None


def other_language(evidence: Evidence, target: str) -> str | None:
    """Reject a translation, if the page lists itself among its languages."""
    languages: dict[str, set[str]] = {}
    for language, url in evidence.hreflang:
        languages.setdefault(url, set()).add(language.lower())
    own = languages.get(evidence.final_url, set()) | languages.get(evidence.url, set())
    other = languages.get(target, set())
    if own and other and not own & other:
        return f"it is the {', '.join(sorted(other))} version of this page"
    return None


def refusal(evidence: Evidence, target: str) -> str | None:
    """Return the first reason to reject `target` as canonical URL, or None."""
    page = evidence.final_url
    return (
        redirects_here(evidence, target)
        or downgrade(page, target)
        or own_amp(evidence, target)
        or other_domain(evidence, target)
        or other_language(evidence, target)
        or homepage(page, target)
    )


def canonical_chain(evidence: Evidence, target: str) -> tuple[list[str], str | None]:
    """
    Follow the known redirects and canonical URLs of `target`.

    Returns the URLs of the chain, whose last one is the candidate, and a reason to reject it or
    None. A known redirect has precedence over a known canonical URL.
    """
    fetched = {evidence.url, evidence.final_url, *(hop.url for hop in evidence.redirects)}
    chain = [target]
    while (page := evidence.known.get(chain[-1])) is not None:
        current = chain[-1]
        if is_gone(page):
            return chain, f"{current} is known to be gone ({page.status or 'no page'})"
        onward = page.redirects_to or page.canonical_url or current
        if onward == current:
            break
        if onward in fetched:
            verb = "redirects" if page.redirects_to else "points"
            return chain, f"{current} {verb} back to this page"
        if onward in chain:
            return chain, f"a loop: {' to '.join([*chain, onward])}"
        if len(chain) == MAX_STEPS:
            return chain, f"a chain of more than {MAX_STEPS} URLs"
        chain.append(onward)
    return chain, None
