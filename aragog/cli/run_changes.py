"""
Report the pages that `aragog run --refresh` found to be new, changed or gone.

The run first enqueues stored pages that no page links to anymore, because only a fetch can show
that they are gone. Then it reports all pages that changed since the last report. The time of the
last report is the crawl's `told_ms`.

A run updates that time after its report. If it is killed earlier, the next run reports the changes
of both runs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import orjson

from aragog.cli.run_tracker import RunTracker
from aragog.cli.terminal import note, one_line
from aragog.client import Aragog
from aragog.crawl.pipeline.crawl_records import CrawlRecord
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.stages.crawl_reports import OTHER_DOMAINS
from aragog.errors import BadInput, ConfigError, SlowDown
from aragog.settings import Settings
from aragog.urlstore.crawl_changes import CrawlPage, CrawlPages, PageNews, as_text
from aragog.urlstore.store import UrlStore

MAX_URLS_PER_KIND = 20
PRINTED_KINDS = (PageNews.NEW, PageNews.GONE, PageNews.REDIRECTED, PageNews.WITHHELD)
_UNCHANGED_KINDS = (PageNews.UNCHANGED, PageNews.STILL_ABSENT)


class RunChanges:
    """
    The changes of a run's crawl.

    Args:
        settings: the settings of the running aragog.
        store: the store with the crawl's pages.
        record: the crawl's record, read after the run has started.
    """

    def __init__(self, settings: Settings, store: UrlStore, record: CrawlRecord) -> None:
        shared = SharedState.from_settings(settings)
        self._registry, self._counts = shared.crawls, shared.crawl_counts
        self._store = store
        self._until_ms = 0
        # `told_ms` is not set if the crawl is new or an older version stored it.
        self._record = record
        if not record.told_ms:
            self._record = self._registry.update_fields(record, told_ms=self._now_ms())

    def _now_ms(self) -> int:
        return self._registry.read().now_ms

    def enqueue_unlinked(
        self,
        client: Aragog,
        tracker: RunTracker,
        on_wait: Callable[[SlowDown], None],
        *,
        priority: int,
    ) -> int:
        """
        Enqueue the crawl's pages that the run has not reached, and return their number.

        Call this when all URLs that the run reaches through links are done. Idempotent. Pages that
        aragog no longer retries are skipped.
        """
        urls = (page.url for page in self._pages() if _needs_fetch(page, tracker))
        count = 0
        results = client.enqueue_all(
            urls,
            refresh=True,
            priority=priority,
            crawl=self._record.name,
            request_id=tracker.request_id,
            on_wait=on_wait,
        )
        for result in results:
            if result.url and result.reason is None:
                is_waiting = result.status is EnqueueStatus.WAITING
                tracker.add(result.url, was_in_flight=is_waiting)
                count += 1
        return count

    def finish(self) -> None:
        """
        Record the time up to which changes were reported: the time of the last `report`, or else
        the current time.
        """
        until_ms = self._until_ms or self._now_ms()
        with suppress(BadInput):  # the crawl was deleted in the meantime
            self._registry.update_fields(self._record, told_ms=until_ms)

    def report(self, file: Path | None) -> None:
        """
        Print counts, and up to 20 URLs of each kind in `PRINTED_KINDS`. Write all changes to
        `file`, unless it is None.

        Raises:
            ConfigError: the file is not writable.
        """
        self._until_ms = self._now_ms()
        counts: Counter[PageNews] = Counter()
        urls_by_kind: dict[PageNews, list[str]] = {news: [] for news in PRINTED_KINDS}
        pages = _count_pages(self._pages(), counts, urls_by_kind)
        if file is None:
            for _ in pages:
                pass
        else:
            _write_changes(file, pages)
        for news, urls in urls_by_kind.items():
            for url in sorted(urls):
                note(one_line(f"{news}: {url}"), err=True)
            if counts[news] > len(urls):
                note(f"{news}: {counts[news] - len(urls):,} more", err=True)
        note(as_text(counts), err=True)

    def _pages(self) -> Iterator[CrawlPage]:
        domains = self._counts.domains(self._record.numbers).keys()
        domains_or_all = None if OTHER_DOMAINS in domains else domains
        return CrawlPages(self._store.zen, self._record.name, domains_or_all).since(
            self._record.told_ms
        )


def _needs_fetch(page: CrawlPage, tracker: RunTracker) -> bool:
    is_enqueued = page.checked_at_ms >= tracker.began_ms or tracker.contains(page.url)
    return not is_enqueued and not page.is_given_up


def _count_pages(
    pages: Iterable[CrawlPage], counts: Counter[PageNews], urls_by_kind: dict[PageNews, list[str]]
) -> Iterator[CrawlPage]:
    for page in pages:
        counts[page.news] += 1
        if len(urls := urls_by_kind.get(page.news, [])) < MAX_URLS_PER_KIND:
            urls.append(page.url)
        yield page


def _write_changes(file: Path, pages: Iterable[CrawlPage]) -> None:
    """Write a JSON line for each changed page to a temporary file, then rename the file."""
    temporary_file = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        with temporary_file.open("wb") as lines:
            for page in pages:
                if page.news not in _UNCHANGED_KINDS:
                    lines.write(orjson.dumps({"url": page.url, "kind": page.news}) + b"\n")
        temporary_file.replace(file)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from error
    finally:
        temporary_file.unlink(missing_ok=True)
