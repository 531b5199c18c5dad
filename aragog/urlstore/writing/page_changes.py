"""
A fetch's change feed entries, and whether it requires fetches of aliases. No I/O.

Changes are found by comparison with the stored data. A repeated write finds none, unless the first
write was interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import orjson

from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import kind_from_field
from aragog.pages.preferences import PURPOSES
from aragog.urlstore import nodes
from aragog.urlstore.feed import Change, ChangeKind, Values, feed_text
from aragog.urlstore.nodes import alias_of, facts_of
from aragog.urlstore.records import WITHHELD, absent_as, get_permission
from aragog.urlstore.usual_intervals import IGNORED_FIELDS
from aragog.urlstore.writing.agreement import agrees, is_failed_fetch
from aragog.urlstore.writing.next_due import NextFetch, read_state
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan, is_watched
from zengraph.records import Row


class PageOwners(NamedTuple):
    """The owners that watch a page (`Watches`)."""

    page: Sequence[str] = ()
    requested: Sequence[str] = ()
    """Those that watch the fetched URL."""


class FetchComparison(NamedTuple):
    """How a fetch differs from what was stored."""

    next_fetch: NextFetch
    changed: Sequence[str]
    """Fields whose values differ."""
    item_news: Mapping[str, Values]
    """The changes to the page's items, by their names in the change feed."""
    cells: Mapping[bytes, bytes]
    """The cells that will be written."""


def find_changes(
    target: PageTarget, found: FetchComparison, owners: PageOwners, *, all_pages: bool = False
) -> list[Change]:
    """
    Return the entries for the page, and for the fetched URL if it redirects now.

    With `all_pages`, also returns entries without values for the first fetch of an unwatched page,
    and for a page that was merged into another URL without a redirect.
    """
    changes = redirect_changes(target, owners.requested, all_pages=all_pages)
    kind = _change_kind(target, found, all_pages=all_pages)
    if kind is None:
        return changes
    is_unwatched_new = kind == "new" and not _reports_first_fetch(target)
    names = [] if is_unwatched_new else _reported_fields(found.changed)
    fields = {**{name: _value_change(target, name) for name in names}, **found.item_news}
    change = Change(
        target.canonical,
        target.page.fetched_at_ms,
        kind,
        fields,
        tuple(owners.page),
        content_hash=_hash_change(target, found.cells),
    )
    return [*changes, change]


def changed_cell(target: PageTarget, changes: Sequence[Change]) -> dict[bytes, bytes]:
    """
    Return the cell with the fetch's change to its page.

    Empty if the change is already recorded. The cell is written with the page. If that is
    interrupted, the repeated write finds the change again.
    """
    kind = next((change.kind for change in changes if change.url == target.canonical), None)
    was_gone = absent_as(facts_of(target.row)) == OutcomeKind.GONE
    if kind is None or (kind == "given_up" and was_gone):
        return {}
    return {nodes.CHANGED: kind.encode()}


def moved_cell(target: PageTarget) -> dict[bytes, bytes]:
    """
    Return the cell that says that this URL had its own page but now leads to another.

    It contains the time when the URL's own page was fetched, so that a page that appeared and moved
    in the same round of a crawl is not reported as lost.
    """
    page, row = target.page, target.requested_row
    fetched_ms = facts_of(row).get("fetched_at_ms")
    is_alias = target.canonical == page.url or alias_of(row, page.url) is not None
    if is_alias or not fetched_ms or not redirect_changes(target, all_pages=True):
        return {}
    return {nodes.CHANGED: b"redirected %d" % int(fetched_ms)}


def _change_kind(
    target: PageTarget, found: FetchComparison, *, all_pages: bool
) -> ChangeKind | None:
    if found.next_fetch.given_up:
        return "given_up"
    if is_failed_fetch(target.page):
        return _failure_kind(target)
    is_changed = bool(_reported_fields(found.changed) or found.item_news)
    if found.next_fetch.first:
        is_reported = all_pages or _reports_first_fetch(target)
        return "new" if is_reported and (is_changed or target.page.content) else None
    if is_changed:
        return "changed"
    if _body_changed(target, found.cells):
        return "content"
    is_later = target.facts_at_ms <= target.at_ms
    return "back" if is_later and absent_as(facts_of(target.row)) else None


def _reports_first_fetch(target: PageTarget) -> bool:
    """Return True if the first fetch is reported in every feed, with its values."""
    # Consumers that deleted a withdrawn page need to hear that it is back.
    return is_watched(target) or nodes.text(target.row, nodes.WITHDRAWN) == "1"


def _reported_fields(changed: Sequence[str]) -> list[str]:
    """Return the changed fields to report, without items, which have their own entries."""
    return [n for n in changed if n not in IGNORED_FIELDS and kind_from_field(n) is None]


