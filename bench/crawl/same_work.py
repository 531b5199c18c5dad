"""Compare what two sides stored for the same pages: body, title and every link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, unquote, urljoin, urlsplit

from lxml import html

from aragog.errors import InvalidUrl
from bench.crawl.page_sets import PageSet
from bench.crawl.sides import MAX_LINKS, Stored
from urlspelling import normalize


def differences(
    pages: PageSet, aragog: Mapping[str, Stored], other: Mapping[str, Stored], side: str = "Scrapy"
) -> list[str]:
    """
    Return one line for each difference.

    Links are compared in one spelling and without those to the page itself, because the other
    programs keep tracking parameters, escape other characters, and report links within the page.
    Titles are only checked for presence, because aragog chooses the best of several and removes the
    site's name. aragog parses a page as a browser with scripts does, so only the others have links
    in `<noscript>`.
    """
    reports = [f"{url}: stored by one side only" for url in sorted(aragog.keys() ^ other.keys())]
    for url in sorted(aragog.keys() & other.keys()):
        own, others = aragog[url], other[url]
        if own.body_hash != others.body_hash:
            reports.append(f"{url}: other bodies")
        if bool(own.title) < bool(others.title):
            reports.append(f"{url}: aragog has no title, {side} {others.title!r}")
        own_links, missing_links = _targets(own.links, url), _targets(others.links, url)
        reports += [f"{url}: only aragog has {link}" for link in sorted(own_links - missing_links)]
        missing_links -= own_links
        missing_links -= _in_noscript(pages.body(url), url) if missing_links else set()
        reports += [f"{url}: only {side} has {link}" for link in sorted(missing_links)]
    return reports


def _targets(links: Iterable[str], url: str) -> set[str]:
    """
    Return the first MAX_LINKS targets in one spelling, without those that are not
    http(s) URLs.
    """
    targets: dict[str, None] = {}
    for link in links:
        try:
            targets[_common_spelling(link)] = None
        except InvalidUrl:
            continue
    return set(list(targets)[:MAX_LINKS]) - {_common_spelling(url)}


def _in_noscript(body: bytes, url: str) -> set[str]:
    hrefs = html.fromstring(body).xpath("//noscript//a/@href")
    return _targets((urljoin(url, href) for href in hrefs), url)


def _common_spelling(url: str) -> str:
    """Return a common spelling: escapes decoded, `+` as a space, `?a` as `?a=`."""
    parts = urlsplit(normalize(url))
    query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    return f"{parts.scheme}://{parts.netloc}{unquote(parts.path)} {query}"
