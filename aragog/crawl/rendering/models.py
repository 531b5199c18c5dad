"""The input and the result of rendering a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlainPage:
    """A fetched page, before rendering."""

    url: str
    """The URL of the response, after redirects."""
    headers: Headers
    body: bytes
    """The decoded body."""


@dataclass(frozen=True, slots=True)
class ResourceRequest:
    """A GET request from a page, for a script or for data."""

    url: str
    """The absolute URL that the page requested, not normalized and without a fragment."""
    accept: str
    """The Accept header."""
    origin: str | None
    """The origin for the CORS check. None if any page may use the response."""
    until_s: float
    """The page's deadline, on the monotonic clock."""
    purposes: str | None = None
    """The purposes of the page's crawl, from its job. None for those in the settings."""
    crawl: int = 0
    """The number of the page's crawl. 0 if it has none."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The response to a `ResourceRequest`."""

    url: str
    """The URL of the response, after redirects."""
    status: int
    headers: Headers = ()
    body: bytes = b""


FetchResource = Callable[[ResourceRequest], Resource | str]
"""Fetches one resource, or returns why it was not fetched. Blocks. Called from several threads.
Raises only if our own infrastructure fails."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The document after its scripts ran."""

    html: bytes
    """
    The document in UTF-8, with a byte order mark, because the charset in the response's headers no
    longer applies.
    """
    requests: int
    """How many scripts and data resources the page requested, including refused ones."""


@dataclass(frozen=True, slots=True)
class NotRendered:
    """The page could not be rendered, and the cause is the page itself."""

    reason: str
