"""
What is used of Scrapy's engine beyond its public interface, in one place.

Scrapy reports neither when the output of a callback was processed nor that a scheduler has requests
again. The engine keeps the requests whose processing has not ended, and calls itself again; both
have had this form since Scrapy 1.0, and `_slot` had the name `slot` before 2.14.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler


def in_progress(crawler: Crawler) -> Collection[Request]:
    """The requests whose download, callback or item pipelines have not ended."""
    slot = _slot(crawler)
    return slot.inprogress if slot is not None else ()


def scheduler_of(crawler: Crawler) -> Any:
    """The scheduler in use; None before the spider is open."""
    return getattr(_slot(crawler), "scheduler", None)


def look_again(crawler: Crawler) -> None:
    """Have the engine ask the scheduler soon; only in the thread of the event loop."""
    slot = _slot(crawler)
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()


def _slot(crawler: Crawler) -> Any:
    return getattr(crawler.engine, "_slot", None)
