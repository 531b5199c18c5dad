"""
Canonicalize and write stored pages again, from their content and the response that brought it.

For `canonicalize.delay(url)` and `store.delay(url)` of somebody who knows Celery: nothing is
fetched, links are not followed, and the crawl log gets no row, because there was no fetch. The
write carries the time of the fetch, so it never replaces a newer one, and is safe to repeat.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from aragog.crawl.pipeline.in_flight import Heir, UrlEnding
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
    """There is nothing to write again."""


class _NotInFlight:
    """These URLs are not in flight for this; another fetch of one may be, and goes on."""

    def clear(self, urls: Sequence[str], outcome: str = "") -> None:
        """Leave the in-flight set as it is."""

    def end(self, endings: Sequence[UrlEnding]) -> list[Heir | None]:
        """Count nothing: no crawl asked for these pages now."""
        return [None] * len(endings)

    def count(self) -> int:
        """None: these pages wait for no others."""
        return 0


@dataclass(frozen=True, slots=True)
class StoredAgain:
    """Runs the two stages on stored pages."""

    canonicalize: CanonicalizeStage
    store: StoreStage

    def run(self, urls: Sequence[str]) -> list[str]:
        """
        Write the pages of these URLs again, in any spelling; returns a problem for each without.

        Raises:
            TransientError: Redis, the store or the content store did not answer; run it again.
        """
        results, problems = [], []
        for url in urls:
            try:
                results.append(self._result(normalize(url)))
            except (InvalidUrl, TakenDown, ContentReplaced, CorruptContent, _NoPageError) as error:
                problems.append(f"{url}: {error}")
        if results:
            write = replace(self.store, crawl_log=None, in_flight=_NotInFlight())
            for outgoing in self.canonicalize.run(ResultBatch(tuple(results))):
                if isinstance(outgoing.message, PageBatch):
                    write.run(outgoing.message)
        return problems

    def _result(self, url: str) -> FetchResult:
        """The fetch that brought the stored page, with its body in the spool."""
        pages = self.canonicalize.store
        content = pages.content(url)
        if content is None:
            raise _NoPageError("no page of it is stored: fetch it first")
        response = pages.pages.responses([url]).get(url)
        if response is None:
            raise _NoPageError("no fetch brought its page: `aragog reextract` reads it again")
        (token,) = self.canonicalize.spool.put_many([compress(content.body)])
        return FetchResult(
            job=_job(response, content),
            fetch=response,
            token=token,
            body_hash=hashlib.sha256(content.body).hexdigest(),
        )


def _job(response: FetchRecord, content: Content) -> UrlJob:
    """A job of a crawl that the page is kept for, which follows no links."""
    crawls = crawls_of(content.facts)
    name = USUAL if USUAL in crawls else min(crawls, default=USUAL)
    return UrlJob(url=response.url, purposes=purposes_of(name))
