"""
Watches and unwatches the URLs in messages. Producers send messages because they can reach the
broker but not the store.

This is safe to run twice and in any order: of an owner's requests for a URL, the latest takes
effect.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Self

from aragog.crawl.pipeline.messages import VERSION, message_errors
from aragog.errors import BAD_INPUT
from aragog.urlstore.schedule import Schedule

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """URLs that an owner starts or stops watching."""

    urls: tuple[str, ...]
    owner: str
    watch: bool
    at_ms: int

    def wire(self) -> dict[str, Any]:
        return {
            "v": VERSION,
            "urls": list(self.urls),
            "owner": self.owner,
            "watch": self.watch,
            "at_ms": self.at_ms,
        }

    @classmethod
    def read(cls, wire: Any) -> Self:
        """Parse the batch from JSON. Raises InvalidMessage if it cannot be read."""
        with message_errors(wire, "watches"):
            urls = tuple(str(url) for url in wire["urls"])
            return cls(urls, str(wire["owner"]), bool(wire["watch"]), int(wire["at_ms"]))


def apply_watches(batch: WatchBatch, schedule: Schedule) -> None:
    """
    Watch or unwatch each URL. Refused URLs are logged and skipped.

    Raises:
        StoreUnavailable: some URLs may have been processed; call it again.
    """
    watch_or_unwatch = schedule.watch if batch.watch else schedule.unwatch
    at_ms = schedule.capped(batch.at_ms, f"watches of {batch.owner}")
    for url in batch.urls:
        try:
            watch_or_unwatch(url, batch.owner, at_ms=at_ms)
        except BAD_INPUT as error:
            log.warning("not watched: %s", error)
