"""
The private parts of Scrapy's engine that aragog uses.

Scrapy does not report when a callback's output has been processed, and a scheduler cannot announce
new requests. The engine's private parts list the requests in progress, and schedule its next call.
They have not changed since Scrapy 1.0, except that `_slot` was called `slot` before 2.14.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler


def in_progress(crawler: Crawler) -> Collection[Request]:
    """Return the requests whose download, callback or item pipelines have not finished."""
    slot = _slot(crawler)
    return slot.inprogress if slot is not None else ()


def current_scheduler(crawler: Crawler) -> Any:
    """Return the scheduler in use, or None until the spider is open."""
    return getattr(_slot(crawler), "scheduler", None)


def wake_engine(crawler: Crawler) -> None:
    """Make the engine ask the scheduler for requests soon. Call this in the event loop's thread."""
    slot = _slot(crawler)
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def _slot(crawler: Crawler) -> Any:
    return getattr(crawler.engine, "_slot", None)
