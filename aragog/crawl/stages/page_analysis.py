"""
Analyzes one fetched page: its canonical evidence, links and Rich Pin. The page is parsed once.

If one part fails, for example the links or the fields, the others still work, and
`PageAnalysis.problems` says why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import orjson

from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.politeness.robots_rules import product_token
from aragog.crawl.traps.traits import PageTraits, traits_of
from aragog.pages import main_text, preferences
from aragog.pages.extractors import Extracted, Extractor, ExtractorPage, Extractors, to_fields
from aragog.pages.preferences import PURPOSES, UseStatement
from aragog.pages.rules_version import VERSION_FIELD as RULES_VERSION
from aragog.settings import FetchSettings, PipelineSettings
from richpins import canonical_evidence, compared_text, documents, extraction, links, rich_pins
from richpins.document import Document
from richpins.fingerprint import fingerprint_of
from richpins.links import Link
from richpins.rich_pins import RichPin
from richpins.robots_meta import PageRobots, from_headers, unavailable_at_ms
from urlspelling import canonical
from urlspelling.canonical import Decision, Evidence, KnownPage, Redirect
from urlspelling.domain import registered_domain

log = logging.getLogger(__name__)

T = TypeVar("T")

FINGERPRINT = "page.fingerprint"
"""The field with a 64-bit fingerprint of the main text (`richpins.fingerprint`)."""

FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml"})

NO_EXTRACTORS: Mapping[str, Extractor] = {}

TextFields = Callable[[Document], Mapping[str, bytes]]
"""Returns the main-text fields of a page."""

_CAUTIOUS_ROBOTS = PageRobots(noindex=True, nofollow=True)
"""The robots directives for a page whose own directives could not be read."""
_ALL_RESERVED = tuple(UseStatement(p, "n", "its statements could not be read") for p in PURPOSES)
_MAX_LOGGED_FAILURES = 1_000
_logged_failures: set[tuple[str, str]] = set()
"""Logged once, because pages with the same template may all fail in the same way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnalysis:
    """What one page contains."""

    evidence: Evidence
    links: tuple[Link, ...]
    fields: Mapping[str, bytes]
    provenance: Mapping[str, str]
    page_type: str
    noindex: bool
    nofollow: bool
    preferences: tuple[UseStatement, ...] = ()
    """What the page's headers and elements state about allowed uses."""
    unavailable_after_ms: int | None = None
    """After this time, the page must not be shown anymore (`unavailable_after`)."""
    complete: bool
    """True if the whole page was analyzed without a problem. If False, fields may be missing."""
    problems: tuple[str, ...] = ()
    text_sketch: str = ""
    """Used to compare main texts. Empty if the text is too short."""
    feed: str | None = None
    """The first feed in the page's registered domain that the page links to (`<link
    rel=alternate>`)."""
    traits: PageTraits | None = None
    """Traits for recognizing traps. None if not requested."""


@dataclass(frozen=True, slots=True)
class AnalyzedFields:
    """A page's fields. Fields that could not be read are missing."""

    fields: Mapping[str, bytes] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)
    type: str = "page"
    complete: bool = False


def read_page(
    result: FetchResult,
    body: bytes,
    *,
    agent: str,
    max_links: int,
    extractors: Mapping[str, Extractor] = NO_EXTRACTORS,
    texts: TextFields | None = None,
    drafts: Collection[str] = (),
    with_traits: bool = False,
) -> PageAnalysis:
    """
    Analyze a body. Broken markup or a failing part never raises an error.

    `agent` is this crawler's product token (`named_agent`).
    """
    is_read = documents.is_read(result.fetch.content_type)
    # JSON and feeds yield only facts. Plain text and PDF yield only a title and a main text. All of
    # them have headers.
    page = documents.parse(
        body, url=result.fetch.final_url, content_type=result.fetch.content_type, agent=agent
    )
    parts = _Parts(result.fetch.final_url)
    robots = parts.get(
        "robots",
        lambda: canonical_evidence.page_robots(page, result.fetch.headers, agent=agent),
        _CAUTIOUS_ROBOTS,
    )
    pin = parts.fields(page, extractors, texts)
    return PageAnalysis(
        evidence=parts.get("evidence", lambda: _collect_evidence(page, result), None)
        or _evidence_of_fetch(result),
        links=parts.get("links", lambda: links.extract(page, limit=max_links), ()),
        fields=pin.fields,
        provenance=pin.provenance,
        page_type=pin.type,
        noindex=robots.noindex,
        nofollow=robots.nofollow,
        preferences=parts.get(
            "preferences", lambda: _use_statements(page, result, agent, drafts), _ALL_RESERVED
        ),
        unavailable_after_ms=unavailable_at_ms(robots.unavailable_after),
        complete=is_read
        and result.fetch.status == 200
        and not result.fetch.truncated
        and pin.complete
        and not (page.text is not None and page.problems),
        text_sketch=parts.sketch(page),
        feed=parts.get("feed", lambda: find_feed(page), None),
        traits=parts.get("traits", lambda: traits_of(page, result.job.url), None)
        if with_traits and is_read
        else None,
        problems=(*(page.problems if page.text is not None else ()), *parts.problems),
    )


