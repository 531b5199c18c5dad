"""
One fetched page analyzed: document, evidence, links, Rich Pin. Pure; one parse serves them all.

A part that fails leaves the others as they are: the page then has no links, or no fields, and says
so in `PageAnalysis.problems`.
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
"""The field with 64 bits of the main text (`richpins.fingerprint`)."""

FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml"})

NO_EXTRACTORS: Mapping[str, Extractor] = {}

TextFields = Callable[[Document], Mapping[str, bytes]]
"""Returns the fields of a page's main text."""

_CAUTIOUS = PageRobots(noindex=True, nofollow=True)
"""The preferences of a page whose own statements could not be read."""
_RESERVED = tuple(UseStatement(p, "n", "its statements could not be read") for p in PURPOSES)
_MAX_LOGGED = 1_000
_logged: set[tuple[str, str]] = set()
"""Each kind of failure is logged once a process: a template repeats it on a million pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnalysis:
    """The result of analyzing one page."""

    evidence: Evidence
    links: tuple[Link, ...]
    fields: Mapping[str, bytes]
    provenance: Mapping[str, str]
    page_type: str
    noindex: bool
    nofollow: bool
    preferences: tuple[UseStatement, ...] = ()
    """The statements of its headers and elements about its uses."""
    unavailable_after_ms: int | None = None
    """When it asks to be removed."""
    complete: bool
    """True for a page that was read to its end, without any problem; else fields may be missing."""
    problems: tuple[str, ...] = ()
    """Components whose analysis failed, each with the error."""
    text_sketch: str = ""
    """The sketch by which its main text is compared; empty: the text is too short."""
    feed: str | None = None
    """The first feed that it links to, in its registered domain (`<link rel=alternate>`)."""
    traits: PageTraits | None = None
    """The traits by which traps are recognized; None: not requested."""


@dataclass(frozen=True, slots=True)
class AnalyzedFields:
    """A page's fields, or none where they could not be read."""

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
    The reading of a body; broken markup, or a part that fails, gives less, never an error.

    `agent` is the name by which a page may address this crawler (`named_agent`).
    """
    is_read = documents.is_read(result.fetch.content_type)
    # JSON and feeds have facts alone, documents a title and a text; headers remain evidence.
    page = documents.parse(
        body, url=result.fetch.final_url, content_type=result.fetch.content_type, agent=agent
    )
    parts = _Parts(result.fetch.final_url)
    robots = parts.get(
        "robots",
        lambda: canonical_evidence.page_robots(page, result.fetch.headers, agent=agent),
        _CAUTIOUS,
    )
    pin = parts.fields(page, extractors, texts)
    return PageAnalysis(
        evidence=parts.get("evidence", lambda: _evidence(page, result), None)
        or _evidence_of_fetch(result),
        links=parts.get("links", lambda: links.extract(page, limit=max_links), ()),
        fields=pin.fields,
        provenance=pin.provenance,
        page_type=pin.type,
        noindex=robots.noindex,
        nofollow=robots.nofollow,
        preferences=parts.get(
            "preferences", lambda: _statements(page, result, agent, drafts), _RESERVED
        ),
        unavailable_after_ms=unavailable_at_ms(robots.unavailable_after),
        complete=is_read
        and result.fetch.status == 200
        and not result.fetch.truncated
        and pin.complete
        and not (page.text is not None and page.problems),
        text_sketch=parts.sketch(page),
        feed=parts.get("feed", lambda: feed_of(page), None),
        traits=parts.get("traits", lambda: traits_of(page, result.job.url), None)
        if with_traits and is_read
        else None,
        problems=(*(page.problems if page.text is not None else ()), *parts.problems),
    )


def feed_of(page: Document) -> str | None:
    """
    The first feed that a page links to, if it is in the page's registered domain.

    Further ones are mostly of comments, or the same in another format.
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
    """The name by which pages and robots.txt address this crawler: its User-Agent's product."""
    return product_token(settings.user_agent) or "aragog"


class _Parts:
    """Runs the parts of an analysis, each on its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._sketch: str | None = None
        self.problems: list[str] = []

    def get(self, name: str, run: Callable[[], T], otherwise: T) -> T:
        """Return the result of `run`, or `otherwise` if it raises."""
        try:
            return run()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the other parts are usable after any error
            self.problems.append(f"{name}: {type(error).__name__}: {error}"[:200])
            _log_once(name, error, self._url)
            return otherwise

    def sketch(self, page: Document) -> str:
        """The sketch by which the page's text is compared; computed once."""
        if self._sketch is None:
            self._sketch = self.get("text sketch", lambda: compared_text.sketch(page), "")
        return self._sketch

    def fields(
        self, page: Document, extractors: Mapping[str, Extractor], texts: TextFields | None
    ) -> AnalyzedFields:
        """The fields of the Rich Pin, each extractor and the main text; one may fail alone."""
        pin = self.get("rich pin", lambda: extraction.extract_from(page), None)
        if pin is None:
            return AnalyzedFields()
        result = self.get("rich pin", lambda: _pin_fields(pin), AnalyzedFields())
        for name, extractor in extractors.items():
            run = partial(_with, result, name, extractor, ExtractorPage(page, pin))
            result = self.get(f"extractor {name}", run, replace(result, complete=False))
        if isinstance(extractors, Extractors) and (version := extractors.versions.of(page.url)):
            result = replace(
                result,
                fields={**result.fields, RULES_VERSION: orjson.dumps(version)},
                provenance={**result.provenance, RULES_VERSION: "settings"},
            )
        if texts is not None:
            nothing: Mapping[str, bytes] = {}
            found = self.get("main text", partial(texts, page), nothing)
            sources = {**result.provenance, **dict.fromkeys(found, "main text")}
            result = replace(result, fields={**result.fields, **found}, provenance=sources)
        return self._with_fingerprint(page, result)

    def _with_fingerprint(self, page: Document, result: AnalyzedFields) -> AnalyzedFields:
        if not (found := fingerprint_of(self.sketch(page))):
            return result
        fields = {**result.fields, FINGERPRINT: orjson.dumps(found)}
        return replace(result, fields=fields, provenance={**result.provenance, FINGERPRINT: "text"})


