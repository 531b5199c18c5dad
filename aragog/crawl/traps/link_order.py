"""
Orders a host's links for judging. Links that are likely useful, or tell the most about the others,
come first. Pure (no I/O).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aragog.crawl.traps.host_budget import LIKELY, HostBudget
from aragog.crawl.traps.templates import UrlTemplates, series_of, templates_of

DOUBTFUL, UNLIKELY, UNTOLD = 1, 2, 3
"""
The order of waiting links: first those that may be useful, then those that probably are not, then
those of templates whose pages have only led to untried templates.
"""
MANY_NAMES = 5
MAX_OF_KIND = 40
"""How many links with the same templates are judged at once. The others wait."""

_Rank = tuple[bool | float | str, ...]


def best_first(host: HostBudget, urls: Iterable[str], most_of_kind: int = MAX_OF_KIND) -> list[str]:
    """
    Sort links: likely useful ones first, then simple ones, then those with varied link texts, and
    those with low numbers.

    Returns at most `most_of_kind` links of each kind, unless the kind is known to be useful.
    """
    kinds: dict[tuple[str, ...], list[tuple[str, UrlTemplates]]] = {}
    for url in urls:
        plain = host.plain(templates_of(url, host.words))
        kinds.setdefault((plain.section, *plain.marks), []).append((url, plain))
    ranked: list[tuple[_Rank, str]] = []
    for (name, *_), links in kinds.items():
        section = host.records.get(name)
        most = len(links) if section is not None and section.is_sure else most_of_kind
        ranked += _ranked(host, sorted(links, key=_simplest)[:most])
    return [url for _, url in sorted(ranked)]


def _ranked(host: HostBudget, links: list[tuple[str, UrlTemplates]]) -> Iterator[tuple[_Rank, str]]:
    """Yield links of one kind, each with its rank."""
    section, chance = host.records.get(links[0][1].section), round(host.expected(links[0][1]), 1)
    is_untold = section is not None and section.is_untold
    usual = UNTOLD if is_untold else UNLIKELY if chance < LIKELY else 0
    for url, one in links:
        is_doubtful = section is not None and host.is_doubtful(one, section)
        finest = host.records.get(one.finest)
        named = min(finest.named, MANY_NAMES) if finest else 0
        rank = (
            host.ends.is_beyond(url), usual or (DOUBTFUL if is_doubtful else 0), url.count("&"),
            url.count("/"), -chance, -named, series_of(url)[1] or 0, len(url),
        )  # fmt: skip
        yield rank, url


def _simplest(link: tuple[str, UrlTemplates]) -> tuple[int, int, int, str]:
    url = link[0]
    return url.count("&"), url.count("/"), len(url), url