def find_feed(page: Document) -> str | None:
    """
    Return the first feed that a page links to within its registered domain.

    Other feeds usually contain comments, or the same entries in another format.
    """
    domain = registered_domain(page.url)
    for link in page.link_elements:
        media_type = (link.attributes.get("type") or "").partition(";")[0].strip().lower()
        if "alternate" in link.rel and media_type in FEED_TYPES and link.in_head and link.href:
            url = page.resolve(link.href)
            if url and registered_domain(url) == domain:
                return url
    return None


def named_agent(settings: FetchSettings) -> str:
    """Return the product token by which robots.txt and meta tags address this crawler."""
    return product_token(settings.user_agent) or "aragog"


class _Parts:
    """Runs each part of an analysis and continues if one fails."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sketch: str | None = None
        self.problems: list[str] = []

    def get(self, name: str, run: Callable[[], T], default: T) -> T:
        try:
            return run()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the other parts are usable after any error
            self.problems.append(f"{name}: {type(error).__name__}: {error}"[:200])
            _log_once(name, error, self._url)
            return default

    def sketch(self, page: Document) -> str:
        if self._sketch is None:
            self._sketch = self.get("text sketch", lambda: compared_text.sketch(page), "")
        return self._sketch

    def fields(
        self, page: Document, extractors: Mapping[str, Extractor], texts: TextFields | None
    ) -> AnalyzedFields:
        """
        Return the fields of the Rich Pin, the extractors and the main text. If one fails, the
        others still run.
        """
        pin = self.get("rich pin", lambda: extraction.extract_from(page), None)
        if pin is None:
            return AnalyzedFields()
        result = self.get("rich pin", lambda: _pin_fields(pin), AnalyzedFields())
        for name, extractor in extractors.items():
            run = partial(_add_extracted, result, name, extractor, ExtractorPage(page, pin))
            result = self.get(f"extractor {name}", run, replace(result, complete=False))
        if isinstance(extractors, Extractors) and (version := extractors.versions.of(page.url)):
            result = replace(
                result,
                fields={**result.fields, RULES_VERSION: orjson.dumps(version)},
                provenance={**result.provenance, RULES_VERSION: "settings"},
            )
        if texts is not None:
            no_fields: Mapping[str, bytes] = {}
            text_values = self.get("main text", partial(texts, page), no_fields)
            sources = {**result.provenance, **dict.fromkeys(text_values, "main text")}
            result = replace(result, fields={**result.fields, **text_values}, provenance=sources)
        return self._with_fingerprint(page, result)

    def _with_fingerprint(self, page: Document, result: AnalyzedFields) -> AnalyzedFields:
        if not (fingerprint := fingerprint_of(self.sketch(page))):
            return result
        fields = {**result.fields, FINGERPRINT: orjson.dumps(fingerprint)}
        return replace(result, fields=fields, provenance={**result.provenance, FINGERPRINT: "text"})


def _log_once(name: str, error: Exception, url: str) -> None:
    failure = (name, type(error).__name__)
    if failure not in _logged_failures and len(_logged_failures) < _MAX_LOGGED_FAILURES:
        _logged_failures.add(failure)
        log.error("left out of a page: %s; first seen at %s", name, url, exc_info=error)


def extract_fields(
    page: Document,
    extractors: Mapping[str, Extractor] = NO_EXTRACTORS,
    texts: TextFields | None = None,
) -> AnalyzedFields:
    """Read only a page's fields. A failed part is logged, and its fields are missing."""
    return _Parts(page.url).fields(page, extractors, texts)


