"""Fetch settings for robots.txt, sitemaps, item files, and page resources."""

from __future__ import annotations

import dataclasses

from aragog.pages import sitemaps
from aragog.settings import FetchSettings, Settings

# RFC 9309 asks crawlers to follow five redirects (2.3.1.2) and to parse at least 500 KiB (2.5).
ROBOTS_REDIRECTS = 5
ROBOTS_BYTES = 512_000
# Includes framing. The body itself is truncated at `ROBOTS_BYTES`.
ROBOTS_WIRE_BYTES = 1 << 30


def for_robots(fetch: FetchSettings) -> FetchSettings:
    """Return settings for robots.txt: any content type, the first 500 KiB, and five redirects."""
    return dataclasses.replace(
        fetch,
        content_types=("*/*",),
        max_redirects=ROBOTS_REDIRECTS,
        max_body_bytes=ROBOTS_BYTES,
        max_wire_bytes=ROBOTS_WIRE_BYTES,
    )


def for_sitemaps(fetch: FetchSettings) -> FetchSettings:
    """Return settings for sitemaps: any content type, and the 50 MB that sitemaps.org allows."""
    return dataclasses.replace(
        fetch,
        content_types=("*/*",),
        max_body_bytes=sitemaps.MAX_BYTES,
        max_wire_bytes=sitemaps.MAX_BYTES,
    )


def for_files(fetch: FetchSettings) -> FetchSettings:
    """Return settings for item files: the types in `fetch.file_types`, and the limits for pages."""
    return dataclasses.replace(fetch, content_types=fetch.file_types)


def for_resources(settings: Settings) -> FetchSettings:
    """Return settings for page resources: any type, the rendering limits, and no credentials."""
    rendering = settings.rendering
    return dataclasses.replace(
        settings.fetch,
        content_types=("*/*",),
        deadline_s=min(settings.fetch.deadline_s, rendering.deadline_s),
        max_wire_bytes=min(settings.fetch.max_wire_bytes, rendering.max_bytes),
        max_body_bytes=rendering.max_bytes,
        origin_headers={},
        basic_auth={},
        cookies=False,
    )
