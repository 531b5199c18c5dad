"""
Works around a damaged file of the embedded store, by postponing the URLs whose rows are in it.

These URLs are retried every ten minutes until `aragog store repair` has replaced the file. The
retries do not count as attempts, and nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.returning_jobs import Delayed, restart
from aragog.errors import StoreDamaged

WAIT_MS = 600_000

T = TypeVar("T")


class DamageableStore(Protocol):
    """A store that may have damaged files: `UrlStore`."""

    def serves(self, url: str) -> bool:
        """Return False if the URL's rows are in a damaged file."""


def isolate(items: Sequence[T], run: Callable[[Sequence[T]], object]) -> list[T]:
    """
    Call `run` with all items, or with ever smaller parts if it finds a damaged file.

    Returns the items that fail even alone. `run` must be safe to repeat.
    """
    if not items:
        return []
    try:
        run(items)
    except StoreDamaged:
        if len(items) == 1:
            return list(items)
        half = len(items) // 2
        return isolate(items[:half], run) + isolate(items[half:], run)
    return []


def split(jobs: Sequence[UrlJob], store: DamageableStore) -> tuple[list[UrlJob], list[UrlJob]]:
    """Return the jobs whose pages can be written, and the jobs that must wait for a repair."""
    damaged_urls = {job.url for job in jobs if not store.serves(job.url)}
    return (
        [job for job in jobs if job.url not in damaged_urls],
        [job for job in jobs if job.url in damaged_urls],
    )


def postpone(jobs: Iterable[UrlJob], *, fetched: bool = False) -> list[Delayed]:
    """Return the jobs with their delay. If `fetched`, they start again from their first URL."""
    if fetched:
        return [(replace(restart(job), refresh=True), WAIT_MS) for job in jobs]
    return [(replace(job, slot_at_ms=None), WAIT_MS) for job in jobs]