def text_fields(settings: PipelineSettings) -> TextFields | None:
    """Return a function that extracts main text in the stored formats. None if none are stored."""
    if not settings.store_text:
        return None
    finder = main_text.load(settings.text_finder)
    return partial(main_text.to_fields, finder=finder, forms=settings.store_text)


def _pin_fields(pin: RichPin) -> AnalyzedFields:
    fields, provenance = rich_pins.to_fields(pin)
    return AnalyzedFields(fields, provenance, pin.type, not pin.problems)


def _add_extracted(
    earlier: AnalyzedFields, name: str, extractor: Extractor, page: ExtractorPage
) -> AnalyzedFields:
    extracted = extractor(page)
    if extracted is None:
        return earlier
    new_fields = to_fields(name, extracted)
    page_type = extracted.page_type if isinstance(extracted, Extracted) else None
    return AnalyzedFields(
        {**earlier.fields, **new_fields},
        {**earlier.provenance, **dict.fromkeys(new_fields, f"extractor {name}")},
        name if earlier.type == "page" and page_type is not None else earlier.type,
        earlier.complete,
    )


def _use_statements(
    page: Document, result: FetchResult, agent: str, drafts: Collection[str]
) -> tuple[UseStatement, ...]:
    headers = result.fetch.headers
    metas = [(name, meta.get("content") or "") for meta in page.metas if (name := meta.get("name"))]
    links = [
        ("license", link.attributes.get("type") or "", link.href)
        for link in page.link_elements
        if "license" in link.rel
    ]
    return (
        *preferences.header_statements(headers, drafts),
        *preferences.robots_statements(from_headers(headers, agent=agent), "X-Robots-Tag"),
        *preferences.robots_statements(page.robots, "meta robots"),
        *preferences.meta_statements(metas),
        *preferences.license_link_statements(links),
    )


def _collect_evidence(page: Document, result: FetchResult) -> Evidence:
    return canonical_evidence.collect(
        page,
        url=result.job.url,
        final_url=result.fetch.final_url,
        status=result.fetch.status or 200,
        redirects=get_redirects(result),
        headers=result.fetch.headers,
    )


def _evidence_of_fetch(result: FetchResult) -> Evidence:
    return Evidence(
        url=result.job.url,
        final_url=result.fetch.final_url,
        status=result.fetch.status or 200,
        redirects=get_redirects(result),
    )


def get_redirects(result: FetchResult) -> tuple[Redirect, ...]:
    """Return the redirects of the fetch as evidence."""
    return tuple(Redirect(hop.url, hop.target, hop.permanent) for hop in result.fetch.hops)


def candidate_urls(evidence: Evidence) -> set[str]:
    """Return the other URLs whose stored data affects the choice of the canonical URL."""
    urls = {*evidence.link_header, *evidence.link_canonical, evidence.final_url}
    urls |= {evidence.og_url} if evidence.og_url else set()
    urls |= {evidence.meta_refresh[1]} if evidence.meta_refresh else set()
    return urls - {evidence.url}


def read_known_chains(
    urls: Iterable[str], read_known: Callable[[Sequence[str]], Mapping[str, KnownPage]]
) -> dict[str, KnownPage]:
    """
    Return what `read_known` returns for these URLs and the URLs that they lead to.

    Takes one read per step of the longest chain, plus one.
    """
    pages: dict[str, KnownPage] = {}
    missing = set(urls)
    for _ in range(canonical.MAX_STEPS):
        if not missing:
            break
        new_pages = read_known(sorted(missing))
        pages |= new_pages
        targets = {page.redirects_to or page.canonical_url for page in new_pages.values()}
        missing = {url for url in targets if url is not None and url not in pages}
    return pages


def decide_canonical(evidence: Evidence, pages: Mapping[str, KnownPage]) -> Decision:
    """Decide the canonical URL from stored data about the candidates and their targets."""
    other_pages = {url: page for url, page in pages.items() if url != evidence.url}
    return canonical.decide(replace(evidence, known=other_pages))
