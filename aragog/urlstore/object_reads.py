"""
Reads the body that a node points to, while writers may be replacing both.

A writer stores an object before the node, so a reader may find an object that is newer than its
node. The two match again after milliseconds, or later if the writer was killed and its job runs
again. A record in a pack is never replaced, but `pack_upkeep` may have moved it since the node was
read. If reading both again does not help, the content is damaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from aragog.errors import ContentReplaced, CorruptContent
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies, ReplacedObject
from zengraph.records import Row

RETRY_DELAYS_S = (0.0, 0.01, 0.03, 0.1, 0.3)
"""Delays (s) before reading again. Their sum is enough for most replacements."""
PUT_AT = "put_at_ms"
"""The key in meta for the time when the content was stored. Fetched content does not have it."""


class ObjectRead(NamedTuple):
    """An object's body and meta, with the node that points to it."""

    canonical: str
    row: Row
    body: bytes
    meta: Mapping[str, str]


def read_object(
    bodies: Bodies,
    read_node: Callable[[], tuple[str, Row] | None],
    sleep_s: Callable[[float], None],
) -> ObjectRead | None:
    """
    Return the object that the node points to, or None if there is no node or no content.

    Reads both up to six times in half a second, until they match.

    Args:
        bodies: reads the objects.
        read_node: reads the canonical URL and its node.
        sleep_s: sleeps for a number of seconds.

    Raises:
        ContentReplaced: the object is newer than the node; try again later.
        CorruptContent: the object is missing, older than its node, or damaged.
        StoreUnavailable: the tables do not respond.
        ContentUnavailable: the content store does not respond.
    """
    error: Exception | None = None
    for pause_s in (None, *RETRY_DELAYS_S):
        if pause_s:
            sleep_s(pause_s)
        node_read = read_node()
        if node_read is None:
            return None
        canonical, row = node_read
        try:
            stored = bodies.get(row)
        except CorruptContent as problem:
            error = _explain_mismatch(problem, row)
            continue
        if stored is None:
            return None
        return ObjectRead(canonical, row, stored.body, {**stored.meta, "url": canonical})
    assert error is not None  # noqa: S101 - the loop ran
    raise error


def _explain_mismatch(problem: CorruptContent, row: Row) -> Exception:
    """Return ContentReplaced if the object is newer than the node."""
    if not isinstance(problem, ReplacedObject):
        return problem
    pointer = row.get(nodes.CONTENT_HASH)
    put_at_ms = problem.meta.get("fetched_at_ms") or problem.meta.get(PUT_AT) or ""
    if pointer is not None and put_at_ms.isdecimal() and int(put_at_ms) >= pointer.at_ms:
        return ContentReplaced(f"content {problem.key}", "is being replaced; try again")
    return problem
