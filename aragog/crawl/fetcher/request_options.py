"""Options that decide how `Fetcher.fetch` sends its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aragog.crawl.egress.rules import ANY, EgressContext
from aragog.crawl.fetcher.cookies import OriginCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The arguments of `Fetcher.fetch` that apply to each request of a redirect chain."""

    etag: str | None = None
    """ETag of the stored copy, sent as a validator; None if there is none."""
    last_modified: str | None = None
    """Last-Modified of the stored copy, as the origin sent it."""
    validators_url: str | None = None
    """The only URL that is requested with the validators; the first URL if None."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that are added to the usual ones, or replace them. Values must be single lines."""
    method: str = "GET"
    """GET, HEAD or POST. A POST is never sent twice."""
    body: bytes = b""
    """The body of a POST."""
    error_body_bytes: int = 0
    """How much of a 4xx or 5xx response's body to read, both as sent and decoded; 0 for none."""
    egress: EgressContext = ANY
    """What the egress rules depend on besides each request's URL."""
    cookies: OriginCookies | None = None
    """A session with an origin. If None, cookies last for one fetch, if the settings allow
    cookies."""
