"""
Decide a page's canonical URL. `decide` is a pure function of the evidence, and gives reasons.

A wrong canonical URL is worse than none, because two pages would share one record. A declared URL
must therefore pass checks that need no fetch, and is rejected if a known fact contradicts it. While
facts are missing, the decision is provisional. docs/urls.md#canonical-urls lists the order of trust
and the checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from urlspelling.domain import registered_domain


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirect from `url` to `target`, both normalized."""

    url: str
    target: str
    permanent: bool


@dataclass(frozen=True, slots=True)
class KnownPage:
    """The stored result of fetching a URL."""

    status: int | None = None
    canonical_url: str | None = None
    """The page's canonical URL, declared or decided; None if the page declared none."""
    redirects_to: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    The evidence for one page's canonical URL.

    Every URL is absolute and normalized. `unparsable` lists the candidates that cannot be
    normalized.
    """

    url: str
    """The requested URL."""
    final_url: str
    """The URL of the final response."""
    status: int = 200
    redirects: tuple[Redirect, ...] = ()
    link_header: tuple[str, ...] = ()
    """Targets of `Link: <…>; rel=canonical`, in order."""
    link_canonical: tuple[str, ...] = ()
    """`<link rel=canonical>` in the head, in order."""
    body_canonical: tuple[str, ...] = ()
    """`<link rel=canonical>` outside the head; recorded but ignored."""
    og_url: str | None = None
    meta_refresh: tuple[float, str] | None = None
    """(delay in seconds, target)."""
    is_amp: bool = False
    amp_url: str | None = None
    """The AMP version of the page, from `<link rel=amphtml>`."""
    hreflang: tuple[tuple[str, str], ...] = ()
    """(language, URL) of translations. They are never merged."""
    unparsable: tuple[tuple[str, str], ...] = ()
    """(source, original text) of each URL that cannot be parsed."""
    placeholders: tuple[tuple[str, str, str], ...] = ()
    """(source, original text, reason) of each placeholder (`_placeholders`)."""
    known: Mapping[str, KnownPage] = field(default_factory=dict)
    """Stored results of candidates, by URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The canonical URL and the reasons for it."""

    canonical_url: str
    provisional: bool
    """True until a fetch confirms the canonical URL."""
    rule: str
    """The source used: self, redirect, link_header, link_canonical, og_url, …"""
    reasons: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str, str], ...] = ()
    """(source, URL, reason) of each rejected candidate."""
    aliases: tuple[str, ...] = ()
    """Other URLs of the page in this fetch, except for targets of temporary redirects."""


MAX_STEPS = 10

_TEMPORARY_STATUSES, _WITHHELD_STATUSES = (408, 421, 425, 429), (401, 402, 403, 451)
_HOMEPAGE_PATH = re.compile(
    r"/(?:(?:index|default|home|main|start|welcome)(?:\.[A-Za-z0-9]{2,5})?/?"
    r"|[A-Za-z]{2}(?:[-_][A-Za-z]{2,4})?/?)?"
)
_AMP_CACHE = re.compile(r"https://[^/]*\.cdn\.ampproject\.org/[a-z]/(?:s/)?([^/]+)/")
_SCHEME_AND_WWW = re.compile(r"https?://(?:www\.)?")


def is_gone(page: KnownPage) -> bool:
    """
    Return True if a fetch of the URL found no page.

    5xx, 401, 402, 403, 408, 421, 425, 429 and 451 do not count, because the page may exist.
    """
    status = page.status or 200
    is_missing = 400 <= status < 500 and status not in (*_TEMPORARY_STATUSES, *_WITHHELD_STATUSES)
    return page.gone or is_missing


def is_confirmed(url: str, page: KnownPage | None) -> bool:
    """Return True if `url` was fetched and declares no other canonical URL."""
    return (
        page is not None
        and page.status is not None
        and (200 <= page.status < 300 or page.status == 304)
        and not page.gone
        and page.redirects_to is None
        and page.canonical_url in (None, url)
    )


def is_respelled(url: str, target: str) -> bool:
    """Return True if `target` differs from `url` only by `www.` or by https instead of http."""
    if url.startswith("https://") and not target.startswith("https://"):
        return False
    return _SCHEME_AND_WWW.sub("", url, 1) == _SCHEME_AND_WWW.sub("", target, 1)


def same_site(url: str, other: str) -> bool:
    """Return True if both URLs have the same registered domain."""
    return registered_domain(url) == registered_domain(other)


def reject_homepage(page: str, target: str) -> str | None:
    """Reject the homepage as another page's canonical URL, because templates often declare it."""
    target_parts = urlsplit(target)
    if (
        target_parts.path != "/"
        or target_parts.query
        or _HOMEPAGE_PATH.fullmatch(urlsplit(page).path)
    ):
        return None
    return "the homepage is not the canonical URL of another page"


