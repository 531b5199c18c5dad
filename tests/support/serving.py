"""The parts of an API server, with the stages in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import redis

from aragog.api.operations.fetching import Fetching
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.enqueue_results import EnqueueResult
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.urlstore.store import UrlStore
from tests.support.pipeline_harness import PipelineHarness
from tests.support.stores import body, page


def served_page(
    store_harness: PipelineHarness, client: redis.Redis, url: str
) -> tuple[UrlStore, Callable[..., list[EnqueueResult]], Fetching]:
    """Return a store with one page, a function that enqueues, and fetching without waiting callers."""

    def enqueue(
        urls: Iterable[str], *, priority: int = 5, refresh: bool = False, **_: Any
    ) -> list[EnqueueResult]:
        options = EnqueueOptions(priority=priority, refresh=refresh, insist=refresh)
        return list(store_harness.enqueuer.enqueue(urls, options))

    store_harness.store.write_pages(
        [page(url, fields={"page.title": b'"A"'}, content=body("0123456789"))]
    )
    completions = Completions(client, prefix="t:")
    return (
        store_harness.store,
        enqueue,
        Fetching(store_harness.store, enqueue, completions, max_waiting=0),
    )
