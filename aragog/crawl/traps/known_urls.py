"""Compares a link with the known URLs of its host. Pure (no I/O)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aragog.crawl.traps.templates import UrlTemplates, hash_of

if TYPE_CHECKING:
    from aragog.crawl.traps.host_budget import HostBudget

ELSEWHERE, TWICE_ELSEWHERE = 0x5BD1E995, 0x2545F491
"""
The first one marks a URL in the host's set `linked`: one page of another section links to it. The
second one marks a URL in `relinked`: several such pages link to it.
"""


def is_fetched(host: HostBudget, plain: int) -> bool:
    """True if a URL, or a longer form of it that leads to the same page, was followed."""
    return plain in host.seen or plain in host.covered or plain in host.pages


def is_moved(host: HostBudget, plain: UrlTemplates) -> bool:
    """True if the URL is a known page's URL plus meaningless folders before or after the path."""
    return bool(host.meaningless) and any(
        part.is_of_path and part.without in host.seen and host.is_meaningless(part.template)
        for part in plain.parts
    )


def is_variant(host: HostBudget, plain: UrlTemplates) -> bool:
    """True if the URL is a known URL plus query parameters, or folders before the path."""
    parts = (part.without for part in plain.parts if not part.is_of_path)
    return any(code in host.linked or code in host.seen for code in (*parts, *plain.endings))


def is_facet(host: HostBudget, plain: UrlTemplates) -> bool:
    """True if the URL has several query parameters and is known without its query."""
    base = hash_of(plain.url.partition("?")[0])
    return "&" in plain.url and (base in host.linked or base in host.seen)


def waits_for_simpler(host: HostBudget, plain: UrlTemplates) -> bool:
    """True if the URL without some part of its query is known but has not been followed yet."""
    if "?" not in plain.url:
        return False
    return any(
        part.without in host.linked
        and part.without not in host.seen
        and part.without not in host.covered
        for part in plain.parts
    )


def is_named_elsewhere(host: HostBudget, link: int) -> bool:
    """True if several pages of other sections link to a URL and it is grounded (`link_origins`)."""
    return link ^ TWICE_ELSEWHERE in host.relinked and host.origins.is_grounded(link)


def note_elsewhere(host: HostBudget, link: int) -> None:
    """Record that a page of another section links to a URL."""
    if link ^ ELSEWHERE in host.linked:
        host.relinked.add((link ^ TWICE_ELSEWHERE,))
    host.linked.add((link ^ ELSEWHERE,))
