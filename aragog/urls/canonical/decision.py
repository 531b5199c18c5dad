"""
`decide`: the canonical URL of a page from its evidence, with reasons. Pure.

The evidence comes from the fetch (redirects, headers) and from the document. docs/canonical.md
lists the order of trust and the guards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aragog.urls.canonical import guards
from aragog.urls.canonical.evidence import Decision, Evidence, KnownPage, Redirect

__all__ = [
    "INSTANT_REFRESH_S", "PROVISIONAL", "Decision", "Evidence", "KnownPage", "Redirect", "decide",
]  # fmt: skip

INSTANT_REFRESH_S = 1.0
"""A meta refresh within this time counts as a redirect; a later one shows a page first."""
PROVISIONAL = "provisional until "
"""The beginning of the reason that holds only until the canonical URL is fetched."""

_SOURCE_NAMES = {
    "link_header": "the Link header",
    "link_canonical": "<link rel=canonical>",
    "meta_refresh": "an instant meta refresh",
    "og_url": "og:url",
}


@dataclass(slots=True)
class _Findings:
    """Reasons and rejected candidates collected during a decision."""

    reasons: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    """The URLs that redirect permanently."""


def decide(evidence: Evidence) -> Decision:
    """
    Decide the canonical URL of the page that `evidence.url` returned.

    Never raises for normalized URLs. Each fetch decides again, so a page that drops its canonical
    tag becomes its own canonical URL.
    """
    findings = _Findings()
    redirected = _through_redirects(evidence, findings)
    findings.rejected += [
        ("body_canonical", u, "outside the head") for u in evidence.body_canonical
    ]
    findings.rejected += [(s, text, "not an http(s) URL") for s, text in evidence.unparsable]
    if evidence.status >= 400:
        findings.reasons.append(
            f"the status was {evidence.status}: tags of an error page are ignored"
        )
        return _decision(evidence, evidence.url, "self", findings, aliases=())
    if redirected != evidence.final_url:
        return _behind(evidence, redirected, findings)
    chosen = _declared(evidence, findings)
    if chosen is not None:
        source, url = chosen
        return _decision(evidence, url, source, findings, aliases=_fetched(evidence))
    rule = "redirect" if redirected != evidence.url else "self"
    if rule == "self":
        findings.reasons.append("no evidence for another URL")
    return _decision(evidence, redirected, rule, findings, aliases=_fetched(evidence))


def _fetched(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.url, *(hop.url for hop in evidence.redirects), evidence.final_url)


def _decision(
    evidence: Evidence, url: str, rule: str, findings: _Findings, *, aliases: tuple[str, ...]
) -> Decision:
    fetched = url in _fetched(evidence)
    provisional = not fetched and not guards.is_confirmed(url, evidence.known.get(url))
    if provisional:
        findings.reasons.append(f"{PROVISIONAL}{url} is fetched")
    return Decision(
        canonical_url=url,
        provisional=provisional,
        rule=rule,
        reasons=tuple(findings.reasons),
        rejected=tuple(findings.rejected),
        aliases=tuple(alias for alias in dict.fromkeys(aliases) if alias != url),
    )


def _through_redirects(evidence: Evidence, findings: _Findings) -> str:
    """Follow the permanent redirects from the requested URL."""
    current = evidence.url
    for hop in evidence.redirects:
        if hop.url != current:
            break
        why_not = _not_moved(current, hop)
        if why_not:
            findings.reasons.append(f"{current} is kept: {why_not}")
            findings.rejected.append(("redirect", hop.target, why_not))
            break
        kind = "permanently" if hop.permanent else "to another spelling of itself,"
        findings.reasons.append(f"{current} redirects {kind} to {hop.target}")
        findings.moved.append(current)
        current = hop.target
    return current


def _not_moved(url: str, hop: Redirect) -> str | None:
    if guards.is_respelled(url, hop.target):
        return None
    if not hop.permanent:
        return f"its redirect to {hop.target} is temporary"
    if guards.same_site(url, hop.target):
        return guards.homepage(url, hop.target)
    return None


def _behind(evidence: Evidence, redirected: str, findings: _Findings) -> Decision:
    """
    Decide for a page that was reached by a redirect that is not permanent.

    The tags of that page describe its own URL: many URLs may redirect to one sign-in page.
    """
    rule = "redirect" if redirected != evidence.url else "self"
    for source, urls in _sources(evidence):
        if urls == (redirected,):
            findings.reasons.append(f"{_SOURCE_NAMES[source]} of the redirect target agrees")
            rule = source
        else:
            reason = f"it describes {evidence.final_url}, which is another page"
            findings.rejected += [(source, url, reason) for url in urls]
    findings.reasons.append(
        f"{redirected} does not redirect permanently to {evidence.final_url}, which has the page"
    )
    return _decision(evidence, redirected, rule, findings, aliases=tuple(findings.moved))


def _sources(evidence: Evidence) -> list[tuple[str, tuple[str, ...]]]:
    """Return the declared URLs by source, the most trusted source first."""
    refresh = evidence.meta_refresh
    instant = (refresh[1],) if refresh and refresh[0] <= INSTANT_REFRESH_S else ()
    listed = [
        ("link_header", evidence.link_header),
        ("link_canonical", evidence.link_canonical),
        ("meta_refresh", instant if instant != (evidence.final_url,) else ()),
        ("og_url", (evidence.og_url,) if evidence.og_url else ()),
    ]
    return [(source, tuple(dict.fromkeys(urls))) for source, urls in listed if urls]


def _declared(evidence: Evidence, findings: _Findings) -> tuple[str, str] | None:
    """Return the first source whose only URL passes the guards, and the URL it leads to."""
    chosen: tuple[str, str] | None = None
    for source, urls in _sources(evidence):
        if len(urls) > 1:
            findings.rejected += [
                (source, url, "several different values: all are ignored") for url in urls
            ]
            continue
        url, why_not = _checked(evidence, urls[0], findings)
        if chosen is not None:
            _compare(source, url, chosen, findings)
        elif why_not:
            findings.rejected.append((source, urls[0], why_not))
        else:
            chosen = source, url
            name = "this page itself" if url == evidence.final_url else url
            findings.reasons.append(f"{_SOURCE_NAMES[source]} names {name}")
    return chosen


def _compare(source: str, url: str, chosen: tuple[str, str], findings: _Findings) -> None:
    if url == chosen[1]:
        findings.reasons.append(f"{_SOURCE_NAMES[source]} agrees")
    else:
        findings.rejected.append((source, url, f"{_SOURCE_NAMES[chosen[0]]} has precedence"))


def _checked(evidence: Evidence, target: str, findings: _Findings) -> tuple[str, str | None]:
    """Return where `target` leads, and why it may not be the canonical URL, or None."""
    if target == evidence.final_url:
        return target, None
    chain, why_not = guards.canonical_chain(evidence, target)
    for url in chain:
        why_not = guards.refusal(evidence, url) or why_not
    if why_not is None and len(chain) > 1:
        findings.reasons.append(f"{' leads on to '.join(chain)}")
    return chain[-1], why_not
