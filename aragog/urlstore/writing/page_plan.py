"""
What a fetched page changes in the store.

`WritePlanner` decides on a page's target, and `PagePlanner` adds what is written there. Both values
are immutable, and complete when they are created. No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from aragog.urlstore import nodes
from aragog.urlstore.content_port import ContentPut
from aragog.urlstore.feed import Change
from aragog.urlstore.nodes import alias_of, facts_of, follow_aliases
from aragog.urlstore.records import ContentWrite, PageWrite, SharedBody, Written
from aragog.urlstore.signal_trust import Evidence
from aragog.urlstore.writing.agreement import Judgment, Standing, is_failed_fetch
from aragog.urlstore.writing.next_due import WATCHED
from urlspelling.domain import host
from zengraph.records import Row

NO_CELLS: Mapping[bytes, bytes] = MappingProxyType({})


class PageTarget(NamedTuple):
    """The node that a page is written to, and what is stored there."""

    page: PageWrite
    canonical: str
    """The URL whose node receives the page."""
    row: Row
    """The node of `canonical`."""
    requested_row: Row
    """The node of the fetched URL; equals `row` unless the URL led elsewhere before."""
    judgment: Judgment
    """Why the page goes to this node."""
    older_by_ms: int
    """How much later the stored data was fetched; 0 if it was not later."""
    refused: bool
    """True if the node was taken down, or was removed or withdrawn after this fetch."""
    aliases: Sequence[str] = ()
    """The URLs that point to the node from now on."""
    missing: frozenset[str] = frozenset()
    """Names of fields that the pipeline found only in earlier fetches."""
    gone: frozenset[str] = frozenset()
    """The missing fields whose stored value is from the pipeline. They will be deleted."""

    @property
    def at_ms(self) -> int:
        """
        The timestamp of the cells: the time of the fetch, or slightly later if data with that time
        has moved away from the node.
        """
        return nodes.after_moves(self.row, self.page.fetched_at_ms)

    @property
    def facts_at_ms(self) -> int:
        """The timestamp of the stored facts; -1 if there are none."""
        cell = self.row.get(nodes.FACTS)
        return -1 if cell is None else cell.at_ms

    @property
    def copy(self) -> bool:
        """True for a page that matches the stored page and only becomes an alias."""
        return self.judgment.standing is Standing.JOINS

    @property
    def provisional(self) -> bool:
        """True until the page's canonical URL has been fetched."""
        is_own = self.canonical in (self.page.url, self.page.final_url)
        return self.page.provisional and not is_own and not nodes.was_fetched(self.row)

    @property
    def reasons(self) -> tuple[str, ...]:
        why = self.judgment.why
        return (*self.page.canonical_reasons, why) if why else self.page.canonical_reasons

    @property
    def alone(self) -> bool:
        """True for a page fetched from its canonical URL, without a redirect."""
        return self.canonical == self.page.url == self.page.final_url

    @property
    def stale(self) -> bool:
        return self.older_by_ms > 0

    @property
    def is_newest(self) -> bool:
        """True unless the page is refused, or newer data is stored."""
        return not self.stale and not self.refused

    @property
    def is_current(self) -> bool:
        """True if the page becomes the node's data."""
        return self.is_newest and not self.copy

    @property
    def complete(self) -> bool:
        """True if the fetch has all fields of the page; a fetch through an alias might not."""
        return self.page.complete and self.canonical in (self.page.url, self.page.final_url)


class PageWritePlan(NamedTuple):
    """Everything that is written for a page, besides its links and aliases."""

    target: PageTarget
    cells: Mapping[bytes, bytes] = NO_CELLS
    """The cells of the target's node, written with the time of the fetch."""
    late_facts: bytes | None = None
    """The facts to write if a later failed attempt is already stored."""
    body: ContentPut | None = None
    """The object to store before the node points to it."""
    unpacked: ContentWrite | None = None
    """The body to add to a pack before the node points to it."""
    due_at_ms: int | None = None
    """When to fetch again; None if never."""
    evidence: Evidence | None = None
    """Evidence about how reliably the page's host reports changes, or None."""
    changes: Sequence[Change] = ()
    """The entries for the change feed."""

    @property
    def shared_body(self) -> SharedBody | None:
        """Another page's record that has this page's body, or None."""
        content = self.target.page.content
        if content is None or content.packed is None or content.packed.shared is None:
            return None
        shared = content.packed.shared
        is_used = self.cells.get(nodes.CONTENT_PACK) == shared.pointer.cell()
        return shared if is_used else None


def urls_without_page(target: PageTarget) -> list[str]:
    """Return the fetched URLs that have no page of their own. Aliases may point to them."""
    page = target.page
    if is_failed_fetch(page) and not page.gone:
        return []
    urls = dict.fromkeys((page.url, page.final_url))
    # After a temporary redirect, the canonical URL says nothing about the redirecting URL.
    return [url for url in urls if page.gone or target.canonical not in (url, page.url)]


def identifying_urls(page: PageWrite) -> set[str]:
    """Return the URLs that identify the fetched page."""
    return {page.url, page.final_url, page.canonical_url}


