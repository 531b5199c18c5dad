"""Sitemaps: urlset, index, plain text, RSS and Atom, with or without gzip. No I/O."""

from aragog.pages.sitemaps.entries import MAX_URLS, SitemapUrl
from aragog.pages.sitemaps.parse import Sitemap, parse
from aragog.pages.sitemaps.unpacking import MAX_BYTES

__all__ = ["MAX_BYTES", "MAX_URLS", "Sitemap", "SitemapUrl", "parse"]
