"""Records an evaluated page's links, their texts, and how they were found. Does no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

from aragog.crawl.traps.host_budget import HostBudget
from aragog.crawl.traps.known_urls import note_elsewhere
from aragog.crawl.traps.link_origins import TAINTED, WITHIN, chain_of
from aragog.crawl.traps.page_links import folders
from aragog.crawl.traps.template_record import Flaw
from aragog.crawl.traps.templates import UrlTemplates

REPEATS = {Flaw.COPY, Flaw.SAME}


class JudgedPage(NamedTuple):
    """A page and what was decided about it."""

    is_of: UrlTemplates
    is_useful: bool
    is_content: bool
    """True if it has a lot of new content and is not a list."""
    has_words: bool
    """True if it has words that were not seen on this host before."""
    flaw: Flaw | None


def note_links(
    host: HostBudget, page: JudgedPage, targets: Sequence[tuple[UrlTemplates, str]]
) -> None:
    """
    Record the links of a page.

    Args:
        host: the budget of the page's host.
        page: the page and its verdict.
        targets: the templates and the text of each link.
    """
    own = page.is_of
    if page.is_useful:
        for place in folders(own.url)[:1]:
            host.listed.add(to.own ^ place for to, _ in targets)
    chain = host.origins.of(own.own)
    inner = inner_of_branch = 0
    for to, text in targets:
        is_new = to.own not in host.linked
        inner += is_new and to.section == own.section and to.own != own.own
        inner_of_branch += is_new and to.branch == own.branch
        _note_mention(host, page, to, text, is_new=is_new)
        host.origins.add(to.own, _origin(page, chain, to))
    if page.has_words and host.origins.is_within(own.own):
        _note_inner(host, own, inner, inner_of_branch)
    host.linked.add(to.own for to, _ in targets)
    host.links.add({to.own for to, _ in targets})


def _note_mention(
    host: HostBudget, page: JudgedPage, to: UrlTemplates, text: str, *, is_new: bool
) -> None:
    """Record the text of a link, and whether several pages have the link."""
    if is_new and any(character.isalpha() for character in text):
        host.record(to.finest).link(crc32(text.encode()))
    is_elsewhere = to.section != page.is_of.section and page.flaw not in REPEATS
    if is_elsewhere and host.known(to.section).is_growing:
        note_elsewhere(host, to.own)
    if not is_new and page.flaw is not Flaw.COPY and to.own not in host.relinked:
        host.relinked.add((to.own,))
        for name in {to.section, to.branch}:
            host.record(name).old_links += 1
        host.record(to.finest).link_again(crc32(text.encode()))


def _origin(page: JudgedPage, chain: bytes, to: UrlTemplates) -> bytes:
    """Return the chain of templates that leads to a link, given the chain to the linking page."""
    if page.flaw in REPEATS:
        return TAINTED
    if page.is_content and to.branch != page.is_of.branch:
        return b""
    if page.is_content and page.has_words:
        return WITHIN
    return chain_of(chain, page.is_of.section, to.section)


def _note_inner(host: HostBudget, own: UrlTemplates, inner: int, inner_of_branch: int) -> None:
    """Record the new links of a page that has its own text but is linked only from its section."""
    section = host.record(own.section)
    section.inner += 1
    section.new_links += inner
    if own.branch != own.section:
        branch = host.record(own.branch)
        branch.inner += 1
        branch.new_links += inner_of_branch
