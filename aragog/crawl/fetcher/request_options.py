"""`RequestOptions`: what the caller of one `Fetcher.fetch` chooses about its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aragog.crawl.egress.choice import ANY, EgressChoice
from aragog.crawl.fetcher.cookies import OriginCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """The arguments of `Fetcher.fetch` that apply to each request of a redirect chain."""

    etag: str | None = None
    """ETag of the stored copy; None: the request does not carry one."""
    last_modified: str | None = None
    """Last-Modified of the stored copy, as the origin sent it."""
    validators_url: str | None = None
    """The only URL that is requested with the validators; None: the first one."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent besides the usual ones, or instead of them; values of one line only."""
    method: str = "GET"
    """GET, HEAD or POST; a POST is never sent twice."""
    body: bytes = b""
    """The body of a POST."""
    error_body_bytes: int = 0
    """How much of the body of a 4xx or 5xx is read, as sent and decoded; 0: nothing."""
    egress: EgressChoice = ANY
    """The properties that choose the way out of each request."""
    cookies: OriginCookies | None = None
    """The session of an origin; None: cookies last for one fetch, if settings allow them."""
