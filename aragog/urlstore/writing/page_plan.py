"""
Page write plans: the changes to the store for one fetched page.

A plan is created from nodes, and then filled in place: facts, fields, next fetch and histories
(`plan_cells`), content (`plan_bodies`). No I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aragog.urlstore import nodes
from aragog.urlstore.content_port import ContentPut
from aragog.urlstore.feed import Change, Values
from aragog.urlstore.nodes import alias_of, facts_of, follow_aliases
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.records import ContentWrite, PageWrite, Written
from aragog.urlstore.signal_trust import Evidence
from aragog.urlstore.writing.agreement import Judgment, Standing, is_failed_fetch
from aragog.urlstore.writing.next_due import WATCHED
from urlspelling.domain import host
from zengraph.records import Row


@dataclass(slots=True)
class PageWritePlan:
    """The changes for one page, its target node, and that node's data."""

    page: PageWrite
    canonical: str
    """The URL whose node receives the page."""
    row: Row
    older_by_ms: int
    """How much later the stored data was fetched; 0 if it was not later."""
    refused: bool
    """True if the node was taken down, or was removed or withdrawn after this fetch."""
    judgment: Judgment
    """Why the page goes to this node."""
    cells: dict[bytes, bytes] = field(default_factory=dict)
    """The cells to write to the canonical URL's node, with the time of the fetch."""
    aliases: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """Fields whose values differ from the stored values."""
    item_news: Mapping[str, Values] = field(default_factory=dict)
    """The changes to the page's items, by their names in the change feed."""
    missing: frozenset[str] = frozenset()
    """Names of fields that the pipeline found only in earlier fetches."""
    gone: frozenset[str] = frozenset()
    """The missing fields whose stored value is from the pipeline. They will be deleted."""
    late_facts: bytes | None = None
    """The facts to write if a later failed attempt is already stored."""
    body: ContentPut | None = None
    """The object to store before the node points to it."""
    unpacked: ContentWrite | None = None
    """The body to add to a pack before the node points to it."""
    unused_record: PackPointer | None = None
    """The record that was packed for the page, if the page does not use it."""
    due_at_ms: int | None = None
    evidence: Evidence | None = None
    changes: list[Change] = field(default_factory=list)
    requested_row: Row = field(default_factory=dict)
    """The node of the fetched URL; equals `row` unless the URL led elsewhere before."""
    requested_owners: tuple[str, ...] = ()
    """The owners that watch the fetched URL, if it led elsewhere before."""

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
    def complete(self) -> bool:
        """True if the fetch has all fields of the page; a fetch through an alias might not."""
        return self.page.complete and self.canonical in (self.page.url, self.page.final_url)


def urls_without_page(plan: PageWritePlan) -> list[str]:
    """Return the fetched URLs that have no page of their own. Aliases may point to them."""
    page = plan.page
    if is_failed_fetch(page) and not page.gone:
        return []
    urls = dict.fromkeys((page.url, page.final_url))
    # After a temporary redirect, the canonical URL says nothing about the redirecting URL.
    return [url for url in urls if page.gone or plan.canonical not in (url, page.url)]


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
    sender, canonical = plan.page.final_url, plan.canonical
    if sender == canonical == plan.page.url:
        return []
    is_covered = canonical == sender or (sender in plan.aliases and host(sender) == host(canonical))
    urls = [canonical] if plan.cells and not is_covered else []
    requested = plan.page.url
    if (
        plan.page.report is not None
        and not plan.refused
        and requested not in (sender, canonical)
        and not (is_covered and requested in plan.aliases)
    ):
        urls.append(requested)
    return urls


def to_written(plan: PageWritePlan) -> Written:
    """Return the result that `write_pages` returns for this page."""
    judgment = plan.judgment
    return Written(
        plan.page.url,
        plan.canonical,
        stale=plan.stale or plan.refused,
        unconfirmed=judgment.declared if judgment.is_doubted and not plan.refused else None,
        older_by_ms=0 if plan.refused else plan.older_by_ms,
        same_as=_shared_body_url(plan),
        existed=_had_content(plan),
        crawl=plan.page.crawl if joins_crawl(plan) else "",
    )


def joins_crawl(plan: PageWritePlan) -> bool:
    """Return True if the page is new and joins its crawl with this write."""
    page = plan.page
    is_new = not plan.row and plan.alone and page.content is not None
    return bool(page.crawl) and is_new and not plan.refused and not page.withdrawn


def _shared_body_url(plan: PageWritePlan) -> str | None:
    packed = plan.page.content.packed if plan.page.content else None
    is_used = (
        packed is not None
        and packed.shared is not None
        and plan.cells.get(nodes.CONTENT_PACK) == packed.shared.pointer.cell()
    )
    return packed.shared.url if is_used and packed and packed.shared else None


def _had_content(plan: PageWritePlan) -> bool:
    """Return True if there was content before this fetch."""
    if not plan.row:
        return False
    cells = (plan.row.get(column) for column in nodes.POINTERS)
    return any(cell and cell.value and cell.at_ms < plan.page.fetched_at_ms for cell in cells)


def is_watched(plan: PageWritePlan) -> bool:
    """Return True if the page has a watcher."""
    return nodes.text(plan.row, nodes.WATCHED) == WATCHED.decode()
