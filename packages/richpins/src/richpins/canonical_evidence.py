"""
Collect evidence for a page's canonical URL, from the page and its HTTP response.

`urlspelling.canonical` makes the decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from richpins import robots_meta as robots
from richpins.document import Document, LinkElement
from richpins.robots_meta import PageRobots
from urlspelling import why_no_page
from urlspelling.canonical import Evidence, Redirect
from urlspelling.link_header import parse_link_header

Headers = Iterable[tuple[str, str]]

MAX_CANDIDATES = 16
"""Maximum candidates of each kind. If a page declares several canonical URLs, none counts."""
MAX_ALTERNATES = 500

_HTML_WHITESPACE = "\t\n\f\r "
_REFRESH_TIME = re.compile(r"[\t\n\f\r ]*+(?:([0-9]++)[0-9.]*+|\.[0-9.]*+)(?=[;,\t\n\f\r ]|\Z)")
_REFRESH_URL = re.compile(r"url[\t\n\f\r ]*+=[\t\n\f\r ]*+", re.IGNORECASE)
_MAX_REFRESH_S = 2_147_483_647.0


def collect(
    document: Document,
    *,
    url: str,
    final_url: str,
    status: int = 200,
    redirects: tuple[Redirect, ...] = (),
    headers: Headers = (),
) -> Evidence:
    """
    Collect all evidence from one fetch, with every URL normalized.

    `url` is the requested URL, `final_url` the URL that returned the page, and `redirects` the hops
    between the two in order. `headers` are the last response's headers, with names in any case.
    """
    targets = _TargetResolver(document)
    links = document.link_elements
    return Evidence(
        url=url,
        final_url=final_url,
        status=status,
        redirects=redirects,
        link_header=tuple(_from_link_headers(headers, final_url, targets)),
        link_canonical=targets.resolve_all(
            "link canonical", _link_targets(links, "canonical", in_head=True)
        ),
        body_canonical=targets.resolve_all(
            "body canonical", _link_targets(links, "canonical", in_head=False)
        ),
        og_url=targets.resolve("og:url", document.meta("og:url")),
        meta_refresh=_find_refresh(document, targets),
        is_amp="amp" in document.html_attributes or "⚡" in document.html_attributes,
        amp_url=next(
            iter(targets.resolve_all("amphtml", _link_targets(links, "amphtml", in_head=True))),
            None,
        ),
        hreflang=tuple(_find_alternates(links, targets)),
        unparsable=tuple(targets.unparsable),
        placeholders=tuple(targets.placeholders),
    )


def page_robots(document: Document, headers: Headers = (), *, agent: str = "") -> PageRobots:
    """
    Combine the robots directives of the page's meta elements and the X-Robots-Tag headers.

    `agent` is the crawler's product token, as for `document.parse`.
    """
    return robots.combine(document.robots, robots.from_headers(headers, agent=agent))


def meta_refresh(content: str) -> tuple[float, str | None] | None:
    """
    Return a meta refresh's delay in whole seconds and its target as written; None if invalid.

    The target is None if the page is to be reloaded. The steps are the HTML Standard's "shared
    declarative refresh steps" (4.2.5.3).
    """
    match = _REFRESH_TIME.match(content)
    if not match:
        return None
    delay_s = float(min(int(match[1][:12]), _MAX_REFRESH_S)) if match[1] else 0.0
    rest = content[match.end() :].lstrip(_HTML_WHITESPACE)
    rest = rest[1:].lstrip(_HTML_WHITESPACE) if rest[:1] in {";", ","} else rest
    if not rest:
        return delay_s, None
    url_prefix = _REFRESH_URL.match(rest)
    return delay_s, _unquote(rest[url_prefix.end() :] if url_prefix else rest)


def _unquote(text: str) -> str:
    """Return the text before the closing quote. The URL parser strips white space at both ends."""
    if text[:1] in {'"', "'"}:
        text = text[1:].partition(text[0])[0]
    return text.strip(_HTML_WHITESPACE).translate({9: None, 10: None, 13: None})


class _TargetResolver:
    """Resolves candidate URLs and records invalid ones by source."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.unparsable: list[tuple[str, str]] = []
        self.placeholders: list[tuple[str, str, str]] = []

    def is_page_url(self, source: str, text: str) -> bool:
        reason = why_no_page(text, self._document.url)
        if reason and len(self.placeholders) < MAX_CANDIDATES:
            self.placeholders.append((source, text[:200], reason))
        return reason is None

    def resolve(self, source: str, text: str | None) -> str | None:
        if not text or not self.is_page_url(source, text):
            return None
        url = self._document.resolve(text)
        if url is None and len(self.unparsable) < MAX_CANDIDATES:
            self.unparsable.append((source, text[:200]))
        return url

    def resolve_all(self, source: str, texts: Iterable[str]) -> tuple[str, ...]:
        urls = (self.resolve(source, text) for text in texts)
        return tuple(dict.fromkeys(url for url in urls if url))[:MAX_CANDIDATES]


def _link_targets(links: Iterable[LinkElement], rel: str, *, in_head: bool) -> Iterable[str]:
    return (
        link.href for link in links if rel in link.rel and link.in_head is in_head and link.href
    )


def _from_link_headers(headers: Headers, final_url: str, targets: _TargetResolver) -> Iterable[str]:
    values = [value for name, value in headers if name.lower() == "link"]
    return (
        link.url
        for link in parse_link_header(values, base=final_url)
        if "canonical" in link.rel and targets.is_page_url("link header", link.url)
    )


def _find_refresh(document: Document, targets: _TargetResolver) -> tuple[float, str] | None:
    """Return the page's first refresh if its target is valid. Browsers also use the first one."""
    for attributes in document.metas:
        if (attributes.get("http-equiv") or "").lower() == "refresh":
            refresh = meta_refresh(attributes.get("content") or "")
            if refresh:
                target = targets.resolve("meta refresh", refresh[1])
                return (refresh[0], target) if target else None
    return None


def _find_alternates(
    links: Iterable[LinkElement], targets: _TargetResolver
) -> Iterable[tuple[str, str]]:
    for index, link in enumerate(link for link in links if "alternate" in link.rel):
        language = link.attributes.get("hreflang")
        url = targets.resolve("hreflang", link.href) if language else None
        if language and url and index < MAX_ALTERNATES:
            yield language.strip().lower(), url
