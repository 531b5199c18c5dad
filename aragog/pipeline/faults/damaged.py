"""
Working around a damaged file of the embedded store: its URLs are postponed, all others go on.

A URL whose rows lie in such a file comes back every ten minutes, at no cost in attempts and
without being fetched, until `aragog store repair` has replaced the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from aragog.errors import StoreDamaged
from aragog.pipeline.messages import UrlJob
from aragog.pipeline.rescheduling import Delayed, from_the_start

WAIT_MS = 600_000

T = TypeVar("T")


class Shards(Protocol):
    """A store that may have damaged files (`UrlStore`)."""

    def serves(self, url: str) -> bool:
        """False: the rows of the URL lie in a damaged file."""


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


def split(jobs: Sequence[UrlJob], store: Shards) -> tuple[list[UrlJob], list[UrlJob]]:
    """The jobs whose pages can be written, and those that must wait for a repair."""
    stuck = {job.url for job in jobs if not store.serves(job.url)}
    return (
        [job for job in jobs if job.url not in stuck],
        [job for job in jobs if job.url in stuck],
    )


def postponed(jobs: Iterable[UrlJob], *, fetched: bool = False) -> list[Delayed]:
    """The jobs with their wait; a `fetched` one comes back from its first URL on."""
    if fetched:
        return [(replace(from_the_start(job), refresh=True), WAIT_MS) for job in jobs]
    return [(replace(job, slot_at_ms=None), WAIT_MS) for job in jobs]
