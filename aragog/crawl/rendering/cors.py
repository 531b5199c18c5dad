"""Which responses the scripts of a page may read, and what they see of them. Pure."""

from __future__ import annotations

from aragog.crawl.rendering.models import Headers, Resource, ResourceRequest
from aragog.errors import InvalidUrl
from urlspelling.domain import origin

ALLOW_ORIGIN = "access-control-allow-origin"
# Headers that define how a body is read or what a script may do, and those of APIs. No cookies.
VISIBLE_HEADERS = frozenset(
    {
        "access-control-expose-headers", "content-language", "content-security-policy",
        "content-type", "etag", "last-modified", "link",
    }
)  # fmt: skip


def is_readable(resource: Resource, request: ResourceRequest) -> bool:
    """Whether CORS lets the page read the response; all requests are without credentials."""
    if request.origin is None or origin_of(resource.url) == request.origin:
        return True
    allowed = next((v for k, v in resource.headers if k.lower() == ALLOW_ORIGIN), None)
    return allowed in ("*", request.origin)


def cors_headers(page_origin: str) -> dict[str, str]:
    """
    The CORS headers of a readable response.

    Playwright would let the page read each response that does not mention CORS, so responses that
    are not readable fail instead.
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
    """The origin of an http(s) URL; None of any other."""
    try:
        return origin(url)
    except InvalidUrl:
        return None
