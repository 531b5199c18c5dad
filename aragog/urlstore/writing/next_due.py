"""Computes when to fetch a page next. No I/O."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypedDict

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore import nodes
from aragog.urlstore import signal_marks as marks
from aragog.urlstore.records import PageWrite
from aragog.urlstore.refresh_policy import RefreshState, Seen, decide
from aragog.urlstore.signal_marks import PageMark
from aragog.urlstore.signal_trust import Evidence, HostTrust
from urlspelling import url_key
from zengraph.records import Row

STATE_VERSION = 1
WATCHED, UNWATCHED = b"1", b"0"


class NextFetch(NamedTuple):
    """A page's schedule after a fetch."""

    cell: bytes
    """The refresh state to store."""
    due_at_ms: int | None
    """When to fetch again; None if never, or if the page is not wanted."""
    first: bool
    """True if there was no earlier fetch to compare this one with."""
    given_up: bool
    """True if this fetch made the store give up on the page."""
    evidence: Evidence | None = None
    """Evidence about how reliably the page's host reports changes, or None."""
    mark: bytes | None = None
    """The new cell with the page's mark (`signal_marks`), if the page changed and no file had
    reported this. None keeps the stored cell."""

    @property
    def cells(self) -> dict[bytes, bytes]:
        """The cells to write to the page's node."""
        cells = {nodes.REFRESH: self.cell}
        return cells if self.mark is None else {**cells, nodes.SIGNAL: self.mark}


def read_state(row: Row) -> RefreshState | None:
    """Return the stored refresh state, or None if it is absent or its version is unknown."""
    cell = row.get(nodes.REFRESH)
    if cell is None or not cell.value:
        return None
    version, *values = orjson.loads(cell.value)
    is_current = version == STATE_VERSION and len(values) == len(RefreshState._fields)
    return RefreshState(*values) if is_current else None


def read_mark(row: Row) -> PageMark | None:
    """Return what sitemaps and feeds have reported about the page, or None."""
    cell = row.get(nodes.SIGNAL)
    return marks.from_cell(cell.value if cell else None)


def state_cell(state: RefreshState) -> bytes:
    """Encode a refresh state for the node."""
    return orjson.dumps((STATE_VERSION, *state))


def is_wanted(row: Row, settings: RefreshSettings) -> bool:
    """Return True if the page is watched, or was never watched and `refresh.unwatched` is set."""
    cell = row.get(nodes.WATCHED)
    return settings.unwatched if cell is None or not cell.value else cell.value == WATCHED


def plan_next(
    row: Row,
    page: PageWrite,
    seen: Seen,
    changed: Iterable[str],
    settings: RefreshSettings,
    *,
    canonical: str,
    trust: HostTrust | None = None,
) -> NextFetch:
    """
    Return the page's next fetch. `row` is its node; `trust` says how reliably its host reports
    changes, and is None if that is unknown.
    """
    before = read_state(row)
    if seen.source and before and nodes.content_cell(row):
        # The URL is also a page, such as a feed that a user enqueued.
        due = nodes.text(row, nodes.DUE)
        return NextFetch(state_cell(before), int(due) if due else None, first=False, given_up=False)
    mark = read_mark(row) if settings.signals and not seen.source else None
    compared_ms = before.compared_at_ms if before else 0
    is_reported = mark is not None and compared_ms < mark.read_at_ms <= seen.fetched_at_ms
    state, due_at_ms = decide(
        before,
        seen,
        changed,
        page.fields,
        settings,
        spread=_spread(url_key(canonical), seen.fetched_at_ms),
        is_reported=is_reported,
        stretch=_interval_factor(before, mark, trust, seen.fetched_at_ms),
    )
    if mark and due_at_ms and _is_reported_again(mark, state, seen, settings):
        due_at_ms = min(due_at_ms, seen.fetched_at_ms + int(settings.min_interval_s * 1000))
    wanted_ms = due_at_ms if seen.source or is_wanted(row, settings) else None
    facts = nodes.facts_of(row) if page.links is None else page.facts
    expires_ms = facts.get("unavailable_after_ms")
    if isinstance(expires_ms, int) and expires_ms > seen.fetched_at_ms:
        wanted_ms = min(wanted_ms or expires_ms, expires_ms)
    return NextFetch(
        state_cell(state),
        wanted_ms,
        first=before is None or not before.compared_at_ms,
        given_up=due_at_ms is None and before is not None and before.due_at_ms is not None,
        **_signal_evidence(before, state, mark, is_reported=is_reported),
    )


