"""Options for the requests of `Fetcher.fetch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.cookies import OriginCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The arguments of `Fetcher.fetch` that apply to each request of a redirect chain."""

    etag: str | None = None
    """The stored copy's ETag, sent as a validator, or None."""
    last_modified: str | None = None
    """The stored copy's Last-Modified, as the origin sent it."""
    validators_url: str | None = None
    """The only URL requested with the validators; the first URL if None."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Additional headers. They replace the usual headers of the same name. Values must be single
    lines."""
    method: str = "GET"
    """GET, HEAD or POST. A POST is never sent twice."""
    body: bytes = b""
    error_body_bytes: int = 0
    """How much of a 4xx or 5xx response's body to read, both encoded and decoded; 0 for none."""
    egress: EgressContext = ANY_CONTEXT
    """What the egress rules depend on, besides the URL."""
    cookies: OriginCookies | None = None
    """A session with an origin. If None, cookies last for one fetch, if the settings allow them."""
