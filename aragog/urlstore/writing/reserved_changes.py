"""The entry of the change feed for a page that its site no longer allows for a use. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from aragog.pages.preferences import PURPOSES
from aragog.urlstore import nodes
from aragog.urlstore.feed import Change
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.records import use_of
from aragog.urlstore.writing.page_plan import PageWritePlan


def is_newly_reserved(plan: PageWritePlan) -> bool:
    """Whether the page was stored, and is not allowed for a use that was not refused before."""
    before, cell = facts_of(plan.row), plan.cells.get(nodes.FACTS)
    if cell is None or not before.get("fetched_at_ms"):
        return False
    now = orjson.loads(cell)
    return any(
        use_of(now, purpose)[0] is False and use_of(before, purpose)[0] is not False
        for purpose in PURPOSES
    )


def reserved_change(plan: PageWritePlan, owners: Sequence[str]) -> Change:
    """The entry."""
    return Change(plan.canonical, plan.page.fetched_at_ms, "reserved", owners=tuple(owners))
