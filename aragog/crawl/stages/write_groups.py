"""
Begins and writes batches together if they become ready at the same time.

Batches whose bodies are in the same pack (a file of many bodies) become ready when the pack is
stored. Writing eight batches of 25 pages together takes a quarter less CPU time than writing each
alone. Writing 400 pages together saves another 6%. Writing a page twice has the same result.

Once the messages of these batches are acknowledged, the process receives as many new batches at
once. Reading the stored nodes of eight batches together saves 10% of the total CPU time per page.
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
