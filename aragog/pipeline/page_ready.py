"""
Messages to a team's own Celery task for each batch of pages that was stored.

The task `pipeline.page_ready_task` gets one argument:

    {"v": 1, "pages": [{"url": ..., "canonical_url": ..., "page_type": ..., "fetched_at_ms": ...}]}

Delivery is at least once: a store task that runs twice sends twice, and if a worker is killed after
it wrote a page, that page is fetched and reported again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aragog.pipeline.messages import VERSION, UrlJob
from aragog.pipeline.routing import OutgoingMessage, OwnTask, most_urgent
from aragog.urlstore.records import PageWrite


@dataclass(frozen=True, slots=True)
class ReadyPages:
    """The message."""

    pages: tuple[Mapping[str, Any], ...]

    def wire(self) -> dict[str, Any]:
        return {"v": VERSION, "pages": list(self.pages)}


def page_ready(
    task: OwnTask | None, writes: Sequence[PageWrite], jobs: Sequence[UrlJob]
) -> list[OutgoingMessage]:
    """The message about the pages among `writes`; none without a task, or without a page."""
    pages = tuple(_page(write) for write in writes if write.content)
    if task is None or not pages:
        return []
    priority = most_urgent(jobs)
    return [OutgoingMessage(task, ReadyPages(pages), priority=priority, even_when_full=True)]


def _page(write: PageWrite) -> dict[str, Any]:
    return {
        "url": write.url,
        "canonical_url": write.canonical_url,
        "page_type": write.facts.get("page_type"),
        "fetched_at_ms": write.fetched_at_ms,
    }
