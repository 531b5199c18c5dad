"""The cells that a fetch writes: facts, fields, histories, and pointers of aliases. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from aragog.urlstore import nodes
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.records import PageWrite
from aragog.urlstore.writing.agreement import is_failed_fetch
from aragog.urlstore.writing.page_facts import facts_after, merge_attempt
from aragog.urlstore.writing.page_plan import PageTarget, joins_crawl


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


def pointer_cells(target: PageTarget, alias: str) -> dict[bytes, bytes]:
    """Return the cells that make `alias` point to the target's canonical URL."""
    page = target.page
    cells = {
        nodes.URL: alias.encode(),
        nodes.CANONICAL: target.canonical.encode(),
        nodes.PROVISIONAL: b"1" if target.provisional else b"",
        nodes.REASONS: orjson.dumps(target.reasons),
    }
    if alias in (page.url, page.final_url, *page.also):
        cells[nodes.OWN] = own_cell(page, alias, target.canonical)
    return cells


def provenance_cell(target: PageTarget) -> bytes:
    """Return where the pipeline found each field, in this or an earlier fetch."""
    old = facts_of(target.row, nodes.PROVENANCE)
    values = {
        name: source
        for name, source in old.items()
        if name not in target.missing or name in target.gone
    }
    return orjson.dumps({**values, **target.page.provenance})


def page_cells(target: PageTarget) -> dict[bytes, bytes]:
    """Return the cells with the facts about the page, its identity and its crawl."""
    page, canonical, failed = target.page, target.canonical, is_failed_fetch(target.page)
    facts = facts_after(page, target.row, complete=target.complete)
    cells = {
        nodes.URL: canonical.encode(),
        nodes.SENTINEL: nodes.sentinel_value(facts),
        nodes.FACTS: orjson.dumps(facts),
    }
    if canonical in (page.url, page.final_url):
        if not failed:
            # The URL led to no other page, so it is now its own canonical URL.
            cells[nodes.CANONICAL] = canonical.encode()
        if page.gone or not failed:
            cells[nodes.OWN] = own_cell(page, canonical, canonical)
    if not failed:
        cells |= _identity_cells(target)
    if joins_crawl(target):
        cells[nodes.IN_CRAWL + page.crawl.encode()] = nodes.PRESENT
    return cells


def _identity_cells(target: PageTarget) -> dict[bytes, bytes]:
    """Return the likeness, and why the URL is its own canonical URL."""
    cells = {}
    likeness = nodes.likeness_cell(target.page.likeness)
    if not target.stale and (likeness or nodes.LIKENESS in target.row):
        cells[nodes.LIKENESS] = likeness
    is_own = target.canonical in (target.page.url, target.page.final_url)
    if is_own and (target.judgment.why or nodes.REASONS in target.row):
        cells[nodes.REASONS] = orjson.dumps(target.reasons)
    return cells


def late_facts(target: PageTarget, facts: bytes) -> bytes | None:
    """Return the facts to write if a later failed attempt is already stored, or None."""
    if not target.row or target.stale or is_failed_fetch(target.page):
        return None
    if target.facts_at_ms <= target.at_ms:
        return None
    return orjson.dumps(merge_attempt(orjson.loads(facts), facts_of(target.row)))


class FieldChanges(NamedTuple):
    """The result of comparing a page's fields with those that are stored."""

    cells: dict[bytes, bytes]
    """The fields to write, and where the pipeline found them."""
    changed: list[str]
    """Fields whose values differ from the stored values."""


def field_changes(target: PageTarget) -> FieldChanges:
    """
    Compare the fields with the stored ones.

    An older fetch adds only missing fields, and none if a newer fetch reported all of them. If a
    page was fetched through another URL, all fields are written: if that URL turns out not to be an
    alias, the timestamps show which fields it provided.
    """
    page, row = target.page, target.row
    if not row:  # a new page
        cells = dict(zip(map(nodes.field_column, page.fields), page.fields.values(), strict=True))
        changed = list(page.fields)
    else:
        cells, changed = _compare_fields(target)
    if page.provenance:
        cell, stored = provenance_cell(target), row.get(nodes.PROVENANCE)
        if stored is None or stored.value != cell or not target.alone:
            cells[nodes.PROVENANCE] = cell
    return FieldChanges(cells, changed)


def _compare_fields(target: PageTarget) -> tuple[dict[bytes, bytes], list[str]]:
    row, is_newest, alone = target.row, not target.stale, target.alone
    adds_missing = is_newest or not facts_of(row).get("complete")
    cells: dict[bytes, bytes] = {}
    changed: list[str] = []
    for name, value in target.page.fields.items():
        stored = row.get(column := nodes.field_column(name))
        is_same = stored is not None and stored.value == value
        if is_newest and not is_same:
            changed.append(name)
        if (stored is None and adds_missing) or (is_newest and not (is_same and alone)):
            cells[column] = value
    if is_newest:
        changed += sorted(target.gone)
    return cells, changed


def history_cells(target: PageTarget, names: Sequence[str], length: int) -> dict[bytes, bytes]:
    """Return the fields' histories that change, with at most `length` values each."""
    cells = {}
    for name in names:
        value = target.page.fields.get(name)
        if value is None and name not in target.gone:
            continue
        history = nodes.history_cell(target.row, name)
        if value is not None:
            updated = nodes.history_with(history, value, target.page.fetched_at_ms, length)
        else:
            updated = history and history.value
        if updated is not None:
            cells[nodes.history_column(name)] = updated
    return cells
