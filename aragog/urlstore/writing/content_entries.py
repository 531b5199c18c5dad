"""Changes to a page's entries in the same-content index. No I/O."""

from __future__ import annotations

from aragog.urlstore import nodes
from aragog.urlstore.same_content import entry_name, entry_put, original_put, stored_entries
from aragog.urlstore.writing.page_plan import PageWritePlan
from zengraph.records import Mutation


def put(plan: PageWritePlan) -> list[Mutation]:
    """Return the mutations that add a page's new entries."""
    target, likeness = plan.target, plan.target.page.likeness
    if nodes.LIKENESS not in plan.cells or target.stale:
        return []
    puts: list[Mutation] = []
    if likeness != nodes.stored_likeness(target.row):
        puts += entry_put(target.canonical, likeness, target.at_ms)
    packed = target.page.content.packed if target.page.content else None
    if packed and plan.cells.get(nodes.CONTENT_PACK) == packed.pointer.cell():
        puts += original_put(target.canonical, likeness, target.at_ms)
    return puts


def outdated(plan: PageWritePlan) -> list[tuple[bytes, int]]:
    """Return the previous body's entries, each with the timestamp for its deletion."""
    target = plan.target
    if nodes.LIKENESS not in plan.cells or target.stale:
        return []
    if entry_name(target.canonical, target.page.likeness) == entry_name(
        target.canonical, nodes.stored_likeness(target.row)
    ):
        return []
    return stored_entries(target.canonical, target.row)
