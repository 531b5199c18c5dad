"""What speaks for one URL or another, and what was decided: values only, all URLs normalized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Redirect:
    """One hop: from `url` to `target`, both normalized."""

    url: str
    target: str
    permanent: bool


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What was seen when a URL itself was fetched."""

    status: int | None = None
    canonical_url: str | None = None
    """What it declared or was decided to be; None when it declared nothing."""
    redirects_to: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    All that speaks for one URL or another. Every URL in it is absolute and normalized; a candidate
    that could not be normalized stands in `unparsable` with its source.
    """

    url: str
    """The URL that was asked for."""
    final_url: str
    """The URL that gave the page."""
    status: int = 200
    redirects: tuple[Redirect, ...] = ()
    link_header: tuple[str, ...] = ()
    """Targets of `Link: <…>; rel=canonical`, in order."""
    link_canonical: tuple[str, ...] = ()
    """`<link rel=canonical>` inside the head, in order."""
    body_canonical: tuple[str, ...] = ()
    """The same outside the head: recorded, never trusted."""
    og_url: str | None = None
    meta_refresh: tuple[float, str] | None = None
    """Delay in seconds and target."""
    is_amp: bool = False
    amp_url: str | None = None
    """The page's AMP version, as `<link rel=amphtml>` gives it."""
    hreflang: tuple[tuple[str, str], ...] = ()
    """(language, URL): other languages are other pages; recorded, never merged."""
    unparsable: tuple[tuple[str, str], ...] = ()
    """(source, text as found)."""
    known: Mapping[str, KnownPage] = field(default_factory=dict)
    """What the store knows of candidates, by URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The canonical URL, and why."""

    canonical_url: str
    provisional: bool
    """True until the canonical URL itself was fetched and did not contradict."""
    rule: str
    """The source that decided: self, redirect, link_header, link_canonical, og_url, …"""
    reasons: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str, str], ...] = ()
    """(source, URL, why not)."""
    aliases: tuple[str, ...] = ()
    """The other URLs of this fetch that are the same page. A URL behind a temporary redirect is
    not among them: it is a page of its own that others borrow."""
