"""
The UrlStore: metadata, content and links of URLs, by any spelling and through any alias.

Reads and writes go to the URL that stands for the one asked for: it is normalized, its node is
read together with what was asked, and only where that node points at another is there a second
round trip. Nothing here is a transaction: every step may be repeated, and is written so that what
a reader sees in between is old or new, never wrong.
"""

from __future__ import annotations

from aragog.urlstore.store_reads import StoreReads
from aragog.urlstore.store_schedule import StoreSchedule
from aragog.urlstore.store_upkeep import StoreUpkeep
from aragog.urlstore.store_writes import StoreWrites


class UrlStore(StoreReads, StoreWrites, StoreUpkeep, StoreSchedule):
    """
    Any number of processes may hold one over the same tables; threads may share it.

    Every method that takes a URL raises `InvalidUrl` for one that cannot be normalized, and
    `StoreUnavailable` when the tables do not answer.
    """
