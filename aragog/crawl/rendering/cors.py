"""Which responses the scripts of a page may read, and which of their headers. Pure."""

from __future__ import annotations

from aragog.crawl.rendering.models import Headers, Resource, ResourceRequest
from aragog.errors import InvalidUrl
from urlspelling.domain import origin

ALLOW_ORIGIN = "access-control-allow-origin"
# Headers that affect how a body is read or what a script may do, and headers of APIs. No cookies.
VISIBLE_HEADERS = frozenset(
    {
        "access-control-expose-headers", "content-language", "content-security-policy",
        "content-type", "etag", "last-modified", "link",
    }
)  # fmt: skip


def is_readable(resource: Resource, request: ResourceRequest) -> bool:
    """True if CORS lets the page read the response. All requests are without credentials."""
    if request.origin is None or origin_of(resource.url) == request.origin:
        return True
    allowed = next((v for k, v in resource.headers if k.lower() == ALLOW_ORIGIN), None)
    return allowed in ("*", request.origin)


def cors_headers(page_origin: str) -> dict[str, str]:
    """
    The CORS headers of a readable response.

    Responses that are not readable fail instead of lacking these headers, because Playwright lets
    a page read responses without CORS headers.
    """
    return {ALLOW_ORIGIN: page_origin, "access-control-allow-credentials": "true"}


def visible_headers(headers: Headers) -> dict[str, str]:
    """The headers that a page may see, by name in lower case."""
    visible: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        if low in VISIBLE_HEADERS or low.startswith("x-"):
            visible[low] = f"{visible[low]}, {value}" if low in visible else value
    return visible


def origin_of(url: str) -> str | None:
    """The origin of an http(s) URL; None for other URLs."""
    try:
        return origin(url)
    except InvalidUrl:
        return None
