"""The input and result of a canonical decision: values with normalized URLs."""

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
    """The stored result of fetching a URL."""

    status: int | None = None
    canonical_url: str | None = None
    """Its canonical URL, declared or decided; None if it declared none."""
    redirects_to: str | None = None
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """
    The evidence for the canonical URL of one page.

    Every URL is absolute and normalized. `unparsable` has the candidates that cannot be normalized.
    """

    url: str
    """The requested URL."""
    final_url: str
    """The URL of the final response."""
    status: int = 200
    redirects: tuple[Redirect, ...] = ()
    link_header: tuple[str, ...] = ()
    """Targets of `Link: <…>; rel=canonical`, in order."""
    link_canonical: tuple[str, ...] = ()
    """`<link rel=canonical>` in the head, in order."""
    body_canonical: tuple[str, ...] = ()
    """The same outside the head: recorded but ignored."""
    og_url: str | None = None
    meta_refresh: tuple[float, str] | None = None
    """Delay in seconds and target."""
    is_amp: bool = False
    amp_url: str | None = None
    """The AMP version of the page, from `<link rel=amphtml>`."""
    hreflang: tuple[tuple[str, str], ...] = ()
    """(language, URL): translations are other pages; recorded but never merged."""
    unparsable: tuple[tuple[str, str], ...] = ()
    """(source, original text)."""
    known: Mapping[str, KnownPage] = field(default_factory=dict)
    """Stored results of candidates, by URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The canonical URL and the reasons for it."""

    canonical_url: str
    provisional: bool
    """True until the canonical URL was fetched and did not contradict."""
    rule: str
    """The source that decided: self, redirect, link_header, link_canonical, og_url, …"""
    reasons: tuple[str, ...] = ()
    rejected: tuple[tuple[str, str, str], ...] = ()
    """(source, URL, reason)."""
    aliases: tuple[str, ...] = ()
    """The other URLs of this fetch that are the same page. The target of a temporary redirect is
    not included: it is a separate page."""
