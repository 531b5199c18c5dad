"""Decides which responses a page's scripts may read, and which of their headers."""

from __future__ import annotations

from aragog.crawl.rendering.models import Headers, Resource, ResourceRequest
from aragog.errors import InvalidUrl
from urlspelling.domain import origin

ALLOW_ORIGIN = "access-control-allow-origin"
# Headers that affect how a body is read or what a script may do, or that APIs use. Must never
# include cookies.
VISIBLE_HEADERS = frozenset(
    {
        "access-control-expose-headers", "content-language", "content-security-policy",
        "content-type", "etag", "last-modified", "link",
    }
)  # fmt: skip


def is_readable(resource: Resource, request: ResourceRequest) -> bool:
    """Return True if CORS lets the page read the response to a request without credentials."""
    if request.origin is None or origin_of(resource.url) == request.origin:
        return True
    allowed_origin = next((v for k, v in resource.headers if k.lower() == ALLOW_ORIGIN), None)
    return allowed_origin in ("*", request.origin)


def cors_headers(page_origin: str) -> dict[str, str]:
    """
    Return the CORS headers of a readable response.

    Unreadable responses must fail, because with Playwright, pages can read responses without CORS
    headers.
    """
    return {ALLOW_ORIGIN: page_origin, "access-control-allow-credentials": "true"}


def visible_headers(headers: Headers) -> dict[str, str]:
    """Return the headers that scripts may read, by lower-case name."""
    visible: dict[str, str] = {}
    for name, value in headers:
        lower_name = name.lower()
        if lower_name in VISIBLE_HEADERS or lower_name.startswith("x-"):
            visible[lower_name] = (
                f"{visible[lower_name]}, {value}" if lower_name in visible else value
            )
    return visible


def origin_of(url: str) -> str | None:
    """Return the origin of an http(s) URL; None for any other URL."""
    try:
        return origin(url)
    except InvalidUrl:
        return None
