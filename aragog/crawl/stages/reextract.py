"""
Extracts stored pages' fields again with the current extractor, without fetching anything.

It is safe to run twice. Pages that the current extractor has read are skipped. Fields carry the
time of their page's fetch, so they never replace newer ones.

A walk visits all row keys in order. The keys are evenly distributed, so the position shows the
progress. An interrupted walk resumes from its stored position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import orjson

from aragog.crawl.pipeline.messages import VERSION, check_version
from aragog.crawl.stages.page_analysis import AnalyzedFields, extract_fields, text_fields
from aragog.crawl.stages.page_limits import (
    MAX_RUNS_LOST,
    PageTooExpensive,
    RunMarks,
    limit_resources,
)
from aragog.errors import ContentReplaced, CorruptContent, InvalidMessage, TakenDown
from aragog.pages import main_text
from aragog.pages.extractors import load_all
from aragog.pages.rules_version import VERSION_FIELD as RULES_VERSION
from aragog.pages.rules_version import RulesVersions
from aragog.pages.selectors import Rules
from aragog.settings import PipelineSettings
from aragog.urlstore.item_files import is_stored_file
from aragog.urlstore.kept_for import USUAL, crawls_of, purposes_of
from aragog.urlstore.records import Content, Fact, Record, is_allowed
from aragog.urlstore.store import UrlStore
from richpins import documents, rich_pins

WALK = f"reextract {rich_pins.EXTRACTOR_VERSION}.{rich_pins.FIELDS_VERSION}"
"""The walk's name. Each new version of the extractor starts a new walk."""
_MARK_PREFIX = "reextract"
"""Distinguishes this stage's runs from those of `canonicalize` in `RunMarks`."""
_VERSION_FIELD = "page.extractor_version"
NO_RULES = RulesVersions((), {})


@dataclass(frozen=True, slots=True)
class ReextractBatch:
    """URLs of stored pages to extract again."""

    urls: tuple[str, ...]

    def wire(self) -> dict[str, Any]:
        return {"v": VERSION, "urls": list(self.urls)}

    @classmethod
    def read(cls, wire: Any) -> Self:
        """Parse a batch from JSON. Raises InvalidMessage if it cannot be read."""
        check_version(wire, "reextract")
        if not isinstance(wire.get("urls"), list):
            raise InvalidMessage("reextract", "has no list of URLs")
        return cls(tuple(str(url) for url in wire["urls"]))


@dataclass(frozen=True, slots=True)
class WalkPart:
    """A part of a walk."""

    urls: tuple[str, ...]
    """URLs whose content must be extracted again."""
    cursor: str
    """Where the walk resumes after this part."""
    done: float
    """The progress, from 0 to 1. Always 0 in a walk through one host."""


def walk(
    store: UrlStore,
    cursor: str | None,
    versions: Versions | None = None,
    *,
    host: str | None = None,
    everything: bool = False,
) -> Iterator[WalkPart]:
    """
    Yield the pages read with another version of the extractor or rules, in parts of 200 rows.

    Args:
        store: the pages.
        cursor: where an earlier walk stopped; None for the beginning.
        host: only visit pages of this host.
        everything: also visit pages read with the current version.
        versions: None if no main texts are stored and there are no rules.
    """
    while True:
        if host is None:
            page = store.pages.urls(cursor, 200)
            done = int(page.cursor[:8], 16) / 2**32 if page.cursor else 1.0
        else:
            page, done = store.pages.urls_of_host(host, cursor, 200), 0.0
        current = versions or Versions()
        urls = tuple(outdated_urls(store, page.items, current, everything=everything))
        yield WalkPart(urls, page.cursor or "", done)
        cursor = page.cursor
        if cursor is None:
            return


def text_version(settings: PipelineSettings) -> str:
    """Return the version of the main texts stored with these settings; empty if none are stored."""
    if not settings.store_text:
        return ""
    return main_text.stored_version(main_text.load(settings.text_finder), settings.store_text)


class Versions(NamedTuple):
    """The current versions of extractor, main texts and rules."""

    texts: str = ""
    """See `text_version`."""
    rules: RulesVersions = NO_RULES

    def fields(self, record: Record) -> dict[str, bytes]:
        """
        Return the page fields that record these versions. Without stored main texts, their version
        is omitted.
        """
        values = {_VERSION_FIELD: orjson.dumps(rich_pins.EXTRACTOR_VERSION)}
        if self.texts:
            values[main_text.VERSION_FIELD] = orjson.dumps(self.texts)
        if version := self.rules.of(str(record.facts.get("final_url") or record.canonical_url)):
            values[RULES_VERSION] = orjson.dumps(version)
        return values


