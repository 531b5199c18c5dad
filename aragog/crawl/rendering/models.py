"""Input and result of rendering a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A fetched page, before rendering."""

    url: str
    """The final URL, after redirects."""
    headers: Headers
    body: bytes
    """The decoded body."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A GET request from a page, for a script or for data."""

    url: str
    """The URL: absolute, not normalized, without a fragment."""
    accept: str
    origin: str | None
    """The origin for the CORS check; None if any page may use the response."""
    deadline_s: float
    """The page's deadline, on the monotonic clock."""
    purposes: str | None = None
    """The crawl's purposes. None means the purposes in the settings."""
    crawl: int = 0
    """The crawl's number; 0 for none."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The response to a `ResourceRequest`."""

    url: str
    """The final URL, after redirects."""
    status: int
    headers: Headers = ()
    body: bytes = b""


FetchResource = Callable[[ResourceRequest], Resource | str]
"""Fetches one resource, or returns why it did not. Blocks. Called from several threads. Raises only
if our own infrastructure fails."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """The document after its scripts have run."""

    html: bytes
    """
    In UTF-8 with a byte order mark, because the charset in the response's headers no longer
    applies.
    """
    requests: int
    """Number of requested scripts and data resources, including refused ones."""


@dataclass(frozen=True, slots=True)
class NotRendered:
    """The page could not be rendered, because of the page itself."""

    reason: str
