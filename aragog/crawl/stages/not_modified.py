"""
Applies a 304 response to a stored page: its headers replace the stored ones (RFC 9111, 4.3.4).

With a 304, a site can withdraw permission for a purpose, declare another canonical URL, or shorten
a page's freshness. If a 304 changes a header that affects decisions, the stored page is analyzed
again with the new headers.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.crawl.pipeline.messages import FetchResult
from aragog.crawl.pipeline.ports import BodyStore
from aragog.crawl.stages import damaged
from aragog.errors import CorruptContent
from aragog.fetch_record.outcome import FetchRecord, Headers, OutcomeKind
from aragog.pages.preferences import header_statements, pack_statements, robots_statements
from aragog.urlstore.compression import compress
from aragog.urlstore.store import UrlStore
from richpins.robots_meta import from_headers

log = logging.getLogger(__name__)

DECISIVE_HEADERS = frozenset({
    "content-usage", "content-signal", "tdm-reservation", "tdm-policy", "x-robots-tag", "link",
    "cache-control", "content-language",
})  # fmt: skip
"""If these headers change, the stored page is analyzed again. `Expires` is not included, because
most servers send a new value each time. It still affects the next refresh."""
_UNREPLACED_HEADERS = frozenset({
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
    "proxy-authentication-info", "te", "trailer", "transfer-encoding", "upgrade",
    "content-length", "content-encoding", "content-type", "content-range",
})  # fmt: skip
"""Headers that describe the stored bytes or a connection (RFC 9111, 3.1 and 3.2)."""
_PER_RESPONSE_HEADERS = frozenset({"age", "date"})
"""After a 304, stored values of these headers are outdated even if the 304 lacks them."""


def merge_headers(stored: Headers, new_headers: Headers) -> Headers:
    """
    Return the headers of a stored response after a 304 (RFC 9111, 3.2).

    Each header of the 304 replaces all stored headers of that name, unless it describes the stored
    bytes.
    """
    connection_headers = {
        token.strip().lower()
        for name, value in new_headers
        if name.lower() == "connection"
        for token in value.split(",")
    }
    new_names = {name.lower() for name, _ in new_headers} - _UNREPLACED_HEADERS - connection_headers
    replaced_names = new_names | _PER_RESPONSE_HEADERS
    return (
        *((name, value) for name, value in stored if name.lower() not in replaced_names),
        *((name, value) for name, value in new_headers if name.lower() in new_names),
    )


def has_same_decisive_headers(headers: Headers, other_headers: Headers) -> bool:
    """Return True if all headers that affect decisions have the same values."""
    return _decisive_headers(headers) == _decisive_headers(other_headers)


def _decisive_headers(headers: Headers) -> list[tuple[str, str]]:
    """
    Return the headers that affect decisions, sorted by name. Headers with the same name keep their
    order.
    """
    lines = [
        (name.lower(), value.strip()) for name, value in headers if name.lower() in DECISIVE_HEADERS
    ]
    return sorted(lines, key=lambda line: line[0])


@dataclass(frozen=True, slots=True)
class ConfirmedResults:
    """A batch's results after its 304 responses were applied."""

    results: list[FetchResult]
    """All results. Pages to analyze again have their stored response and body."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """Compressed bodies of the pages to analyze again, by spool token."""
    responses: dict[str, FetchRecord] = field(default_factory=dict)
    """The 304s of these pages, by URL."""
    headers: dict[str, Headers] = field(default_factory=dict)
    """Headers of the stored responses after their 304s, by URL."""


@dataclass(frozen=True, slots=True)
class ConfirmedPages:
    """Applies 304 responses to stored pages."""

    store: UrlStore
    spool: BodyStore
    agent: str
    """The product token by which robots.txt and meta tags address this crawler."""
    drafts: Sequence[str] = ()
    """The draft standards whose statements about allowed uses are obeyed."""

    def apply(self, results: Sequence[FetchResult]) -> ConfirmedResults:
        """
        Apply the 304s to the stored pages. Returns all results, including pages that must be
        analyzed again. Takes one or two multi-gets.

        Safe to repeat: bodies from an earlier run expire in the spool.

        Raises:
            TransientError: Redis or the store did not respond.
        """
        confirmed = ConfirmedResults(list(results))
        stored = self._read_stored([r.job.url for r in results if _is_304(r)])
        for index, result in enumerate(results):
            if _is_304(result):
                stored_record = stored.get(result.job.url)
                confirmed.results[index] = self._apply_304(result, stored_record, confirmed)
        return confirmed

    def _apply_304(
        self, result: FetchResult, stored_record: FetchRecord | None, confirmed: ConfirmedResults
    ) -> FetchResult:
        """Return the result of one 304. Adds new headers, bodies and responses to `confirmed`."""
        url = result.job.url
        if stored_record is None or stored_record.final_url != result.fetch.final_url:
            return self._add_statements(result)
        headers = merge_headers(stored_record.headers, result.fetch.headers)
        confirmed.headers[url] = headers
        if has_same_decisive_headers(stored_record.headers, headers):
            return result
        new_result = self._as_new_fetch(result, stored_record, headers, confirmed.bodies)
        if new_result is None:
            return self._add_statements(result)
        confirmed.responses[url] = result.fetch
        return new_result

    def _read_stored(self, urls: Sequence[str]) -> Mapping[str, FetchRecord]:
        """Return the stored pages' fetch records, except those in a damaged file."""
        responses: dict[str, FetchRecord] = {}
        if urls:
            damaged.isolate(urls, lambda part: responses.update(self.store.pages.responses(part)))
        return responses

    def _as_new_fetch(
        self,
        result: FetchResult,
        stored_record: FetchRecord,
        headers: Headers,
        bodies: dict[str, bytes],
    ) -> FetchResult | None:
        """Return the stored page as if just fetched, or None if its body is unreadable."""
        try:
            content = self.store.content(result.job.url)
        except CorruptContent as error:
            log.warning("cannot analyze a page again after its 304: %s", error)
            content = None
        if content is None:
            return None
        blob = compress(content.body)
        (token,) = self.spool.put_many([blob])
        bodies[token] = blob
        response = replace(
            result.fetch,
            outcome=OutcomeKind.FETCHED,
            status=stored_record.status,
            headers=headers,
            content_type=stored_record.content_type,
            body_bytes=len(content.body),
            truncated=stored_record.truncated,
            rendering=stored_record.rendering,
        )
        digest = hashlib.sha256(content.body).hexdigest()
        return replace(result, fetch=response, token=token, body_hash=digest)

    def _add_statements(self, result: FetchResult) -> FetchResult:
        headers = result.fetch.headers
        statements = [
            *header_statements(headers, self.drafts),
            *robots_statements(from_headers(headers, agent=self.agent), "X-Robots-Tag"),
        ]
        if not statements:
            return result
        return replace(
            result, fetch=replace(result.fetch, page_preferences=pack_statements(statements))
        )


def _is_304(result: FetchResult) -> bool:
    return result.fetch.outcome is OutcomeKind.NOT_MODIFIED and not result.job.sitemap
