"""The entries of a sitemap."""

from __future__ import annotations

from dataclasses import dataclass

from aragog.errors import InvalidUrl
from aragog.urls import normalize

MAX_URLS = 50_000
MAX_ENTRIES = 100_000
"""Maximum number of entries that are read, including repeated and invalid ones."""
# sitemaps.org: a URL has less than 2,048 characters; escapes make it longer.
LINE_BYTES = 8192


@dataclass(frozen=True, slots=True)
class SitemapUrl:
    """One entry of a sitemap."""

    url: str
    """Normalized."""
    lastmod_ms: int | None = None
    """
    Milliseconds since the epoch; a date without a time means its first moment in UTC. None if not
    given.
    """


class EntryCollector:
    """The entries found so far; the first entry for a URL is kept."""

    def __init__(self, base: str) -> None:
        self._base = base
        self.urls: dict[str, SitemapUrl] = {}
        self.children: dict[str, SitemapUrl] = {}
        self.invalid = 0
        self.cut = False
        """True once an entry was left out, because there are as many as a file may have."""
        self._entries = 0

    def add(
        self, into: dict[str, SitemapUrl], location: str | None, lastmod_ms: int | None = None
    ) -> None:
        if len(self.urls) + len(self.children) >= MAX_URLS or self._entries >= MAX_ENTRIES:
            self.cut = True
            return
        self._entries += 1
        try:
            url = normalize((location or "").strip(), self._base) if location else ""
        except InvalidUrl:
            url = ""
        if url:
            into.setdefault(url, SitemapUrl(url, lastmod_ms))
        else:
            self.invalid += 1