def _failure_kind(target: PageTarget) -> ChangeKind | None:
    """Return the change to report for a page's first failure, or None."""
    before, now = absent_as(facts_of(target.row)), target.page.facts.get("outcome")
    if (
        nodes.CONTENT_HASH not in target.row
        and not _had_page(target.row)
        and not is_watched(target)
    ):
        return None
    if target.page.gone:
        return "gone" if before != OutcomeKind.GONE else None
    if now == OutcomeKind.NOT_MODIFIED:
        return "back" if before else None
    return "withheld" if now in WITHHELD and before not in WITHHELD else None


def _had_page(row: Row) -> bool:
    return bool(facts_of(row).get("fetched_at_ms"))


def redirect_changes(
    target: PageTarget, owners: Sequence[str] = (), *, all_pages: bool = False
) -> list[Change]:
    """
    Return the entry for a stored URL that now leads elsewhere; see `find_changes`.

    `owners` watch that URL.
    """
    page, row = target.page, target.requested_row
    if is_failed_fetch(page) or page.final_url == page.url or not _had_page_before(target):
        return [_merge_entry(target, owners)] if all_pages and _is_new_alias(target) else []
    before = nodes.text(row, nodes.CONTENT_HASH)
    hashes = (before, None) if before and target.canonical != page.url else None
    return [
        Change(
            page.url,
            page.fetched_at_ms,
            "redirected",
            owners=tuple(owners),
            content_hash=hashes,
            redirected_to=page.final_url,
        )
    ]


def _merge_entry(target: PageTarget, owners: Sequence[str]) -> Change:
    """Return the entry for a URL whose record was merged into another record."""
    return Change(
        target.page.url,
        target.page.fetched_at_ms,
        "redirected",
        owners=tuple(owners),
        redirected_to=target.canonical,
    )


def _is_new_alias(target: PageTarget) -> bool:
    """Return True if this fetch made a URL with its own record an alias."""
    page, row = target.page, target.requested_row
    is_alias = not is_failed_fetch(page) and target.canonical != page.url
    return is_alias and nodes.SENTINEL in row and alias_of(row, page.url) is None


def _had_page_before(target: PageTarget) -> bool:
    """Return True if the fetched URL had its own page before, or was an alias of another page."""
    url, row = target.page.url, target.requested_row
    before = alias_of(row, url)
    if before is not None:
        return before != target.canonical
    own_facts = facts_of(row, nodes.OWN)
    return _had_page(row) and own_facts.get("redirects_to") != target.page.final_url


def _body_changed(target: PageTarget, cells: Mapping[bytes, bytes]) -> bool:
    """Return True if the body itself changed, not just its compression."""
    before, seen = read_state(target.row), target.page.seen
    if before is None or seen is None or not before.body_hash or not seen.body_hash:
        return _hash_change(target, cells) is not None
    return seen.body_hash[:16] != before.body_hash


def _hash_change(target: PageTarget, cells: Mapping[bytes, bytes]) -> Values | None:
    """Return the content hashes before and after, or None if they are equal."""
    before, cell = nodes.text(target.row, nodes.CONTENT_HASH), cells.get(nodes.CONTENT_HASH)
    now = before if cell is None else cell.decode()
    return None if before == now else (before, now)


def _value_change(target: PageTarget, name: str) -> Values:
    stored = target.row.get(nodes.field_column(name))
    return feed_text(stored and stored.value), feed_text(target.page.fields.get(name))


def has_another_page(target: PageTarget) -> bool:
    """Return True if the page changed or is gone, so that its aliases may not match it."""
    page = target.page
    if target.stale or target.refused or target.copy:
        return False
    if page.gone:
        return target.canonical == page.url
    return not is_failed_fetch(page) and agrees(page, target.row) is False


def is_failed_alias(target: PageTarget) -> bool:
    """Return True if an alias was due in its own right and its fetch failed."""
    is_alias = target.canonical != target.page.url
    return (
        is_alias
        and is_failed_fetch(target.page)
        and bool(nodes.text(target.requested_row, nodes.DUE))
    )


def is_newly_reserved(plan: PageWritePlan) -> bool:
    """Return True if the stored page now disallows a use that it did not disallow before."""
    before, cell = facts_of(plan.target.row), plan.cells.get(nodes.FACTS)
    if cell is None or not before.get("fetched_at_ms"):
        return False
    now = orjson.loads(cell)
    return any(
        get_permission(now, purpose)[0] is False and get_permission(before, purpose)[0] is not False
        for purpose in PURPOSES
    )


def reserved_change(target: PageTarget, owners: Sequence[str]) -> Change:
    """Return the entry for a page that disallows another use."""
    return Change(target.canonical, target.page.fetched_at_ms, "reserved", owners=tuple(owners))
