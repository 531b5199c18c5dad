"""
How fresh what is served is: the age of fields by type, and what was refreshed in time.

Asked of a sample: keys are hashes, so the pages behind a few random keys stand for all of them.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import alias_of, facts_of, text
from aragog.urlstore.schedule.next_fetch import state_of
from aragog.urlstore.schedule.refresh_policy import RefreshState
from aragog.zen.codec import ID_BYTES
from aragog.zen.graph import Zen
from aragog.zen.properties import Row

SAMPLE = 1000
"""Rows looked at: a share of a half is told to within 3 %. About 15 ms on SQLite."""
SPOTS = 16
# A refresh is late when it is later than this share of its interval, or than a minute.
LATE_SHARE = 0.1
_LEAST_MS = 60_000
_COLUMNS = (
    nodes.SENTINEL, nodes.URL, nodes.CANONICAL, nodes.FACTS, nodes.DUE, nodes.REFRESH,
    nodes.CONTENT_KEY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Freshness:
    """Of the pages of one type in the sample."""

    pages: int
    age_p50_s: float
    """Since the page was last seen to be so, by a fetch or a 304."""
    age_p95_s: float
    on_time: float
    """The share of those refreshed at all whose refresh is not overdue; 1.0 where none is."""


def freshness(zen: Zen, now_ms: int, sample: int = SAMPLE) -> dict[str, Freshness]:
    """By type; of a store that holds fewer rows than the sample it is exact."""
    ages: dict[str, list[float]] = defaultdict(list)
    late: dict[str, list[bool]] = defaultdict(list)
    for row in _sampled(zen, sample):
        facts = facts_of(row)
        url = text(row, nodes.URL)
        if nodes.SENTINEL not in row or not facts.get("fetched_at_ms"):
            continue
        if url is None or alias_of(row, url):
            continue
        of = str(facts.get("page_type") or "page")
        ages[of].append(max(0, now_ms - page_seen_at_ms(row)) / 1000)
        due = text(row, nodes.DUE)
        if due:
            late[of].append(_is_late(int(due), state_of(row), now_ms))
    return {of: _summed(sorted(ages[of]), late[of]) for of in sorted(ages)}


def page_seen_at_ms(row: Row) -> int:
    """When the page in a node was last seen to be so, by a fetch or a 304; 0: never."""
    state = state_of(row)
    return max(int(facts_of(row).get("fetched_at_ms") or 0), state.compared_at_ms if state else 0)


def _is_late(due_at_ms: int, state: RefreshState | None, now_ms: int) -> bool:
    """By what its interval had planned: one whose domain has no time for it was put off since."""
    if state is None:
        return now_ms > due_at_ms + _LEAST_MS
    planned_ms = min(due_at_ms, state.due_at_ms or due_at_ms)
    return now_ms > planned_ms + max(_LEAST_MS, state.interval_s * 1000 * LATE_SHARE)


def _summed(ages: list[float], late: list[bool]) -> Freshness:
    on_time = 1 - sum(late) / len(late) if late else 1.0
    return Freshness(len(ages), ages[len(ages) // 2], ages[int(len(ages) * 0.95)], on_time)


def _sampled(zen: Zen, sample: int) -> Iterator[Row]:
    """Rows from random keys on, none twice; all of them where there are few."""
    share = -(-sample // SPOTS)
    starts = [random.randbytes(ID_BYTES) for _ in range(SPOTS)]
    seen: set[bytes] = set()
    for start in [b"", *starts]:
        with closing(zen.nodes.scan(start, names=_COLUMNS, limit=share)) as rows:
            found = list(rows)
        if start == b"" and len(found) < share:
            yield from (row for _, row in found)
            return
        if start == b"":
            continue
        for key, row in found:
            if key not in seen:
                seen.add(key)
                yield row