class _SignalEvidence(TypedDict, total=False):
    evidence: Evidence
    mark: bytes


def _signal_evidence(
    before: RefreshState | None, after: RefreshState, mark: PageMark | None, *, is_reported: bool
) -> _SignalEvidence:
    """Return evidence about the host's reports; empty if there was no earlier page to compare."""
    if mark is None or before is None or not before.compared_at_ms:
        return {}
    elapsed_s = (after.compared_at_ms - before.compared_at_ms) / 1000
    if elapsed_s <= 0:
        return {}
    changed = min(after.changes - before.changes, 1.0)
    expected = marks.expected_change(before.rate_per_s, elapsed_s)
    evidence: _SignalEvidence = {"evidence": Evidence(changed, is_reported, mark.covered, expected)}
    if changed and mark.covered and not is_reported:
        evidence["mark"] = marks.to_cell(mark._replace(covered=False))
    return evidence


def _interval_factor(
    before: RefreshState | None, mark: PageMark | None, trust: HostTrust | None, at_ms: int
) -> float:
    """Return the factor for the interval, above 1 if the host reports changes reliably."""
    if mark is None or not mark.covered or trust is None or before is None:
        return 1.0
    is_recent = at_ms - trust.read_at_ms <= before.interval_s * 1000
    return trust.stretch if is_recent else 1.0


def _is_reported_again(
    mark: PageMark, state: RefreshState, seen: Seen, settings: RefreshSettings
) -> bool:
    """
    Return True if a reported change makes another fetch worthwhile.

    Only a file that was read after this fetch counts.
    """
    is_later = mark.read_at_ms > seen.fetched_at_ms
    is_worthwhile = marks.is_worth_a_fetch(state.rate_per_s, state.usual_s, mark.belief, settings)
    return is_later and is_worthwhile


def replacement_cells(
    row: Row, fields: Mapping[str, bytes], before: Mapping[str, object], at_ms: int
) -> tuple[dict[bytes, bytes], frozenset[str], set[str]]:
    """
    Compare the fields that a page had at `at_ms` with its node.

    Returns the cells to write, the field names to delete, and the names of changed fields. `before`
    contains the fields that earlier fetches found.
    """
    vanished = vanished_fields(row, fields, before, at_ms)
    cells: dict[bytes, bytes] = {}
    changed: set[str] = set()
    for name, value in fields.items():
        stored = row.get(column := nodes.field_column(name))
        if stored is None or (stored.value != value and stored.at_ms <= at_ms):
            cells[column] = value
            changed.add(name)
    return cells, vanished, changed


def vanished_fields(
    row: Row, fields: Container[str], before: Iterable[str], at_ms: int
) -> frozenset[str]:
    """Return the fields in `before` that the page no longer had at `at_ms`."""
    return frozenset(
        name
        for name in before
        if name not in fields
        and (stored := row.get(nodes.field_column(name))) is not None
        and stored.at_ms <= at_ms
        and nodes.provenance_column(name) not in row
    )


def _spread(key: bytes, at_ms: int) -> float:
    """Return a deterministic number from 0 to 1, evenly distributed."""
    hashed = (int.from_bytes(key[8:12]) ^ at_ms * 2_654_435_761) & 0xFFFF_FFFF
    return hashed / 2**32
