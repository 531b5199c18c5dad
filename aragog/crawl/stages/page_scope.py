"""
Excludes URLs and pages outside the scope of their crawls.

A page's links are only followed if they are in the crawl's scope and the job's URL filter accepts
them.

Some rules can only be checked after the fetch. If they exclude a page, the crawl neither stores it
nor follows its links. Another crawl that wants the URL gets its own job.

It is safe to run twice, because a URL is counted once (`CrawlEndings.end`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlEndings, EndedUrl
from aragog.errors import BAD_INPUT
from aragog.urlstore.records import Record
from urlspelling.domain import registered_domain

LANGUAGE = "page.language"
"""A page's declared language."""
_OUTCOME = "OutOfScope"


class AnalyzedPage(Protocol):
    """A page's analysis (`aragog.crawl.stages.page_analysis.PageAnalysis`)."""

    @property
    def fields(self) -> Mapping[str, bytes]:
        """The fields of the page."""


def excluded_pages(
    results: Iterable[FetchResult], analyses: Mapping[str, AnalyzedPage], checks: CrawlChecks
) -> dict[str, str]:
    """Return the excluded fetched pages by URL, each with the rule."""
    return {
        result.job.url: rule
        for result in results
        if (analysis := analyses.get(result.job.url))
        and (
            rule := _excluding_rule(
                result.job, result.fetch.content_type, analysis.fields.get(LANGUAGE), checks
            )
        )
    }


def excluded_stored_pages(
    jobs: Iterable[UrlJob], records: Mapping[str, Record | None], checks: CrawlChecks
) -> dict[str, str]:
    """Return the excluded stored pages by URL, each with the rule."""
    return {
        job.url: rule
        for job in jobs
        if (record := records.get(job.url))
        and (
            rule := _excluding_rule(
                job, _text(record.facts.get("content_type")), record.fields.get(LANGUAGE), checks
            )
        )
    }


def has_page_rules(jobs: Iterable[UrlJob], checks: CrawlChecks) -> bool:
    """Return True if a crawl of these jobs has rules that need the fetched page."""
    jobs_by_crawl = {job.crawl: job for job in jobs}
    return any(checks.get_crawl(job).scope.has_page_rules for job in jobs_by_crawl.values())


def _excluding_rule(
    job: UrlJob, content_type: str | None, language: bytes | None, checks: CrawlChecks
) -> str:
    scope = checks.get_crawl(job).scope
    if not scope.has_page_rules:
        return ""
    name = language.decode("utf-8", "replace").strip('"') if language else None
    accepted, rule = scope.decide_page(content_type, name)
    # A crawl limited to HTML pages still gets the files that its item rules point to.
    return "" if accepted or (job.file and not rule.startswith("-")) else rule


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def end_excluded(
    jobs: Sequence[UrlJob], rules: Mapping[str, str], endings: CrawlEndings
) -> list[UrlJob]:
    """End the jobs of excluded pages. Returns jobs for other crawls that want the URLs."""
    return endings.end([EndedUrl(job, f"out of scope: {rules[job.url]}") for job in jobs])


def make_results(rules: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the results for callers waiting for these URLs."""
    return {
        url: {"url": url, "canonical_url": url, "outcome": _OUTCOME, "reason": rule}
        for url, rule in rules.items()
    }


def scope_filter(scope: Scope, page_url: str) -> Callable[[str], bool]:
    """Return a function that returns True for a URL within the crawl's scope."""
    if scope.rules:
        return lambda url: scope.decide(url, page_url=page_url).accepted
    domain = registered_domain(page_url)
    return lambda url: registered_domain(url) == domain


def read_url_filter(job: UrlJob) -> UrlFilter:
    """Return the job's URL filter; a filter that accepts nothing if it is unreadable."""
    try:
        return UrlFilter.read(job.url_filter)
    except BAD_INPUT:
        return UrlFilter(exclude=("*",))
