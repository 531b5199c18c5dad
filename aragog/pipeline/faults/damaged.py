"""
Working around a damaged file of the embedded store: its URLs are postponed, all others go on.

A URL whose rows lie in such a file comes back every ten minutes, at no cost in attempts and
without being fetched, until `aragog store repair` has replaced the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from aragog.errors import StoreDamaged
from aragog.pipeline.messages import UrlJob
from aragog.pipeline.rescheduling import in_time
from aragog.pipeline.routing import OutgoingMessage
from aragog.pipeline.services import Services

WAIT_MS = 600_000

T = TypeVar("T")


def apart(items: Sequence[T], run: Callable[[Sequence[T]], object]) -> list[T]:
    """
    Run `run` on all items, or, where that meets a damaged file, on ever smaller parts of them.

    Returns those that cannot be done even alone. `run` must be safe to repeat.
    """
    if not items:
        return []
    try:
        run(items)
    except StoreDamaged:
        if len(items) == 1:
            return list(items)
        half = len(items) // 2
        return apart(items[:half], run) + apart(items[half:], run)
    return []


def split(jobs: Sequence[UrlJob], services: Services) -> tuple[list[UrlJob], list[UrlJob]]:
    """The jobs whose pages can be written, and those that must wait for a repair."""
    stuck = {job.url for job in jobs if not services.store.serves(job.url)}
    return (
        [job for job in jobs if job.url not in stuck],
        [job for job in jobs if job.url in stuck],
    )


def postponed(jobs: Iterable[UrlJob], *, fetched: bool = False) -> list[tuple[UrlJob, int]]:
    """Each job and how long (ms) it waits; a `fetched` one comes back from its first URL on."""
    back = (replace(job, slot_at_ms=None) for job in jobs)
    if fetched:
        back = (replace(job, target=None, hops=(), refresh=True) for job in back)
    return [(job, WAIT_MS) for job in back]


def messages(later: Iterable[tuple[UrlJob, int]], services: Services) -> list[OutgoingMessage]:
    """The messages of postponed jobs."""
    size = services.settings.pipeline.batch_size
    return in_time(later, batch_size=size, span_ms=1)