def reject_other_domain(evidence: Evidence, target: str) -> str | None:
    """Reject another domain, unless it redirected here or the page is its AMP cache copy."""
    page, redirect_urls = evidence.final_url, {hop.url for hop in evidence.redirects}
    if same_site(target, page) or target in redirect_urls:
        return None
    amp_cache = _AMP_CACHE.match(page)
    if amp_cache and registered_domain(amp_cache[1]) == registered_domain(target):
        return None
    return "another domain, without a redirect between the two"


def reject_redirect_source(evidence: Evidence, target: str) -> str | None:
    """Reject a URL that redirects permanently to this page."""
    if any(hop.url == target and hop.permanent for hop in evidence.redirects):
        return "it redirects permanently to this page"
    return None


def reject_http(page: str, target: str) -> str | None:
    """Reject the http URL of a page fetched over https, because the tag is outdated."""
    if page.startswith("https://") and target.startswith("http://") and is_respelled(target, page):
        return "the page uses https and this is its old http spelling"
    return None


def reject_amp(evidence: Evidence, target: str) -> str | None:
    """Reject the AMP version of this page."""
    if target == evidence.amp_url and not evidence.is_amp:
        return "it is the AMP version of this page"
    return None


def reject_translation(evidence: Evidence, target: str) -> str | None:
    """Reject a translation if the page itself is among the languages."""
    languages: dict[str, set[str]] = {}
    for language, url in evidence.hreflang:
        languages.setdefault(url, set()).add(language.lower())
    page_languages = languages.get(evidence.final_url, set()) | languages.get(evidence.url, set())
    target_languages = languages.get(target, set())
    if page_languages and target_languages and not page_languages & target_languages:
        return f"it is the {', '.join(sorted(target_languages))} version of this page"
    return None


def reason_to_reject(evidence: Evidence, target: str) -> str | None:
    """Return the first reason to reject `target` as the canonical URL, or None."""
    page = evidence.final_url
    return (
        reject_redirect_source(evidence, target)
        or reject_http(page, target)
        or reject_amp(evidence, target)
        or reject_other_domain(evidence, target)
        or reject_translation(evidence, target)
        or reject_homepage(page, target)
    )


def canonical_chain(evidence: Evidence, target: str) -> tuple[list[str], str | None]:
    """
    Follow the known redirects and canonical URLs from `target`.

    Returns the chain, and the reason to reject its last URL, if any. Redirects take precedence over
    canonical URLs.
    """
    fetched = {evidence.url, evidence.final_url, *(hop.url for hop in evidence.redirects)}
    chain = [target]
    while (page := evidence.known.get(current := chain[-1])) is not None:
        if is_gone(page):
            return chain, f"{current} is known to be gone ({page.status or 'no page'})"
        next_url = page.redirects_to or page.canonical_url or current
        if next_url == current:
            break
        if next_url in fetched:
            verb = "redirects" if page.redirects_to else "points"
            return chain, f"{current} {verb} back to this page"
        if next_url in chain:
            return chain, f"a loop: {' to '.join([*chain, next_url])}"
        if len(chain) == MAX_STEPS:
            return chain, f"a chain of more than {MAX_STEPS} URLs"
        chain.append(next_url)
    return chain, None


INSTANT_REFRESH_S = 1.0
"""A meta refresh within this time counts as a redirect."""
PROVISIONAL = "provisional until "
"""The start of reasons that only apply until the canonical URL is fetched."""

_SOURCE_NAMES = {
    "link_header": "the Link header",
    "link_canonical": "<link rel=canonical>",
    "meta_refresh": "an instant meta refresh",
    "og_url": "og:url",
}


@dataclass(slots=True)
class _Findings:
    reasons: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    moved_urls: list[str] = field(default_factory=list)
    """The URLs that redirect permanently."""


def decide(evidence: Evidence) -> Decision:
    """
    Decide the canonical URL of the page that `evidence.url` returned.

    >>> shoes = "https://shop.example/shoes?colour=blue"
    >>> evidence = Evidence(
    ...     url=shoes, final_url=shoes, link_canonical=("https://shop.example/shoes",)
    ... )
    >>> decide(evidence).canonical_url
    'https://shop.example/shoes'

    Never raises for normalized URLs. The decision is made again at each fetch, so a page that drops
    its canonical tag becomes its own canonical URL.
    """
    findings = _Findings()
    permanent_url = _follow_redirects(evidence, findings)
    findings.rejected += [
        ("body_canonical", url, "outside the head") for url in evidence.body_canonical
    ]
    unparsable = ((source, text, "not an http(s) URL") for source, text in evidence.unparsable)
    findings.rejected += [*unparsable, *evidence.placeholders]
    if evidence.status >= 400:
        findings.reasons.append(
            f"the status was {evidence.status}: tags of an error page are ignored"
        )
        return _make_decision(evidence, evidence.url, "self", findings, aliases=())
    if permanent_url != evidence.final_url:
        return _decide_after_temporary_redirect(evidence, permanent_url, findings)
    if (chosen := _choose_declared(evidence, findings)) is not None:
        source, url = chosen
        return _make_decision(evidence, url, source, findings, aliases=_fetched_urls(evidence))
    rule = "redirect" if permanent_url != evidence.url else "self"
    if rule == "self":
        findings.reasons.append("no evidence for another URL")
    return _make_decision(evidence, permanent_url, rule, findings, aliases=_fetched_urls(evidence))


