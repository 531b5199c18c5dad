"""The services that the API uses in addition to the store; a missing one answers 501."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aragog.api.batch_progress import Batches
from aragog.api.fetching import Fetching
from aragog.api.hedging import ReadStore
from aragog.api.jobs import Jobs
from aragog.api.operation import Enqueue, TakedownsChanged
from aragog.api.page_texts import PageTexts

Explain = Callable[[str], dict[str, Any]]
"""Explains a URL: `sections` with `title`, `problem` and `lines` of `name`, `text` and `note`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of one server."""

    enqueue: Enqueue | None = None
    fetching: Fetching | None = None
    """For `POST /v1/fetch`, and reads with `max_age` or `max_wait_ms`."""
    batches: Batches | None = None
    """For batch ids of enqueued URLs; without it there are none."""
    jobs: Jobs | None = None
    """For the queues of workers in other programs."""
    texts: PageTexts = field(default_factory=PageTexts)
    """Finds the main texts of pages."""
    explain: Explain | None = None
    """Explains a URL on the look-up page; without it the page shows what is stored."""
    takedowns_changed: TakedownsChanged | None = None
    """Tells the rest of the system of takedowns; without it only the store knows them."""
    read: ReadStore | None = None
    """Makes reads of the store and its standby; without it there is no standby."""
    embedded: bool = True
    """The store answers without waiting for a network."""
    metrics: Callable[[], bytes] = bytes
    """Returns the text of /metrics."""
