"""
Begins and writes batches together if they become ready at the same time.

Batches with bodies in one pack become ready when it is stored. Writing 200 pages at once takes
three quarters of the CPU of eight batches of 25, and writing 400 saves another 6%. Writing a page
twice has the same result.

Acknowledging their messages makes as many new batches arrive at once. Reading the stored nodes of
eight batches together saves 10% of the total CPU per page.
"""

from __future__ import annotations

from aragog.crawl.stages.groups import Groups, WaitingBatch
from aragog.urlstore.records import PageWrite, Written

MAX_PAGES = 400
"""The maximum number of pages written together, unless a single batch has more."""
MAX_BEGUN = 8
"""The maximum number of batches begun together: about 200 pages, whose bodies are in memory."""

WaitingWrite = WaitingBatch[PageWrite, Written]
"""The pages of a batch waiting to be written."""


class WriteGroups(Groups[PageWrite, Written]):
    """One process's batches waiting to be written."""

    def __init__(self) -> None:
        super().__init__(MAX_PAGES)
