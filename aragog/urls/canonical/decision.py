"""
Which URL stands for a page: a decision over evidence, pure, with its reasons.

Normalizing is spelling; this is identity. The evidence comes from the fetch (redirects, headers)
and from the document; nothing here reads either. The order of trust and the guards stand as a
table in docs/canonical.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from aragog.urls.canonical import guards
from aragog.urls.canonical.evidence import Decision, Evidence, KnownPage, Redirect

__all__ = ["INSTANT_REFRESH_S", "Decision", "Evidence", "KnownPage", "Redirect", "decide"]

INSTANT_REFRESH_S = 1.0
"""A refresh within this is a redirect for its readers; a later one shows them a page first."""

_SPOKEN = {
    "link_header": "the Link header",
    "link_canonical": "<link rel=canonical>",
    "meta_refresh": "an instant meta refresh",
    "og_url": "og:url",
}


@dataclass(slots=True)
class _Finding:
    """What was found on the way to a decision."""

    reasons: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str, str]] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    """The URLs that permanent redirects left behind."""


def decide(evidence: Evidence) -> Decision:
    """
    The URL that stands for the page that `evidence.url` gave, and why.

    Never raises for normalized URLs. The same evidence gives the same decision; each fetch decides
    anew, so a page that drops its tag stands for itself again.
    """
    found = _Finding()
    home = _through_redirects(evidence, found)
    found.rejected += [("body_canonical", u, "outside the head") for u in evidence.body_canonical]
    found.rejected += [(s, text, "no http(s) URL") for s, text in evidence.unparsable]
    if evidence.status >= 400:
        found.reasons.append(f"the answer was {evidence.status}: an error page declares nothing")
        return _decision(evidence, evidence.url, "self", found, aliases=())
    if home != evidence.final_url:
        return _behind(evidence, home, found)
    chosen = _declared(evidence, found)
    if chosen is not None:
        source, url = chosen
        return _decision(evidence, url, source, found, aliases=_fetched(evidence))
    rule = "redirect" if home != evidence.url else "self"
    if rule == "self":
        found.reasons.append("nothing names another URL")
    return _decision(evidence, home, rule, found, aliases=_fetched(evidence))


def _fetched(evidence: Evidence) -> tuple[str, ...]:
    return (evidence.url, *(hop.url for hop in evidence.redirects), evidence.final_url)


def _decision(
    evidence: Evidence, url: str, rule: str, found: _Finding, *, aliases: tuple[str, ...]
) -> Decision:
    fetched = url in _fetched(evidence)
    provisional = not fetched and not guards.is_confirmed(url, evidence.known.get(url))
    if provisional:
        found.reasons.append(f"provisional until {url} itself was fetched")
    return Decision(
        canonical_url=url,
        provisional=provisional,
        rule=rule,
        reasons=tuple(found.reasons),
        rejected=tuple(found.rejected),
        aliases=tuple(alias for alias in dict.fromkeys(aliases) if alias != url),
    )


def _through_redirects(evidence: Evidence, found: _Finding) -> str:
    """The URL that the asked one was moved to for good: as far as permanent redirects lead."""
    here = evidence.url
    for hop in evidence.redirects:
        if hop.url != here:
            break
        why_not = _not_moved(here, hop)
        if why_not:
            found.reasons.append(f"{here} stays: {why_not}")
            found.rejected.append(("redirect", hop.target, why_not))
            break
        kind = "permanently" if hop.permanent else "to another spelling of itself,"
        found.reasons.append(f"{here} redirects {kind} to {hop.target}")
        found.moved.append(here)
        here = hop.target
    return here


def _not_moved(url: str, hop: Redirect) -> str | None:
    if guards.is_respelled(url, hop.target):
        return None
    if not hop.permanent:
        return f"its redirect to {hop.target} is temporary"
    if guards.same_site(url, hop.target):
        return guards.homepage(url, hop.target)
    return None


def _behind(evidence: Evidence, home: str, found: _Finding) -> Decision:
    """
    The page came from behind a redirect that does not move `home`.

    What that page declares is about its own URL: one sign-in page stands behind many.
    """
    rule = "redirect" if home != evidence.url else "self"
    for source, urls in _sources(evidence):
        if urls == (home,):
            found.reasons.append(f"{_SPOKEN[source]} of the page behind it agrees")
            rule = source
        else:
            why = f"it speaks for {evidence.final_url}, which is another page"
            found.rejected += [(source, url, why) for url in urls]
    found.reasons.append(f"the page came from {evidence.final_url}, which {home} was not moved to")
    return _decision(evidence, home, rule, found, aliases=tuple(found.moved))


def _sources(evidence: Evidence) -> list[tuple[str, tuple[str, ...]]]:
    """What the page declares, the most trusted source first; each URL once."""
    refresh = evidence.meta_refresh
    instant = (refresh[1],) if refresh and refresh[0] <= INSTANT_REFRESH_S else ()
    listed = [
        ("link_header", evidence.link_header),
        ("link_canonical", evidence.link_canonical),
        ("meta_refresh", instant if instant != (evidence.final_url,) else ()),
        ("og_url", (evidence.og_url,) if evidence.og_url else ()),
    ]
    return [(source, tuple(dict.fromkeys(urls))) for source, urls in listed if urls]


def _declared(evidence: Evidence, found: _Finding) -> tuple[str, str] | None:
    """The first source whose one URL passes the guards, with the URL that it leads to."""
    chosen: tuple[str, str] | None = None
    for source, urls in _sources(evidence):
        if len(urls) > 1:
            found.rejected += [(source, url, "several that differ: none counts") for url in urls]
            continue
        url, why_not = _vetted(evidence, urls[0], found)
        if chosen is not None:
            _compare(source, url, chosen, found)
        elif why_not:
            found.rejected.append((source, urls[0], why_not))
        else:
            chosen = source, url
            whom = "this page itself" if url == evidence.final_url else url
            found.reasons.append(f"{_SPOKEN[source]} names {whom}")
    return chosen


def _compare(source: str, url: str, chosen: tuple[str, str], found: _Finding) -> None:
    if url == chosen[1]:
        found.reasons.append(f"{_SPOKEN[source]} agrees")
    else:
        found.rejected.append((source, url, f"{_SPOKEN[chosen[0]]} is trusted more"))


def _vetted(evidence: Evidence, target: str, found: _Finding) -> tuple[str, str | None]:
    """Where `target` leads, and why it may not stand for the page, if it may not."""
    if target == evidence.final_url:
        return target, None
    passed, why_not = guards.way(evidence, target)
    for url in passed:
        why_not = guards.refusal(evidence, url) or why_not
    if why_not is None and len(passed) > 1:
        found.reasons.append(f"{' leads on to '.join(passed)}")
    return passed[-1], why_not
