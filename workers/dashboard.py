"""The aragog pages in Flower. Only Flower's process imports this module (aragog/workers/app.py)."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from aragog.api.operations.fetching import TAKEN_DOWN
from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.dashboard import components
from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.dashboard import flower
from aragog.dashboard.buttons_key import read_key
from aragog.errors import InvalidUrl
from aragog.settings.in_use import process_settings
from urlspelling import normalize


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
        accepted = result.status in (EnqueueStatus.ACCEPTED, EnqueueStatus.WAITING)
        return "" if accepted else result.reason or str(result.status)

    flower.install(
        parts,
        refresh,
        (*serving.allowed_hosts, serving.flower_host),
        serving.flower_host,
        crawls=cache(lambda: crawl_control(settings)),
        key=read_key(settings.data_dir.absolute() / "run"),
    )
