"""
Re-canonicalizes and rewrites stored pages from their stored content and response.

Implements `canonicalize.delay(url)` and `store.delay(url)` for users of Celery. Nothing is fetched,
no links are followed, and the crawl log gets no row. The write carries the original fetch's
timestamp, so it never replaces newer data and is safe to repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aragog.crawl.pipeline.in_flight_values import NextCrawl, UrlEnding
from aragog.crawl.pipeline.messages import FetchResult, PageBatch, ResultBatch, UrlJob
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.store import StoreStage
from aragog.errors import ContentReplaced, CorruptContent, InvalidUrl, TakenDown
from aragog.fetch_record.outcome import FetchRecord
from aragog.urlstore.compression import compress
from aragog.urlstore.kept_for import USUAL, crawls_of, purposes_of
from aragog.urlstore.records import Content
from urlspelling import normalize


class _NoPageError(Exception):
    """There is no stored page to rewrite."""


class _NullInFlightSet:
    """Replaces the in-flight set, so that rewriting a page does not affect its fetches."""

    def clear(self, urls: Sequence[str], outcome: str = "") -> None:
        """Do nothing."""

    def end(self, endings: Sequence[UrlEnding]) -> list[NextCrawl | None]:
        """Return no next crawls, because no crawl requested these pages."""
        return [None] * len(endings)

    def count(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class StoredPageRewriter:
    """Runs both stages on stored pages."""

    canonicalize: CanonicalizeStage
    store: StoreStage

    def run(self, urls: Sequence[str]) -> list[str]:
        """
        Rewrite these URLs' pages. Returns a problem for each URL without a page.

        The URLs need not be normalized.

        Raises:
            TransientError: Redis, the store or the content store did not respond; run it again.
        """
        results, problems = [], []
        for url in urls:
            try:
                results.append(self._make_result(normalize(url)))
            except (InvalidUrl, TakenDown, ContentReplaced, CorruptContent, _NoPageError) as error:
                problems.append(f"{url}: {error}")
        if results:
            store = replace(self.store, crawl_log=None, in_flight=_NullInFlightSet())
            for outgoing in self.canonicalize.run(ResultBatch(tuple(results))):
                if isinstance(outgoing.message, PageBatch):
                    store.run(outgoing.message)
        return problems

    def _make_result(self, url: str) -> FetchResult:
        store = self.canonicalize.store
        content = store.content(url)
        if content is None:
            raise _NoPageError("no page is stored for it; fetch it first")
        response = store.pages.responses([url]).get(url)
        if response is None:
            raise _NoPageError("its page was not fetched; use `aragog reextract` instead")
        (token,) = self.canonicalize.spool.put_many([compress(content.body)])
        return FetchResult(
            job=_make_job(response, content),
            fetch=response,
            token=token,
            body_hash=hashlib.sha256(content.body).hexdigest(),
        )


def _make_job(response: FetchRecord, content: Content) -> UrlJob:
    """Return a job for one of the crawls that keep this page. It follows no links."""
    crawls = crawls_of(content.facts)
    crawl = USUAL if USUAL in crawls else min(crawls, default=USUAL)
    return UrlJob(url=response.url, purposes=purposes_of(crawl))
