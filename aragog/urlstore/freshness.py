"""
Freshness statistics: the age of stored pages, by type, and the fraction that is refreshed on time.

They are computed from a sample. The sample index has one page in eight, by the hash of its URL; the
pages after a random hash are read. If node keys are such hashes (`Tables.format`), the pages after
a few random keys are read instead.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from aragog.urlstore import nodes
from aragog.urlstore.hosts import SAMPLE as SAMPLE_KEYS
from aragog.urlstore.hosts import SAMPLED_OF
from aragog.urlstore.nodes import alias_of, facts_of, text
from aragog.urlstore.refresh_policy import RefreshState
from aragog.urlstore.writing.next_due import read_state
from zengraph import MultiGraph
from zengraph.records import ID_BYTES, Row

SAMPLE = 1000
"""Number of sampled rows. Reading them takes about 15 ms on SQLite. Fractions near one half are
accurate to within 3%."""
_SCAN_COUNT = 16
# A refresh is late if it is overdue by more than this fraction of its interval, and by more than a
# minute.
LATE_SHARE = 0.1
_MIN_LATE_MS = 60_000
_COLUMNS = (
    nodes.SENTINEL, nodes.URL, nodes.CANONICAL, nodes.FACTS, nodes.DUE, nodes.REFRESH,
    *nodes.POINTERS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Freshness:
    """The statistics for the sampled pages of one type."""

    pages: int
    age_p50_s: float
    """The median time since a fetch or a 304 last confirmed a page."""
    age_p95_s: float
    on_time: float
    """The fraction of scheduled pages that are not overdue; 1.0 if no page is scheduled."""


def freshness(zen: MultiGraph, now_ms: int, sample: int = SAMPLE) -> dict[str, Freshness]:
    """Return the freshness by page type; exact for a small store."""
    ages: dict[str, list[float]] = defaultdict(list)
    lateness: dict[str, list[bool]] = defaultdict(list)
    for row in _sample_rows(zen, sample):
        facts = facts_of(row)
        url = text(row, nodes.URL)
        if nodes.SENTINEL not in row or not facts.get("fetched_at_ms"):
            continue
        if url is None or alias_of(row, url):
            continue
        page_type = str(facts.get("page_type") or "page")
        ages[page_type].append(max(0, now_ms - page_seen_at_ms(row)) / 1000)
        due = text(row, nodes.DUE)
        if due:
            lateness[page_type].append(_is_late(int(due), read_state(row), now_ms))
    return {
        page_type: _summarize(sorted(ages[page_type]), lateness[page_type])
        for page_type in sorted(ages)
    }


def page_seen_at_ms(row: Row) -> int:
    """Return when a fetch or a 304 last confirmed the page in a node; 0 if never."""
    state = read_state(row)
    return max(int(facts_of(row).get("fetched_at_ms") or 0), state.compared_at_ms if state else 0)


def _is_late(due_at_ms: int, state: RefreshState | None, now_ms: int) -> bool:
    """Return True for an overdue page, and for a postponed one whose planned interval is over."""
    if state is None:
        return now_ms > due_at_ms + _MIN_LATE_MS
    planned_ms = min(due_at_ms, state.due_at_ms or due_at_ms)
    return now_ms > planned_ms + max(_MIN_LATE_MS, state.interval_s * 1000 * LATE_SHARE)


def _summarize(ages: list[float], late: list[bool]) -> Freshness:
    on_time = 1 - sum(late) / len(late) if late else 1.0
    return Freshness(len(ages), ages[len(ages) // 2], ages[int(len(ages) * 0.95)], on_time)


def _sample_rows(zen: MultiGraph, sample: int) -> Iterator[Row]:
    """
    Yield a sample of page nodes without duplicates, or all nodes of a small store.

    If nodes are grouped by host, a store with fewer than eight times `sample` pages is small.
    """
    if not zen.naming.together:
        yield from _after_random_keys(zen, sample)
        return
    ids = zen.by_order.sample(SAMPLE_KEYS, random.randbytes(ID_BYTES), sample)
    if len(ids) >= sample:
        yield from zen.nodes.get_many(ids, _COLUMNS).values()
        return
    with closing(zen.nodes.scan(b"", names=_COLUMNS, limit=SAMPLED_OF * sample)) as rows:
        yield from (row for _, row in rows)


def _after_random_keys(zen: MultiGraph, sample: int) -> Iterator[Row]:
    """Yield nodes after random keys, or all nodes of a small table."""
    rows_per_scan = -(-sample // _SCAN_COUNT)
    starts = [random.randbytes(ID_BYTES) for _ in range(_SCAN_COUNT)]
    seen_keys: set[bytes] = set()
    for start in [b"", *starts]:
        with closing(zen.nodes.scan(start, names=_COLUMNS, limit=rows_per_scan)) as rows:
            sample_rows = list(rows)
        if start == b"" and len(sample_rows) < rows_per_scan:
            yield from (row for _, row in sample_rows)
            return
        if start == b"":
            continue
        for key, row in sample_rows:
            if key not in seen_keys:
                seen_keys.add(key)
                yield row
