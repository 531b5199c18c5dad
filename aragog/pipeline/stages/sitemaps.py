"""
Sitemaps as a source of URLs: what a fetched one lists is enqueued.

Safe to run twice: entries that wait already, or whose page was seen since their lastmod, are passed
over.
"""

from __future__ import annotations

from collections.abc import Sequence

from aragog.pages.sitemaps import SitemapUrl, parse
from aragog.pipeline.messages import PRIORITY_REFRESH, FetchResult
from aragog.pipeline.pages.limits import limited
from aragog.pipeline.services import Services
from aragog.pipeline.stages.enqueue import EnqueueOptions
from aragog.urls.domain import registered_domain

CHUNK = 500


def enqueue_entries(answer: FetchResult, body: bytes, services: Services) -> int:
    """
    How many entries of a sitemap were enqueued: those of its own registered domain that are not
    stored, or were last seen before their lastmod.

    Raises:
        PageTooExpensive, MemoryError: the sitemap exceeds the limits of a page.
    """
    limits = services.settings.pipeline
    with limited(limits.page_max_cpu_s, limits.page_max_memory_bytes):
        found = parse(body, answer.final_url)
    home = registered_domain(answer.final_url)
    count = 0
    if answer.job.depth > 0:
        children = [child.url for child in found.children if registered_domain(child.url) == home]
        wanted = EnqueueOptions(
            depth=answer.job.depth - 1, refresh=True, sitemap=True, priority=answer.job.priority
        )
        count += sum(1 for _ in services.enqueuer.enqueue(children, wanted))
    ours = [entry for entry in found.urls if registered_domain(entry.url) == home]
    for at in range(0, len(ours), CHUNK):
        urls = _newer(ours[at : at + CHUNK], services)
        wanted = EnqueueOptions(refresh=True, priority=PRIORITY_REFRESH)
        count += sum(1 for _ in services.enqueuer.enqueue(urls, wanted))
    return count


def _newer(entries: Sequence[SitemapUrl], services: Services) -> list[str]:
    """URLs of entries that are not stored, or that changed since they were seen."""
    seen = services.store.pages.seen_at_ms([entry.url for entry in entries])
    return [
        entry.url
        for entry, seen_at_ms in zip(entries, seen, strict=True)
        if seen_at_ms is None or (entry.lastmod_ms or 0) > seen_at_ms
    ]
