"""Compute the next fetch of a page that is being written, from its node and the fetch. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import orjson

from aragog.settings import RefreshSettings
from aragog.urlstore import nodes
from aragog.urlstore.records import PageWrite
from aragog.urlstore.refresh_policy import RefreshState, Seen, decide
from urlspelling import url_key
from zengraph.records import Row

STATE_VERSION = 1
WATCHED, UNWATCHED = b"1", b"0"


class Next(NamedTuple):
    """The schedule of a page after a fetch."""

    cell: bytes
    """The refresh state, for the node."""
    due_at_ms: int | None
    """When to fetch again; None: never, or it has no watcher."""
    first: bool
    """There was no earlier fetch to compare this one with."""
    given_up: bool
    """Given up by this fetch."""


def state_of(row: Row) -> RefreshState | None:
    """The stored refresh state; None if it is absent, or another version wrote it."""
    cell = row.get(nodes.REFRESH)
    if cell is None or not cell.value:
        return None
    version, *values = orjson.loads(cell.value)
    is_current = version == STATE_VERSION and len(values) == len(RefreshState._fields)
    return RefreshState(*values) if is_current else None


def state_cell(state: RefreshState) -> bytes:
    """The node's cell."""
    return orjson.dumps((STATE_VERSION, *state))


def is_wanted(row: Row, settings: RefreshSettings) -> bool:
    """True if the page has a watcher, or never had one and `refresh.unwatched` is set."""
    cell = row.get(nodes.WATCHED)
    return settings.unwatched if cell is None or not cell.value else cell.value == WATCHED


def planned(
    row: Row,
    page: PageWrite,
    seen: Seen,
    changed: Iterable[str],
    settings: RefreshSettings,
    *,
    canonical: str,
) -> Next:
    """The next fetch of the page at `canonical`, whose node holds `row`."""
    before = state_of(row)
    spread = _spread(url_key(canonical), seen.fetched_at_ms)
    state, due_at_ms = decide(before, seen, changed, page.fields, settings, spread=spread)
    wanted_ms = due_at_ms if is_wanted(row, settings) else None
    facts = nodes.facts_of(row) if page.links is None else page.facts
    expires_ms = facts.get("unavailable_after_ms")
    if isinstance(expires_ms, int) and expires_ms > seen.fetched_at_ms:
        wanted_ms = min(wanted_ms or expires_ms, expires_ms)
    return Next(
        state_cell(state),
        wanted_ms,
        first=before is None or not before.compared_at_ms,
        given_up=due_at_ms is None and before is not None and before.due_at_ms is not None,
    )


def renewed(
    row: Row, fields: Mapping[str, bytes], before: Mapping[str, object], at_ms: int
) -> tuple[dict[bytes, bytes], frozenset[str], set[str]]:
    """
    Update a page's fields as of `at_ms`: cells to write, names to remove, names that changed.

    `before` names the fields that the pipeline found earlier.
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
    """Names from `before` that have disappeared from a page that was read as of `at_ms`."""
    return frozenset(
        name
        for name in before
        if name not in fields
        and (stored := row.get(nodes.field_column(name))) is not None
        and stored.at_ms <= at_ms
        and nodes.from_column(name) not in row
    )


def _spread(key: bytes, at_ms: int) -> float:
    """0 to 1, uniform over pages and over the fetches of a page; the same when repeated."""
    mixed = (int.from_bytes(key[8:12]) ^ at_ms * 2_654_435_761) & 0xFFFF_FFFF
    return mixed / 2**32
