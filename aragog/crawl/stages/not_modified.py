"""
Pages that a 304 confirms: its header fields replace those of the stored response (RFC 9111, 4.3.4).

A site may withdraw a page for a purpose, name another canonical URL or shorten its freshness by a
304 alone. If it changes a field that a decision is read from, the stored page is read again with
the new fields, as if it had just been fetched; else the stored page stays as it is.
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
from aragog.pages.preferences import of_headers, of_robots, packed
from aragog.urlstore.compression import compress
from aragog.urlstore.store import UrlStore
from richpins.robots_meta import from_headers

log = logging.getLogger(__name__)

DECIDING = frozenset({
    "content-usage", "content-signal", "tdm-reservation", "tdm-policy", "x-robots-tag", "link",
    "cache-control", "content-language",
})  # fmt: skip
"""
Fields for which a stored page is read again. `Expires` is not among them: most servers send another
one each time. It counts for the next refresh, like every field of a 304.
"""
_NOT_REPLACED = frozenset({
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization",
    "proxy-authentication-info", "te", "trailer", "transfer-encoding", "upgrade",
    "content-length", "content-encoding", "content-type", "content-range",
})  # fmt: skip
"""Fields that describe the bytes of the stored response or a connection (RFC 9111, 3.1 and 3.2)."""
_OF_ONE_RESPONSE = frozenset({"age", "date"})
"""A 304 without them was generated now: those of the stored response are too old."""


def with_fields_of(stored: Headers, confirming: Headers) -> Headers:
    """
    The headers of a stored response after a 304 (RFC 9111, 3.2). Pure.

    Every field of the 304 replaces all lines of that name, except those that describe the stored
    bytes; what it does not have stays.
    """
    own = {
        token.strip().lower()
        for name, value in confirming
        if name.lower() == "connection"
        for token in value.split(",")
    }
    new = {name.lower() for name, _ in confirming} - _NOT_REPLACED - own
    replaced = new | _OF_ONE_RESPONSE
    return (
        *((name, value) for name, value in stored if name.lower() not in replaced),
        *((name, value) for name, value in confirming if name.lower() in new),
    )


def decide_alike(one: Headers, other: Headers) -> bool:
    """Whether two lists of headers have the same fields that decisions are read from. Pure."""
    return _deciding(one) == _deciding(other)


def _deciding(headers: Headers) -> list[tuple[str, str]]:
    """Sorted by name; the order of the lines of one name counts."""
    lines = [(name.lower(), value.strip()) for name, value in headers if name.lower() in DECIDING]
    return sorted(lines, key=lambda line: line[0])


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the 304s of a batch mean."""

    results: list[FetchResult]
    """All results of the batch; of a page that is read again, the stored response with its body."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    """The compressed bodies of the pages that are read again, by token."""
    responses: dict[str, FetchRecord] = field(default_factory=dict)
    """The 304 of each of them, by URL."""
    headers: dict[str, Headers] = field(default_factory=dict)
    """The headers of each stored response after its 304, by URL."""


@dataclass(frozen=True, slots=True)
class ConfirmedPages:
    """Finds the stored pages that a 304 changes."""

    store: UrlStore
    spool: BodyStore
    agent: str
    """The name by which pages address this crawler."""
    drafts: Sequence[str] = ()
    """Drafts whose statements about uses are read."""

    def of(self, results: Sequence[FetchResult]) -> Confirmed:
        """
        The results with those pages that must be read again; one or two multi-gets for all 304s.

        Safe to repeat: a body that was put into the spool before expires there.

        Raises:
            TransientError: Redis or the store did not answer.
        """
        confirmed = Confirmed(list(results))
        stored = self._stored([r.job.url for r in results if _is_confirming(r)])
        for place, result in enumerate(results):
            if _is_confirming(result):
                before = stored.get(result.job.url)
                confirmed.results[place] = self._applied(result, before, confirmed)
        return confirmed

    def _applied(
        self, result: FetchResult, before: FetchRecord | None, confirmed: Confirmed
    ) -> FetchResult:
        """The result of one 304 and, in `confirmed`, what else follows from it."""
        url = result.job.url
        if before is None or before.final_url != result.fetch.final_url:
            return self._stricter(result)
        headers = with_fields_of(before.headers, result.fetch.headers)
        confirmed.headers[url] = headers
        if decide_alike(before.headers, headers):
            return result
        if (again := self._again(result, before, headers, confirmed.bodies)) is None:
            return self._stricter(result)
        confirmed.responses[url] = result.fetch
        return again

    def _stored(self, urls: Sequence[str]) -> Mapping[str, FetchRecord]:
        """The responses that brought the stored pages; none of those in a damaged file."""
        found: dict[str, FetchRecord] = {}
        if urls:
            damaged.apart(urls, lambda some: found.update(self.store.pages.responses(some)))
        return found

    def _again(
        self,
        result: FetchResult,
        before: FetchRecord,
        headers: Headers,
        bodies: dict[str, bytes],
    ) -> FetchResult | None:
        """The stored response as if it came now, with its body; None if that cannot be read."""
        try:
            content = self.store.content(result.job.url)
        except CorruptContent as error:
            log.warning("a page cannot be read again after its 304: %s", error)
            content = None
        if content is None:
            return None
        blob = compress(content.body)
        (token,) = self.spool.put_many([blob])
        bodies[token] = blob
        response = replace(
            result.fetch,
            outcome=OutcomeKind.FETCHED,
            status=before.status,
            headers=headers,
            content_type=before.content_type,
            body_bytes=len(content.body),
            truncated=before.truncated,
            rendering=before.rendering,
        )
        digest = hashlib.sha256(content.body).hexdigest()
        return replace(result, fetch=response, token=token, body_hash=digest)

    def _stricter(self, result: FetchResult) -> FetchResult:
        """The 304 with the statements of its own headers, which are added to those of the page."""
        headers = result.fetch.headers
        said = [
            *of_headers(headers, self.drafts),
            *of_robots(from_headers(headers, agent=self.agent), "X-Robots-Tag"),
        ]
        if not said:
            return result
        return replace(result, fetch=replace(result.fetch, page_preferences=packed(said)))


def _is_confirming(result: FetchResult) -> bool:
    return result.fetch.outcome is OutcomeKind.NOT_MODIFIED and not result.job.sitemap
