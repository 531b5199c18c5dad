"""
Analyzes the pages of a batch within their limits, and detects pages that killed their process.

A page kills its process if a parser's C code crashes, or if the kernel enforces a limit. The broker
then redelivers the batch. `page_limits.RunMarks` shows that an earlier run of the batch died.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.pipeline.packed_body import PLAIN, BodyCodec
from aragog.crawl.pipeline.ports import CounterSink
from aragog.crawl.pipeline.url_traces import UNTRACED, StageSpans
from aragog.crawl.stages.file_analysis import analyze_file, is_file
from aragog.crawl.stages.page_analysis import PageAnalysis, read_page, text_fields
from aragog.crawl.stages.page_limits import PageTooExpensive, limit_resources
from aragog.errors import TRANSIENT
from aragog.pages.extractors import load_all
from aragog.pages.selectors import Rules
from aragog.settings import PipelineSettings
from aragog.urlstore.usual_intervals import SITEMAP

log = logging.getLogger(__name__)

FAILED_REASON = "aragog failed to read the page; see its log"
RUNS_LOST_REASON = "each process that analyzed the page died"


class SourceReading(NamedTuple):
    """The result of reading a sitemap or feed."""

    enqueued: int
    """How many entries were enqueued."""
    kind: str = SITEMAP
    """`sitemap` or `feed`."""
    signal_count: float = 0.0
    """The number of refreshes that the sitemap or feed asks for, each weighted by the trust in its
    host."""


class SitemapReader(Protocol):
    """Reads the entries of a sitemap (`aragog.crawl.stages.sitemap_reading`)."""

    def read(self, result: FetchResult, body: bytes) -> SourceReading:
        """Return the result. Raises `PageTooExpensive` or `MemoryError`."""


@dataclass(frozen=True, slots=True)
class Readings:
    """The analyses of a batch's pages by URL, and why others failed."""

    analyses: dict[str, PageAnalysis] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    sources: dict[str, SourceReading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageReader:
    """Analyzes pages and sitemaps, each within the limits for one page."""

    sitemaps: SitemapReader
    counters: CounterSink
    limits: PipelineSettings
    agent: str
    """The product token by which robots directives of pages address this crawler."""
    rules: Rules = field(default_factory=dict)
    """Field rules for individual sites."""
    drafts: Collection[str] = ()
    """Which draft standards about allowed uses to follow."""
    spans: StageSpans = UNTRACED
    watched_urls: Collection[str] = ()
    """URLs of pages to check for signs of traps."""
    page_types: Collection[str] = ("*/*",)
    """Content types of pages. An item's file with one of these types is analyzed as a page."""
    bodies: BodyCodec = PLAIN

    def read(
        self, results: Sequence[FetchResult], bodies: Mapping[str, bytes], *, give_up: bool
    ) -> Readings:
        """
        Analyze all results with a body. A failing page does not affect the others.

        Args:
            results: one batch's results.
            bodies: compressed bodies, by token.
            give_up: True if too many earlier runs were lost. Nothing is read then.

        Raises:
            TransientError: Redis or the store did not respond; the batch runs again.
        """
        readings = Readings()
        for result in results:
            if result.token:
                self._read_result(result, bodies[result.token], readings, give_up=give_up)
        self._count(readings)
        return readings

    def _read_result(
        self, result: FetchResult, blob: bytes, readings: Readings, *, give_up: bool
    ) -> None:
        url, limits = result.job.url, self.limits
        if give_up:
            readings.problems[url] = RUNS_LOST_REASON
            return
        try:
            if result.job.sitemap:
                readings.sources[url] = self.sitemaps.read(result, self.bodies.decompress(blob))
                return
            with (
                self.spans.subspan(result.job, "read page"),
                limit_resources(limits.page_max_cpu_s, limits.page_max_memory_bytes),
            ):
                if is_file(result, self.page_types):
                    self._read_file(result, readings)
                    return
                body = self.bodies.decompress(blob)
                readings.analyses[url] = read_page(
                    result,
                    body,
                    agent=self.agent,
                    max_links=limits.max_links_per_page,
                    extractors=load_all(limits.extractors, self.rules),
                    texts=text_fields(limits),
                    drafts=self.drafts,
                    with_traits=url in self.watched_urls,
                )
        except TRANSIENT:
            raise
        except PageTooExpensive as error:
            readings.problems[url] = error.reason
        except MemoryError:
            max_bytes = limits.page_max_memory_bytes
            readings.problems[url] = f"took more than {max_bytes} bytes of memory"
        except Exception:
            log.exception("failed to analyze a page: %s", result.fetch.final_url)
            readings.problems[url] = FAILED_REASON

    def _read_file(self, result: FetchResult, readings: Readings) -> None:
        if result.fetch.truncated:
            readings.problems[result.job.url] = f"the file is truncated: {result.fetch.reason}"
            return
        analysis = analyze_file(result, agent=self.agent, drafts=self.drafts)
        readings.analyses[result.job.url] = analysis

    def _count(self, readings: Readings) -> None:
        for url, problem in readings.problems.items():
            log.warning("stored as Unreadable: %s: %s", url, problem)
        degraded_count = sum(1 for analysis in readings.analyses.values() if analysis.problems)
        self.counters.add(
            {counters.UNREADABLE: len(readings.problems), counters.DEGRADED: degraded_count}
        )