def outdated_urls(
    store: UrlStore, urls: Sequence[str], versions: Versions, *, everything: bool = False
) -> Iterator[str]:
    """
    Yield the canonical URLs of pages whose content was read with another version, or of all pages
    with content if `everything` is set.
    """
    names = [_VERSION_FIELD, RULES_VERSION, *([main_text.VERSION_FIELD] if versions.texts else [])]
    for url, record in zip(urls, store.get_many(urls, names), strict=True):
        if record is None or not record.content_key or record.canonical_url != url:
            continue
        if is_stored_file(record):  # files are stored without analysis
            continue
        if everything or record.fields != versions.fields(record):
            yield url


@dataclass(frozen=True, slots=True)
class ReextractStage:
    """Extracts the fields of stored pages again."""

    store: UrlStore
    marks: RunMarks
    limits: PipelineSettings
    agent: str
    """The product token by which robots directives address this crawler."""
    rules: Rules = field(default_factory=dict)
    """Field rules for individual sites."""
    purposes: tuple[str, ...] = ()
    """The purposes in the settings. They apply to crawls that have no purposes of their own."""

    def run(self, batch: ReextractBatch) -> Counter[str]:
        return reextract_batch(
            batch,
            self.store,
            agent=self.agent,
            limits=self.limits,
            marks=self.marks,
            rules=self.rules,
            purposes=self.purposes,
        )


def reextract_batch(
    batch: ReextractBatch,
    store: UrlStore,
    *,
    agent: str,
    limits: PipelineSettings | None = None,
    marks: RunMarks | None = None,
    rules: Rules | None = None,
    purposes: Sequence[str] = (),
) -> Counter[str]:
    """
    Extract fields again, and count the outcomes.

    The counts are:

    - `read`: unchanged fields.
    - `changed`: changed fields.
    - `content`: the page has no readable content.
    - `reserved`: no crawl that keeps the page may use it for all of the crawl's purposes. The next
      fetch decides whether the page is deleted.
    - `given_up`: the page exceeds the `limits`, or `marks` show that it has killed two processes.

    `agent` is this crawler's product token; `rules` are `extract` in the settings, and `purposes`
    are the purposes in the settings.

    Raises:
        StoreUnavailable, ContentUnavailable: run it again.
    """
    counts: Counter[str] = Counter()
    for url in batch.urls:
        with suppress(TakenDown):
            run = partial(
                _reextract, url, store, limits or PipelineSettings(), agent, rules or {}, purposes
            )
            counts[run() if marks is None else _run_marked(url, marks, run)] += 1
    return counts


def _run_marked(url: str, marks: RunMarks, run: Callable[[], str]) -> str:
    try:
        return "given_up" if marks.start_run([_MARK_PREFIX, url]) >= MAX_RUNS_LOST else run()
    finally:
        marks.end_run([_MARK_PREFIX, url])


def _reextract(
    url: str,
    store: UrlStore,
    limits: PipelineSettings,
    agent: str,
    rules: Rules,
    purposes: Sequence[str],
) -> str:
    try:
        content = store.content(url)
    except (CorruptContent, ContentReplaced):  # if the page was replaced, the new fetch extracts it
        content = None
    if content is None:
        return "content"
    if not _may_be_used(content.facts, purposes):
        return "reserved"
    try:
        with limit_resources(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            result = _extract_fields(content, limits, agent, rules)
    except (PageTooExpensive, MemoryError):
        return "given_up"
    fetched_at_ms = int(content.facts.get("fetched_at_ms") or content.meta["fetched_at_ms"])
    changed = store.fields.replace(
        content.url, result.fields, result.provenance, at_ms=fetched_at_ms
    )
    versions = {_VERSION_FIELD, main_text.VERSION_FIELD, RULES_VERSION}
    return "changed" if changed - versions else "read"


def _may_be_used(facts: Mapping[str, Fact], default_purposes: Sequence[str]) -> bool:
    """
    Return True if a crawl that keeps the page may use it. `default_purposes` are the purposes in
    the settings.
    """
    purposes_by_crawl = map(purposes_of, crawls_of(facts) or {USUAL})
    crawls = (
        default_purposes if purposes is None else purposes.split() for purposes in purposes_by_crawl
    )
    return any(all(is_allowed(facts, purpose) for purpose in purposes) for purposes in crawls)


def _extract_fields(
    content: Content, limits: PipelineSettings, agent: str, rules: Rules
) -> AnalyzedFields:
    url = content.meta.get("url") or content.url
    final_url = str(content.facts.get("final_url") or url)
    content_type = content.meta.get("content_type") or None
    page = documents.parse(content.body, url=final_url, content_type=content_type, agent=agent)
    return extract_fields(page, load_all(limits.extractors, rules), text_fields(limits))
