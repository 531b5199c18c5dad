"""
What a page's links lead to: new pages of useful templates, or ever more pages of unknown value.
Pure (no I/O).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from aragog.crawl.traps.host_budget import LAST_CHANCE, LIKELY, HostBudget
from aragog.crawl.traps.template_record import FAR
from aragog.crawl.traps.templates import UrlTemplates

PROVEN, MANY_BAD = 2, 2
"""A template is proven after this many useful pages, and doubtful after this many useless ones."""
MAX_FOLDERS = 6


class PageLinks(NamedTuple):
    """What the links of a page lead to."""

    share: float
    """Among links to pages of other useful templates, the share that no other page had."""
    novel: float
    """Of the same links, the share that no useful page at or above this page's path had."""
    promised: int
    """Number of new links to untried templates."""
    doubtful: int
    """Number of new links to doubtful templates and to the page's own template."""
    strange: int
    """Number of new links to doubtful templates other than the page's own."""
    dead: int
    """Number of new links to templates that are closed."""
    others: int
    """Number of new links that lead no closer to content."""
    nearest: int
    """The smallest number of links that lead from a page in `items` to a page with content."""
    items: set[int]
    """The links to pages of other useful templates."""


def links_of_page(
    host: HostBudget, own: UrlTemplates, targets: Sequence[UrlTemplates]
) -> PageLinks:
    """
    Return what the links of a page lead to.

    Args:
        host: the budget of the page's host, before the page is added to it.
        own: the templates of the page's URL.
        targets: the templates of its links.
    """
    new = promised = doubtful = strange = dead = others = 0
    items, nearest = set(), FAR
    steps = max(1, host.known(own.section).steps)
    for to in targets:
        if to.own == own.own or to.own in items:
            continue
        is_known = to.own in host.linked or to.own in host.seen
        is_other = to.section != own.section
        others += not is_known
        chance, tried = host.expected(to), host.records.get(to.section)
        if tried and tried.brought >= PROVEN and chance >= LIKELY and is_other:
            is_content = tried.steps > 0 or tried.has_text or not tried.is_endless
            if tried.steps < steps and is_content and not host.links.is_frame(to.own):
                items.add(to.own)
                new += not is_known
                others -= not is_known
                nearest = min(nearest, tried.steps)
        elif not is_known:
            is_bad = tried is not None and tried.nothing >= MANY_BAD
            if is_other and chance < LAST_CHANCE:
                dead += 1
            elif (chance < LIKELY and is_bad) or not is_other:
                doubtful += 1
                strange += is_other
            else:
                promised += 1
    places = folders(own.url)
    novel = sum(all(item ^ place not in host.listed for place in places) for item in items)
    return PageLinks(
        share=new / len(items) if new else 0.0,
        novel=novel / len(items) if items else 0.0,
        promised=promised,
        doubtful=doubtful,
        strange=strange,
        dead=dead,
        others=others,
        nearest=nearest,
        items=items,
    )


def list_code(items: set[int]) -> int:
    """Return a hash of a list of links that does not depend on their order."""
    return crc32(" ".join(map(str, sorted(items))).encode())


def folders(url: str) -> list[int]:
    """Return hashes of a URL's path and of the paths above it."""
    path = url.partition("?")[0].rstrip("/")
    found: list[int] = []
    while path.count("/") > 2 and len(found) < MAX_FOLDERS:
        found.append(crc32(path.encode()))
        path = path.rpartition("/")[0]
    return found or [0]