def stored_canonicals(page: PageWrite, rows: dict[str, Row]) -> list[str]:
    """Return the canonical URLs that are stored for the URLs of a fetch."""
    return [follow_aliases(url, rows) for url in set(page.urls)]


def detached_urls(page: PageWrite, judgment: Judgment, rows: dict[str, Row]) -> list[str]:
    """
    Return the URLs whose canonical URL the fetch no longer declares or matches.

    If the canonical URL was fetched itself, URLs are detached only if they do not match its page.
    """
    result, canonical = [], judgment.canonical
    is_apart = judgment.standing is Standing.APART
    for url in () if is_failed_fetch(page) else dict.fromkeys((page.url, page.final_url)):
        row = rows.get(url, {})
        before = alias_of(row, url)
        if nodes.text(row, nodes.LEAVING):
            result.append(url)
        elif before not in (None, canonical) and row[nodes.CANONICAL].at_ms < page.fetched_at_ms:
            target_row = rows.get(before, {})
            is_detached = is_apart and url not in nodes.page_senders(target_row)
            if is_detached or (nodes.OWN not in target_row and nodes.CANONICAL not in target_row):
                result.append(url)
    return result


def has_data(row: Row) -> bool:
    """Return True if a new alias has data that must move to the canonical URL."""
    watched = nodes.text(row, nodes.WATCHED) == WATCHED.decode()
    return nodes.SENTINEL in row or watched or bool(nodes.text(row, nodes.DUE))


def referenced_urls(rows: Mapping[str, Row]) -> list[str]:
    """Return the canonical URLs and senders in these nodes that were not read yet."""
    urls = {alias_of(row, url) for url, row in rows.items()} - {None}
    for row in rows.values():
        if nodes.OWN not in row and nodes.SENTINEL in row:
            urls.update(nodes.page_senders(row))
    return [url for url in urls if url is not None and url not in rows]


def has_newer_pointer(row: Row, page: PageWrite) -> bool:
    """Return True if later evidence determined the canonical URL."""
    cell = row.get(nodes.CANONICAL)
    return cell is not None and cell.at_ms > page.fetched_at_ms


def refuses(row: Row, page: PageWrite) -> bool:
    """Return True if the node was taken down, or removed or withdrawn after this fetch."""
    withdrawn = row.get(nodes.WITHDRAWN)
    if withdrawn and withdrawn.at_ms >= page.fetched_at_ms and not is_failed_fetch(page):
        return True
    cell = row.get(nodes.REMOVED)
    if cell is None:
        return False
    return cell.value == nodes.TAKEN_DOWN or cell.at_ms >= page.fetched_at_ms


def seen_at_ms(row: Row, *, failed: bool) -> int:
    """
    Return when the node's content was fetched.

    With `failed`, the last attempt counts as well.
    """
    facts = facts_of(row)
    fetched = facts.get("fetched_at_ms") or 0
    attempted = facts.get("attempted_at_ms") or 0 if failed else 0
    return max(int(fetched), int(attempted))


def urls_to_index(plan: PageWritePlan) -> list[str]:
    """
    Return the URLs where a takedown of the final URL would miss this fetch's data.

    A takedown includes the final URL's own page, and the page on the same host that it is an alias
    of, each with its aliases.
    """
    target = plan.target
    sender, canonical, requested = target.page.final_url, target.canonical, target.page.url
    if sender == canonical == requested:
        return []
    is_covered = canonical == sender or (
        sender in target.aliases and host(sender) == host(canonical)
    )
    urls = [canonical] if plan.cells and not is_covered else []
    if (
        target.page.report is not None
        and not target.refused
        and requested not in (sender, canonical)
        and not (is_covered and requested in target.aliases)
    ):
        urls.append(requested)
    return urls


def to_written(plan: PageWritePlan) -> Written:
    """Return the result that `write_pages` returns for this page."""
    target, shared = plan.target, plan.shared_body
    judgment, is_refused = target.judgment, target.refused
    return Written(
        target.page.url,
        target.canonical,
        stale=target.stale or is_refused,
        unconfirmed=judgment.declared if judgment.is_doubted and not is_refused else None,
        older_by_ms=0 if is_refused else target.older_by_ms,
        same_as=shared.url if shared else None,
        existed=_had_content(target),
        crawl=target.page.crawl if joins_crawl(target) else "",
    )


def joins_crawl(target: PageTarget) -> bool:
    """Return True if the page is new and joins its crawl with this write."""
    page = target.page
    is_new = not target.row and target.alone and page.content is not None
    return bool(page.crawl) and is_new and not target.refused and not page.withdrawn


def _had_content(target: PageTarget) -> bool:
    """Return True if there was content before this fetch."""
    if not target.row:
        return False
    cells = (target.row.get(column) for column in nodes.POINTERS)
    return any(cell and cell.value and cell.at_ms < target.page.fetched_at_ms for cell in cells)


def is_watched(target: PageTarget) -> bool:
    """Return True if the page has a watcher."""
    return nodes.text(target.row, nodes.WATCHED) == WATCHED.decode()
