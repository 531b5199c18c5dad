"""
Store pages from web archives as if aragog had fetched them at their capture time.

Each page is analyzed like a fetched one. Nothing is fetched, and no worker has to run. Links are
stored but not followed.

Importing is idempotent: pages are written with their capture time and never replace newer ones. A
capture dated in the future is reported and not stored, because no real fetch could replace it until
then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from aragog.crawl.pipeline.fetch_results import select_headers
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.pipeline.packed_body import PackedBody, pack
from aragog.crawl.stages.page_analysis import (
    PageAnalysis,
    candidate_urls,
    decide_canonical,
    named_agent,
    read_known_chains,
    read_page,
    text_fields,
)
from aragog.crawl.stages.page_limits import PageTooExpensive, limit_resources
from aragog.crawl.stages.page_updates import page_update, reservation_reason, with_body
from aragog.errors import BAD_INPUT
from aragog.pages import preferences
from aragog.pages.extractors import load_all
from aragog.settings import Settings
from aragog.transfer.json_lines import BadRecord
from aragog.transfer.warc_import import ArchivedPage, NumberedPage
from aragog.urlstore.crawl_members import IMPORTED
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore

BATCH_SIZE = 25
_BODY = "body"
"""Used as the key of the body in the spool, although the body is already in memory."""


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """The result of an import."""

    last_number: int
    """Number of the last processed record. A restarted import continues after it."""
    written: int
    """Pages that were stored."""
    stale: int
    """Pages skipped because the store has a later fetch or their URL was taken down."""
    problems: int


@dataclass(frozen=True, slots=True)
class _AnalyzedPage:
    result: FetchResult
    analysis: PageAnalysis
    packed: PackedBody

    @property
    def fetched_at_ms(self) -> int:
        return self.result.fetch.fetched_at_ms


def import_archive(
    archived: Iterable[NumberedPage],
    store: UrlStore,
    settings: Settings,
    *,
    on_problem: Callable[[int, str], None] = lambda *_: None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> ArchiveReport:
    """
    Store the pages that `read_warc` yields, 25 at a time. Pages that cannot be stored are reported.

    A page of 50 KB takes about 10 ms of CPU time.

    Raises:
        StoreUnavailable, ContentUnavailable: records up to the last number passed to `on_progress`
            are stored.
    """
    last_number = written = stale = problems = 0
    records = iter(archived)
    while batch := list(islice(records, BATCH_SIZE)):
        pages_by_url: dict[str, _AnalyzedPage] = {}
        for number, page in batch:
            analyzed = page if isinstance(page, BadRecord) else _analyze(page, store, settings)
            if not isinstance(analyzed, _AnalyzedPage):
                problems += 1
                on_problem(number, str(analyzed))
                continue
            url, earlier = analyzed.result.job.url, pages_by_url.get(analyzed.result.job.url)
            stale += earlier is not None
            if earlier is None or earlier.fetched_at_ms <= analyzed.fetched_at_ms:
                pages_by_url[url] = analyzed
        now_ms = store.clock.now_ms()
        stored = store.write_pages(list(_page_writes(pages_by_url.values(), store, settings)))
        store.crawls.add(
            IMPORTED, {result.canonical_url: now_ms for result in stored if not result.stale}
        )
        stale += sum(result.stale for result in stored)
        written += sum(not result.stale for result in stored)
        last_number = batch[-1][0]
        on_progress(last_number)
    return ArchiveReport(last_number, written, stale, problems)


def _analyze(page: ArchivedPage, store: UrlStore, settings: Settings) -> _AnalyzedPage | str:
    try:
        store.clock.instant(page.fetch.fetched_at_ms, "WARC-Date")
    except BAD_INPUT as error:
        return f"{page.fetch.url}: {error}"
    limits, packed = settings.pipeline, pack(page.body)
    fetch = replace(page.fetch, headers=select_headers(page.fetch.headers))
    job = UrlJob(url=fetch.url)
    result = FetchResult(job=job, fetch=fetch, token=_BODY, body_hash=packed.sha256)
    try:
        with limit_resources(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            analysis = read_page(
                result,
                page.body,
                agent=named_agent(settings.fetch),
                max_links=limits.max_links_per_page,
                extractors=load_all(limits.extractors, settings.extract),
                texts=text_fields(limits),
                drafts=settings.preferences.drafts,
            )
    except (PageTooExpensive, MemoryError, *BAD_INPUT) as error:
        return f"{fetch.url}: {error}"
    if reason := reservation_reason(result, analysis, settings.preferences):
        return f"{fetch.url}: {reason}"
    return _AnalyzedPage(_without_robots_txt(result), analysis, packed)


def _without_robots_txt(result: FetchResult) -> FetchResult:
    note = preferences.pack_statements([preferences.ROBOTS_UNREAD])
    return replace(result, fetch=replace(result.fetch, robots_preferences=note))


def _page_writes(
    pages: Collection[_AnalyzedPage], store: UrlStore, settings: Settings
) -> Iterator[PageWrite]:
    urls = set().union(*(candidate_urls(page.analysis.evidence) for page in pages))
    known_pages = read_known_chains(urls, store.pages.known)
    for page in pages:
        decision = decide_canonical(page.analysis.evidence, known_pages)
        update = page_update(page.result, page.analysis, decision, settings)
        yield with_body(update, page.packed.blob if update.token else None)
