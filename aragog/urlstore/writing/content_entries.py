"""Changes to a page's entries in the same-content index. No I/O."""

from __future__ import annotations

from aragog.urlstore import nodes
from aragog.urlstore.same_content import entry_name, entry_put, original_put, stored_entries
from aragog.urlstore.writing.page_plan import PageWritePlan
from zengraph.records import Mutation


def put(plan: PageWritePlan) -> list[Mutation]:
    """Return the mutations that add a page's new entries."""
    likeness = plan.page.likeness
    if nodes.LIKENESS not in plan.cells or plan.stale:
        return []
    puts: list[Mutation] = []
    if likeness != nodes.stored_likeness(plan.row):
        puts += entry_put(plan.canonical, likeness, plan.at_ms)
    packed = plan.page.content.packed if plan.page.content else None
    if packed and plan.cells.get(nodes.CONTENT_PACK) == packed.pointer.cell():
        puts += original_put(plan.canonical, likeness, plan.at_ms)
    return puts


def outdated(plan: PageWritePlan) -> list[tuple[bytes, int]]:
    """Return the previous body's entries, each with the timestamp for its deletion."""
    if nodes.LIKENESS not in plan.cells or plan.stale:
        return []
    if entry_name(plan.canonical, plan.page.likeness) == entry_name(
        plan.canonical, nodes.stored_likeness(plan.row)
    ):
        return []
    return stored_entries(plan.canonical, plan.row)
