"""The input and the result of a rendering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A fetched page, as passed to the browser."""

    url: str
    """The URL that returned the page, after redirects."""
    headers: Headers
    body: bytes
    """The decoded body of the response."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A GET by a page's script, for a script or data."""

    url: str
    """The URL as the page spelled it: absolute, without a fragment."""
    accept: str
    """The value of Accept."""
    origin: str | None
    """The origin to check with CORS; None if any page may use the response."""
    until_s: float
    """The page's deadline, by the monotonic clock."""
    purposes: str | None = None
    """The purposes of the page's crawl, from its job; None for those of the settings."""
    crawl: int = 0
    """The number of the page's crawl; 0 for none."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The response to a `ResourceRequest`."""

    url: str
    """The URL that returned the resource, after redirects."""
    status: int
    headers: Headers = ()
    body: bytes = b""


FetchResource = Callable[[ResourceRequest], Resource | str]
"""
Fetches one resource, or returns why it cannot. It blocks, is called from several threads, and
raises only if our own infrastructure fails.
"""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The document after its scripts ran."""

    html: bytes
    """UTF-8 with a byte order mark, because the response's own charset no longer applies."""
    requests: int
    """The number of scripts and data that the page requested, including refused ones."""


@dataclass(frozen=True, slots=True)
class NotRendered:
    """The page could not be rendered because of a fault of the page itself."""

    reason: str
