"""A page's rows: entries in the host index, nodes, and due time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from aragog.urlstore import nodes, record_reader
from aragog.urlstore.due_index import due_cell
from aragog.urlstore.hosts import host_put, is_in_sample, sample_put, sender_put
from aragog.urlstore.writing import page_plan, plan_cells
from aragog.urlstore.writing.page_plan import PageTarget, PageWritePlan
from zengraph import MultiGraph
from zengraph.records import Mutation, Row, put_properties


def index_rows(zen: MultiGraph, plan: PageWritePlan, now_ms: int) -> list[Mutation]:
    """Return the page's rows in the host index."""
    target, page = plan.target, plan.target.page
    rows = [host_put(zen, alias, now_ms) for alias in target.aliases]
    if plan.cells and nodes.SENTINEL not in target.row:
        rows.append(host_put(zen, target.canonical, now_ms))
        if is_in_sample(target.canonical):
            rows.append(sample_put(zen, target.canonical, now_ms))
    rows += [
        sender_put(zen, url, page.final_url, page.fetched_at_ms)
        for url in page_plan.urls_to_index(plan)
    ]
    return rows


def node_rows(zen: MultiGraph, plan: PageWritePlan) -> list[Mutation]:
    """Return the page's node, the pointers of its aliases, and the report of the fetched URL."""
    target, page = plan.target, plan.target.page
    at_ms, node_id = page.fetched_at_ms, zen.node_id(target.canonical)
    rows = [
        put_properties(zen.node_id(alias), plan_cells.pointer_cells(target, alias), at_ms)
        for alias in target.aliases
    ]
    if plan.cells:
        rows.append(put_properties(node_id, plan.cells, target.at_ms))
    if plan.late_facts is not None:
        # With the fetch's time, these facts would be older than the later attempt's.
        facts = {nodes.FACTS: plan.late_facts}
        rows.append(put_properties(node_id, facts, target.facts_at_ms + 1))
    if page.report is not None and not target.refused:
        # A page that only becomes an alias stores no response.
        has_content = page.content is not None and not target.copy
        column = nodes.FETCHED if has_content else nodes.FETCH
        report = {column: record_reader.to_cell(page.report), nodes.URL: page.url.encode()}
        if page.confirmation is not None:
            report[nodes.FETCH] = record_reader.to_cell(page.confirmation)
        rows.append(put_properties(zen.node_id(page.url), report, at_ms))
        if has_content and not target.stale and page.url != target.canonical:
            # Keep the response with the content: the fetched URL may have another page later.
            response = {nodes.RESPONSE: record_reader.to_cell(replace(page.report, hops=()))}
            rows.append(put_properties(node_id, response, at_ms))
    return rows


def write_time_row(zen: MultiGraph, plan: PageWritePlan, now_ms: int) -> Mutation:
    """Return the cells that are written with the current time: version and due time."""
    cells = {
        nodes.VERSION: os.urandom(8).hex().encode(),
        nodes.DUE: due_cell(plan.due_at_ms),
    }
    return put_properties(zen.node_id(plan.target.canonical), cells, now_ms)


def outdated_due_ms(plan: PageWritePlan, rows: Mapping[str, Row]) -> int | None:
    """Return the stored due time, or None if it is unchanged."""
    due = nodes.text(rows.get(plan.target.canonical, {}), nodes.DUE) if plan.cells else None
    return int(due) if due and due != str(plan.due_at_ms) else None


def vanished_fields(zen: MultiGraph, target: PageTarget) -> tuple[bytes, list[bytes], int]:
    """Return the page's id, the columns of its removed fields, and when it was fetched."""
    columns = list(map(nodes.field_column, sorted(target.gone)))
    return zen.node_id(target.canonical), columns, target.page.fetched_at_ms
