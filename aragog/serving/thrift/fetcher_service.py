"""The calls of service Fetcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aragog.errors import BadInput
from aragog.pipeline.messages import PRIORITY_DEFAULT
from aragog.pipeline.stages.enqueue import EnqueueResult
from aragog.serving.thrift.contract import idl
from aragog.serving.thrift.urlstore_service import bounded, items

MOST_DEPTH = 100
Enqueue = Callable[..., Iterable[EnqueueResult]]
"""`aragog.client.Aragog.enqueue`."""


class FetcherService:
    """
    Handles calls, each in a thread.

    Args:
        enqueue: `Aragog.enqueue`; None: this server does not enqueue.
    """

    def __init__(self, enqueue: Enqueue | None) -> None:
        self._enqueue = enqueue

    def enqueue(self, given: Any) -> list[Any]:
        if self._enqueue is None:
            raise BadInput("this server does not enqueue")
        options = given.options or idl.EnqueueOptions()
        results = self._enqueue(
            items(given.urls, "urls"),
            priority=bounded(options.priority, "priority", 0, 9, PRIORITY_DEFAULT),
            run_after=options.run_after_ms,
            depth=bounded(options.depth, "depth", 0, MOST_DEPTH, 0),
            refresh=bool(options.refresh),
            sitemap=bool(options.sitemap),
        )
        return [
            idl.EnqueueResult(input=r.input, status=str(r.status), url=r.url, reason=r.reason)
            for r in results
        ]
