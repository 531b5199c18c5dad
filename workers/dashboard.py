"""The aragog pages in Flower. Only Flower's process imports this module (aragog/workers/app.py)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from aragog.api.operations.fetching import TAKEN_DOWN
from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.dashboard import components
from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.dashboard import flower
from aragog.dashboard.buttons_key import read_key
from aragog.errors import InvalidUrl
from aragog.settings.in_use import process_settings
from urlspelling import normalize

ACCEPTED = (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)
MAX_REFUSALS_SHOWN = 5


def install() -> None:
    """Add the pages to Flower. Call this before Flower starts."""
    settings = process_settings()
    serving = settings.serving
    producer = cache(lambda: Aragog(settings))
    parts = components(settings)

    def refresh(url: str) -> str:
        with suppress(InvalidUrl):  # the producer reports invalid URLs below
            # The producer checks only its copy of the takedowns, which may be old.
            if parts.store().takedowns.refused([normalize(url)]):
                return TAKEN_DOWN
        (result,) = producer().enqueue([url], priority=0, refresh=True)
        return "" if result.status in ACCEPTED else result.reason or str(result.status)

    def enqueue_seeds(crawl: str, seeds: Sequence[str], depth: int) -> str:
        results = producer().enqueue(seeds, crawl=crawl, depth=depth)
        return refusals(results)

    flower.install(
        parts,
        refresh,
        (*serving.allowed_hosts, serving.flower_host),
        serving.flower_host,
        crawls=cache(lambda: crawl_control(settings)),
        enqueue=enqueue_seeds,
        key=read_key(settings.data_dir.absolute() / "run"),
    )


def refusals(results: Sequence[EnqueueResult]) -> str:
    """Return how many seeds were refused, and why the first few were; "" if none was."""
    refused = [result for result in results if result.status not in ACCEPTED]
    if not refused:
        return ""
    texts = [f"{r.input}: {r.reason or r.status}" for r in refused[:MAX_REFUSALS_SHOWN]]
    return (
        f"The crawl was started, but {len(refused):,} of {len(results):,} seeds were refused: "
        + "; ".join(texts)
    )