def _log_once(name: str, error: Exception, url: str) -> None:
    kind = (name, type(error).__name__)
    if kind not in _logged and len(_logged) < _MAX_LOGGED:
        _logged.add(kind)
        log.error("left out of a page: %s; first seen at %s", name, url, exc_info=error)


def fields_of(
    page: Document,
    extractors: Mapping[str, Extractor] = NO_EXTRACTORS,
    texts: TextFields | None = None,
) -> AnalyzedFields:
    """Read only a page's fields. A part that fails is logged, and its fields are missing."""
    return _Parts(page.url).fields(page, extractors, texts)


def text_fields(settings: PipelineSettings) -> TextFields | None:
    """The extractor of the main texts that are stored; None: none are."""
    if not settings.store_text:
        return None
    finder = main_text.load(settings.text_finder)
    return partial(main_text.to_fields, finder=finder, forms=settings.store_text)


def _pin_fields(pin: RichPin) -> AnalyzedFields:
    fields, provenance = rich_pins.to_fields(pin)
    return AnalyzedFields(fields, provenance, pin.type, not pin.problems)


def _with(
    before: AnalyzedFields, name: str, extractor: Extractor, page: ExtractorPage
) -> AnalyzedFields:
    """The fields with those of an extractor."""
    extracted = extractor(page)
    if extracted is None:
        return before
    own = to_fields(name, extracted)
    page_type = extracted.page_type if isinstance(extracted, Extracted) else None
    return AnalyzedFields(
        {**before.fields, **own},
        {**before.provenance, **dict.fromkeys(own, f"extractor {name}")},
        name if before.type == "page" and page_type is not None else before.type,
        before.complete,
    )


def _statements(
    page: Document, result: FetchResult, agent: str, drafts: Collection[str]
) -> tuple[UseStatement, ...]:
    """The statements of the response and the page about its uses."""
    headers = result.fetch.headers
    metas = [(name, meta.get("content") or "") for meta in page.metas if (name := meta.get("name"))]
    links = [
        ("license", link.attributes.get("type") or "", link.href)
        for link in page.link_elements
        if "license" in link.rel
    ]
    return (
        *preferences.of_headers(headers, drafts),
        *preferences.of_robots(from_headers(headers, agent=agent), "X-Robots-Tag"),
        *preferences.of_robots(page.robots, "meta robots"),
        *preferences.of_metas(metas),
        *preferences.of_license_links(links),
    )


def _evidence(page: Document, result: FetchResult) -> Evidence:
    return canonical_evidence.collect(
        page,
        url=result.job.url,
        final_url=result.fetch.final_url,
        status=result.fetch.status or 200,
        redirects=redirects_of(result),
        headers=result.fetch.headers,
    )


def _evidence_of_fetch(result: FetchResult) -> Evidence:
    """The evidence of the fetch, without that of the body."""
    return Evidence(
        url=result.job.url,
        final_url=result.fetch.final_url,
        status=result.fetch.status or 200,
        redirects=redirects_of(result),
    )


def redirects_of(result: FetchResult) -> tuple[Redirect, ...]:
    """The hops as evidence."""
    return tuple(Redirect(hop.url, hop.target, hop.permanent) for hop in result.fetch.hops)


def candidates(facts: Evidence) -> set[str]:
    """The other URLs whose stored results matter for the decision."""
    named = {*facts.link_header, *facts.link_canonical, facts.final_url}
    named |= {facts.og_url} if facts.og_url else set()
    named |= {facts.meta_refresh[1]} if facts.meta_refresh else set()
    return named - {facts.url}


def known_chains(
    urls: Iterable[str], known: Callable[[Sequence[str]], Mapping[str, KnownPage]]
) -> dict[str, KnownPage]:
    """
    What `known` reports of these URLs, and of the URLs that they are known to lead to.

    One read, and one more for each step of the longest chain.
    """
    pages: dict[str, KnownPage] = {}
    missing = set(urls)
    for _ in range(canonical.MAX_STEPS):
        if not missing:
            break
        found = known(sorted(missing))
        pages |= found
        onward = {page.redirects_to or page.canonical_url for page in found.values()}
        missing = {url for url in onward if url is not None and url not in pages}
    return pages


def decided(facts: Evidence, pages: Mapping[str, KnownPage]) -> Decision:
    """The canonical URL, with what the store knows of the candidates and where they lead."""
    stored = {url: page for url, page in pages.items() if url != facts.url}
    return canonical.decide(replace(facts, known=stored))
