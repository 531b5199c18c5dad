"""`RequestOptions`: how the caller of `Fetcher.fetch` wants the requests to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aragog.crawl.egress.choice import ANY, EgressChoice
from aragog.crawl.fetcher.cookies import OriginCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The arguments of `Fetcher.fetch` that apply to each request of a redirect chain."""

    etag: str | None = None
    """ETag of the stored copy, sent as a validator. Not sent if None."""
    last_modified: str | None = None
    """Last-Modified of the stored copy, as the origin sent it."""
    validators_url: str | None = None
    """The only URL that is requested with the validators; the first one if None."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added to the usual headers, or replacing them. Values must be single lines."""
    method: str = "GET"
    """GET, HEAD or POST; a POST is never sent twice."""
    body: bytes = b""
    """The body of a POST."""
    error_body_bytes: int = 0
    """How much of the body of a 4xx or 5xx is read, both as sent and decoded; 0 for none."""
    egress: EgressChoice = ANY
    """The properties that choose the way out of each request."""
    cookies: OriginCookies | None = None
    """An origin's session. If None, cookies last for one fetch, if settings allow them."""
