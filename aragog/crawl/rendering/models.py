"""The input and the result of a rendering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A fetched page, as the browser gets it."""

    url: str
    """The URL that returned it, after redirects."""
    headers: Headers
    body: bytes
    """The decoded body, as it was fetched."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A GET that a page's script requests: a script, or data."""

    url: str
    """The URL as the page spelled it: absolute, without a fragment."""
    accept: str
    """The value of Accept."""
    origin: str | None
    """The origin that CORS compares the response's with; None: any page may use the response."""
    until_s: float
    """When the page's time is over, by the monotonic clock."""
    purposes: str | None = None
    """The purposes of the page's crawl, as its job carries them; None: those of the settings."""
    crawl: int = 0
    """The number of the crawl of the page; 0: none."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The response to a `ResourceRequest`."""

    url: str
    """The URL that returned it, after redirects."""
    status: int
    headers: Headers = ()
    body: bytes = b""


FetchResource = Callable[[ResourceRequest], Resource | str]
"""
Fetches one resource, or returns the reason why it cannot. It blocks, is called from several
threads, and raises only if our own infrastructure fails.
"""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The document after its scripts ran."""

    html: bytes
    """UTF-8, with a byte order mark: the response's own charset no longer applies."""
    requests: int
    """Scripts and data that it asked for, granted or not."""


@dataclass(frozen=True, slots=True)
class NotRendered:
    """The page could not be rendered; the fault is the page's, not ours."""

    reason: str