def _fetched_urls(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.url, *(hop.url for hop in evidence.redirects), evidence.final_url)


def _make_decision(
    evidence: Evidence, url: str, rule: str, findings: _Findings, *, aliases: tuple[str, ...]
) -> Decision:
    is_fetched = url in _fetched_urls(evidence) or is_confirmed(url, evidence.known.get(url))
    if not is_fetched:
        findings.reasons.append(f"{PROVISIONAL}{url} is fetched")
    return Decision(
        canonical_url=url,
        provisional=not is_fetched,
        rule=rule,
        reasons=tuple(findings.reasons),
        rejected=tuple(findings.rejected),
        aliases=tuple(alias for alias in dict.fromkeys(aliases) if alias != url),
    )


def _follow_redirects(evidence: Evidence, findings: _Findings) -> str:
    current = evidence.url
    for hop in evidence.redirects:
        if hop.url != current:
            break
        if rejection := _reason_not_to_move(current, hop):
            findings.reasons.append(f"{current} is kept: {rejection}")
            findings.rejected.append(("redirect", hop.target, rejection))
            break
        description = "permanently" if hop.permanent else "to another spelling of itself,"
        findings.reasons.append(f"{current} redirects {description} to {hop.target}")
        findings.moved_urls.append(current)
        current = hop.target
    return current


def _reason_not_to_move(url: str, hop: Redirect) -> str | None:
    if is_respelled(url, hop.target):
        return None
    if not hop.permanent:
        return f"its redirect to {hop.target} is temporary"
    if same_site(url, hop.target):
        return reject_homepage(url, hop.target)
    return None


def _decide_after_temporary_redirect(
    evidence: Evidence, permanent_url: str, findings: _Findings
) -> Decision:
    """
    Decide for a page to which a temporary redirect led.

    Its tags describe the target, not the requested URL: many URLs may redirect to one sign-in page.
    """
    rule = "redirect" if permanent_url != evidence.url else "self"
    for source, urls in _declared_urls(evidence):
        if urls == (permanent_url,):
            findings.reasons.append(f"{_SOURCE_NAMES[source]} of the redirect target agrees")
            rule = source
        else:
            reason = f"it describes {evidence.final_url}, which is another page"
            findings.rejected += [(source, url, reason) for url in urls]
    findings.reasons.append(
        f"{permanent_url} does not redirect permanently to {evidence.final_url}, which has the page"
    )
    return _make_decision(
        evidence, permanent_url, rule, findings, aliases=tuple(findings.moved_urls)
    )


def _declared_urls(evidence: Evidence) -> list[tuple[str, tuple[str, ...]]]:
    """Return the declared URLs by source, the most trusted first."""
    refresh = evidence.meta_refresh
    instant_targets = (refresh[1],) if refresh and refresh[0] <= INSTANT_REFRESH_S else ()
    candidates = [
        ("link_header", evidence.link_header),
        ("link_canonical", evidence.link_canonical),
        ("meta_refresh", instant_targets if instant_targets != (evidence.final_url,) else ()),
        ("og_url", (evidence.og_url,) if evidence.og_url else ()),
    ]
    return [(source, tuple(dict.fromkeys(urls))) for source, urls in candidates if urls]


def _choose_declared(evidence: Evidence, findings: _Findings) -> tuple[str, str] | None:
    """
    Return the first source that declares a single URL, and the URL to which it leads.

    Sources whose URL fails a check are rejected.
    """
    chosen: tuple[str, str] | None = None
    for source, urls in _declared_urls(evidence):
        if len(urls) > 1:
            findings.rejected += [
                (source, url, "several different values: all are ignored") for url in urls
            ]
            continue
        url, rejection = _check_declared(evidence, urls[0], findings)
        if chosen is not None:
            _compare_with_chosen(source, url, chosen, findings)
        elif rejection:
            findings.rejected.append((source, urls[0], rejection))
        else:
            chosen = source, url
            name = "this page itself" if url == evidence.final_url else url
            findings.reasons.append(f"{_SOURCE_NAMES[source]} names {name}")
    return chosen


def _compare_with_chosen(
    source: str, url: str, chosen: tuple[str, str], findings: _Findings
) -> None:
    if url == chosen[1]:
        findings.reasons.append(f"{_SOURCE_NAMES[source]} agrees")
    else:
        findings.rejected.append((source, url, f"{_SOURCE_NAMES[chosen[0]]} has precedence"))


def _check_declared(evidence: Evidence, target: str, findings: _Findings) -> tuple[str, str | None]:
    if target == evidence.final_url:
        return target, None
    chain, rejection = canonical_chain(evidence, target)
    for url in chain:
        rejection = reason_to_reject(evidence, url) or rejection
    if rejection is None and len(chain) > 1:
        findings.reasons.append(f"{' leads on to '.join(chain)}")
    return chain[-1], rejection
