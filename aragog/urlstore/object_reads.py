"""
Read the body that a node points to, while writers replace both.

A writer puts an object first and the node after it, so a reader may find a newer object than its
node says. The two agree again within milliseconds, or when a stopped server answers, or when the
job of a killed writer runs again. A record of a pack is never replaced, but upkeep may have moved
it since the node was read; then the node names a different one. Damage does not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from aragog.errors import ContentReplaced, CorruptContent
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Bodies, ReplacedObject
from zengraph.records import Row

PAUSES_S = (0.0, 0.01, 0.03, 0.1, 0.3)
"""Before each further reading of node and object; most replacements take less than their sum."""
PUT_AT = "put_at_ms"
"""The key of an object's meta that has the time of its pointer, unless a fetch brought it."""


class ObjectRead(NamedTuple):
    """An object, and the node that points to it."""

    canonical: str
    row: Row
    body: bytes
    """Decompressed."""
    meta: Mapping[str, str]


def read_object(
    bodies: Bodies,
    node: Callable[[], tuple[str, Row] | None],
    sleep_s: Callable[[float], None],
) -> ObjectRead | None:
    """
    The object that the node points to; None if `node` returns none, or one without content.

    Reads both up to six times within half a second, until they agree.

    Args:
        bodies: has them.
        node: reads the canonical URL and its node again with each call.
        sleep_s: waits.

    Raises:
        ContentReplaced: the object is newer than the node; try again later.
        CorruptContent: the object is missing, older than its node, or damaged.
        StoreUnavailable, ContentUnavailable: one of the two does not answer.
    """
    error: Exception | None = None
    for pause_s in (None, *PAUSES_S):
        if pause_s:
            sleep_s(pause_s)
        found = node()
        if found is None:
            return None
        canonical, row = found
        try:
            stored = bodies.get(row)
        except CorruptContent as problem:
            error = _problem(problem, row)
            continue
        if stored is None:
            return None
        return ObjectRead(canonical, row, stored.body, {**stored.meta, "url": canonical})
    assert error is not None  # noqa: S101 - the loop ran
    raise error


def _problem(problem: CorruptContent, row: Row) -> Exception:
    """What is wrong: a newer object is no damage."""
    if not isinstance(problem, ReplacedObject):
        return problem
    pointer = row.get(nodes.CONTENT_HASH)
    put_at_ms = problem.meta.get("fetched_at_ms") or problem.meta.get(PUT_AT) or ""
    if pointer is not None and put_at_ms.isdecimal() and int(put_at_ms) >= pointer.at_ms:
        return ContentReplaced(f"content {problem.key}", "is being replaced; try again")
    return problem
