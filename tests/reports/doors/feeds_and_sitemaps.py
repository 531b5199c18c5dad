"""
Sitemaps and feeds: the URLs in a file.

Input: `file` (bytes), `url`, `content_type`. The answer has `urls`, `children`, `lastmod` by URL
(the first instant, UTC), `alternates` by URL, `invalid`, `complete`.
"""

from __future__ import annotations

from datetime import UTC, datetime

from aragog.pages import sitemaps
from tests.reports.doors._bytes import data


def answer(given):
    found = sitemaps.parse(
        data(given["file"]),
        given.get("url", "https://a.test/sitemap.xml"),
        given.get("content_type"),
    )
    entries = (*found.urls, *found.children)
    return {
        "urls": [e.url for e in found.urls],
        "children": [e.url for e in found.children],
        "lastmod": {
            e.url: datetime.fromtimestamp(e.lastmod_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for e in entries
            if e.lastmod_ms is not None
        },
        "alternates": {e.url: [list(a) for a in e.alternates] for e in entries if e.alternates},
        "invalid": found.invalid,
        "complete": found.complete,
        "count": len(found.urls),
    }
