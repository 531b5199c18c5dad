"""
The cells of page write plans: facts, fields, pointers, next fetch and histories. No I/O.

The functions that begin with `fill` change a plan in place.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore import nodes
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.records import PageWrite
from aragog.urlstore.signal_trust import HostTrust
from aragog.urlstore.writing.agreement import is_failed_fetch
from aragog.urlstore.writing.next_due import NextFetch, plan_next
from aragog.urlstore.writing.page_facts import facts_after, merge_attempt
from aragog.urlstore.writing.page_plan import PageWritePlan, joins_crawl
from zengraph.records import Cell


def own_cell(page: PageWrite, url: str, canonical: str) -> bytes:
    """Return the cell `s:own`: what this fetch found out about `url` itself."""
    is_redirect = url != page.final_url
    return orjson.dumps(
        {
            "status": None if is_redirect else page.facts.get("status"),
            "canonical_url": None if is_redirect else canonical,
            "redirects_to": page.final_url if is_redirect else None,
            "gone": page.gone,
        }
    )


def pointer_cells(plan: PageWritePlan, alias: str) -> dict[bytes, bytes]:
    """Return the cells that make `alias` point to the plan's canonical URL."""
    page = plan.page
    cells = {
        nodes.URL: alias.encode(),
        nodes.CANONICAL: plan.canonical.encode(),
        nodes.PROVISIONAL: b"1" if plan.provisional else b"",
        nodes.REASONS: orjson.dumps(plan.reasons),
    }
    if alias in (page.url, page.final_url, *page.also):
        cells[nodes.OWN] = own_cell(page, alias, plan.canonical)
    return cells


def provenance_cell(plan: PageWritePlan) -> bytes:
    """Return where the pipeline found each field, in this or an earlier fetch."""
    old = facts_of(plan.row, nodes.PROVENANCE)
    values = {
        name: source
        for name, source in old.items()
        if name not in plan.missing or name in plan.gone
    }
    return orjson.dumps({**values, **plan.page.provenance})


def fill_page(plan: PageWritePlan) -> None:
    """
    Fill in facts and fields, or only facts if the fetch failed.

    A failed fetch through an alias leaves its canonical URL unchanged.
    """
    page, cells, failed = plan.page, plan.cells, is_failed_fetch(plan.page)
    if failed and plan.canonical != page.url:
        return
    cells[nodes.URL] = plan.canonical.encode()
    facts = facts_after(page, plan.row, complete=plan.complete)
    cells[nodes.SENTINEL] = nodes.sentinel_value(facts)
    cells[nodes.FACTS] = orjson.dumps(facts)
    if not failed and not plan.stale and plan.facts_at_ms > plan.at_ms:
        plan.late_facts = orjson.dumps(merge_attempt(facts, facts_of(plan.row)))
    if plan.canonical in (page.url, page.final_url):
        if not failed:
            # The URL led to no other page, so it is now its own canonical URL.
            cells[nodes.CANONICAL] = plan.canonical.encode()
        if page.gone or not failed:
            cells[nodes.OWN] = own_cell(page, plan.canonical, plan.canonical)
    if not failed:
        _fill_identity(plan)
    if joins_crawl(plan):
        cells[nodes.IN_CRAWL + page.crawl.encode()] = nodes.PRESENT
    _fill_fields(plan)
    if page.provenance:
        cell = provenance_cell(plan)
        stored = plan.row.get(nodes.PROVENANCE)
        if stored is None or stored.value != cell or not plan.alone:
            cells[nodes.PROVENANCE] = cell


def _fill_identity(plan: PageWritePlan) -> None:
    """Fill in the likeness, and why the URL is its own canonical URL."""
    likeness = nodes.likeness_cell(plan.page.likeness)
    if not plan.stale and (likeness or nodes.LIKENESS in plan.row):
        plan.cells[nodes.LIKENESS] = likeness
    is_own = plan.canonical in (plan.page.url, plan.page.final_url)
    if is_own and (plan.judgment.why or nodes.REASONS in plan.row):
        plan.cells[nodes.REASONS] = orjson.dumps(plan.reasons)


def _fill_fields(plan: PageWritePlan) -> None:
    """
    Fill in the fields.
    An older fetch adds only missing fields, and none if a newer fetch reported all of them. If a
    page was fetched through another URL, all fields are written: if that URL turns out not to be an
    alias, the timestamps show which fields it provided.
    """
    page, row, is_newest, alone = plan.page, plan.row, not plan.stale, plan.alone
    if not row:  # a new page
        plan.changed += page.fields
        plan.cells |= zip(map(nodes.field_column, page.fields), page.fields.values(), strict=True)
        return
    adds_missing = is_newest or not facts_of(row).get("complete")
    for name, value in page.fields.items():
        stored = row.get(column := nodes.field_column(name))
        is_same = stored is not None and stored.value == value
        if is_newest and not is_same:
            plan.changed.append(name)
        if (stored is None and adds_missing) or (is_newest and not (is_same and alone)):
            plan.cells[column] = value
    if is_newest:
        plan.changed += sorted(plan.gone)


def fill_next_fetch(
    plan: PageWritePlan, settings: RefreshSettings, trust: HostTrust | None = None
) -> NextFetch | None:
    """
    Fill in when to fetch again. Returns None if the caller decided it (`due_at_ms`).

    `trust` says how reliably the page's host reports changes.
    """
    seen = plan.page.seen
    if seen is None:
        plan.due_at_ms = plan.page.due_at_ms
        return None
    next_fetch = plan_next(
        plan.row, plan.page, seen, plan.changed, settings, canonical=plan.canonical, trust=trust
    )
    plan.cells[nodes.REFRESH] = next_fetch.cell
    plan.evidence = next_fetch.evidence
    if next_fetch.mark is not None:
        plan.cells[nodes.SIGNAL] = next_fetch.mark
    plan.due_at_ms = next_fetch.due_at_ms
    return next_fetch


def fill_histories(plan: PageWritePlan, names: Sequence[str], length: int) -> None:
    """Fill in the fields' histories, with at most `length` values each."""
    for name in names:
        value = plan.page.fields.get(name)
        if value is None and name not in plan.gone:
            continue
        history = nodes.history_cell(plan.row, name)
        if name in plan.gone and history:
            plan.cells[nodes.history_column(name)] = history.value
        if value is None:
            continue
        updated = nodes.history_with(history, value, plan.page.fetched_at_ms, length)
        if updated is not None:
            column = nodes.history_column(name)
            plan.cells[column] = updated
            plan.row = {**plan.row, column: Cell(updated, plan.page.fetched_at_ms)}
