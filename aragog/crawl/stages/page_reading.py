"""
The pages of a batch read within their limits; a page that kills its process is found afterwards.

A page may kill the process that reads it: by a crash in a parser's C code, or because the kernel
enforced the limits of the page. The broker then delivers the batch again, and its mark
(`page_limits.RunMarks`) shows that a run was lost.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.pipeline.ports import CounterSink
from aragog.crawl.pipeline.url_traces import UNTRACED, StageSpans
from aragog.crawl.stages.file_analysis import file_analysis, is_file
from aragog.crawl.stages.page_analysis import PageAnalysis, read_page, text_fields
from aragog.crawl.stages.page_limits import PageTooExpensive, limited
from aragog.errors import TRANSIENT
from aragog.pages.extractors import load_all
from aragog.pages.selectors import Rules
from aragog.settings import PipelineSettings
from aragog.urlstore.compression import decompress
from aragog.urlstore.usual_intervals import SITEMAP

log = logging.getLogger(__name__)

FAILED = "aragog failed to read the page; see its log"
RUNS_LOST = "each process that read the page was lost"


class SourceReading(NamedTuple):
    """The result of reading a sitemap or feed."""

    enqueued: int
    """How many of its entries were enqueued."""
    kind: str = SITEMAP
    """`sitemap` or `feed`."""
    brought: float = 0.0
    """How many refreshes it asks for, each as far as its host is trusted."""


class SitemapReader(Protocol):
    """Takes what a sitemap lists (`aragog.crawl.stages.sitemap_reading`)."""

    def sitemap(self, result: FetchResult, body: bytes) -> SourceReading:
        """The result. Raises `PageTooExpensive`, `MemoryError`."""


@dataclass(frozen=True, slots=True)
class Readings:
    """A batch's pages by URL: their analyses, or the reason why they failed."""

    analyses: dict[str, PageAnalysis] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    sources: dict[str, SourceReading] = field(default_factory=dict)
    """The sitemaps and feeds that were read."""


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages and sitemaps, each within the limits of a page."""

    sitemaps: SitemapReader
    counters: CounterSink
    limits: PipelineSettings
    agent: str
    """The name by which pages address this crawler."""
    rules: Rules = field(default_factory=dict)
    """Rules for the fields of single sites."""
    drafts: Collection[str] = ()
    """Drafts whose statements about uses are read."""
    spans: StageSpans = UNTRACED
    """Those of the traced pages."""
    watched: Collection[str] = ()
    """URLs of whose pages the traits are read, too."""
    page_types: Collection[str] = ("*/*",)
    """Content types of pages: a file of one of them is read as a page."""

    def read(
        self, results: Sequence[FetchResult], bodies: Mapping[str, bytes], *, hopeless: bool
    ) -> Readings:
        """
        The analyses of all results that have a body; no page ever takes the others along.

        Args:
            results: of one batch.
            bodies: compressed, by token.
            hopeless: earlier runs were lost; nothing is read.

        Raises:
            TransientError: Redis or the store did not answer; the batch runs again.
        """
        readings = Readings()
        for result in results:
            if result.token:
                self._read_one(result, bodies[result.token], readings, hopeless=hopeless)
        self._count(readings)
        return readings

    def _read_one(
        self, result: FetchResult, blob: bytes, readings: Readings, *, hopeless: bool
    ) -> None:
        url, limits = result.job.url, self.limits
        if hopeless:
            readings.problems[url] = RUNS_LOST
            return
        try:
            if result.job.sitemap:
                readings.sources[url] = self.sitemaps.sitemap(result, decompress(blob))
                return
            with (
                self.spans.part(result.job, "read page"),
                limited(limits.page_max_cpu_s, limits.page_max_memory_bytes),
            ):
                if is_file(result, self.page_types):
                    self._read_file(result, readings)
                    return
                body = decompress(blob)
                readings.analyses[url] = read_page(
                    result,
                    body,
                    agent=self.agent,
                    max_links=limits.max_links_per_page,
                    extractors=load_all(limits.extractors, self.rules),
                    texts=text_fields(limits),
                    drafts=self.drafts,
                    with_traits=url in self.watched,
                )
        except TRANSIENT:
            raise
        except PageTooExpensive as error:
            readings.problems[url] = error.reason
        except MemoryError:
            most = limits.page_max_memory_bytes
            readings.problems[url] = f"took more than {most} bytes of memory"
        except Exception:
            log.exception("a page could not be read: %s", result.fetch.final_url)
            readings.problems[url] = FAILED

    def _read_file(self, result: FetchResult, readings: Readings) -> None:
        if result.fetch.truncated:
            readings.problems[result.job.url] = f"the file is cut: {result.fetch.reason}"
            return
        analysis = file_analysis(result, agent=self.agent, drafts=self.drafts)
        readings.analyses[result.job.url] = analysis

    def _count(self, readings: Readings) -> None:
        for url, problem in readings.problems.items():
            log.warning("stored as Unreadable: %s: %s", url, problem)
        degraded = sum(1 for analysis in readings.analyses.values() if analysis.problems)
        unreadable = len(readings.problems)
        self.counters.add({counters.UNREADABLE: unreadable, counters.DEGRADED: degraded})
