"""
Select the response headers to store with a fetch, within size limits. Pure.

All are kept, in their order, up to a bound of bytes: a response has 1 to 2 KB of headers, and some
sites send 60 KB. Headers that later stages read are kept in any case. The value of a cookie is
dropped, because it may be a session that the origin gave to this crawler: a reader of the store,
of a WARC export or of the API should not be able to use it. Its name and attributes stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aragog.fetcher.outcome import Headers, Hop

NEEDED = frozenset({
    "content-type", "etag", "last-modified", "link", "cache-control", "expires", "x-robots-tag",
    "content-language", "retry-after", "location", "date", "age",
})  # fmt: skip
"""What later stages read."""
COOKIES = frozenset({"set-cookie", "set-cookie2"})
MOST_BYTES = 16_384
"""Limit of names and values of the final response, in characters; they are Latin-1."""
MOST_HOP_BYTES = 4_096
"""The same of a redirect; there may be ten of them."""


def kept_headers(headers: Headers, most_bytes: int = MOST_BYTES) -> Headers:
    """The headers to keep; those that exceed the bound are left out, one by one."""
    left = most_bytes - sum(
        len(name) + len(value) for name, value in headers if name.lower() in NEEDED
    )
    kept: list[tuple[str, str]] = []
    for name, value in headers:
        low = name.lower()
        if low in NEEDED:
            kept.append((name, value))
            continue
        shown = _without_value(value) if low in COOKIES else value
        size = len(name) + len(shown)
        if size <= left:
            left -= size
            kept.append((name, shown))
    return tuple(kept)


def kept_hops(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """The redirects with the headers to keep and rounded latencies; safe to repeat."""
    return tuple(
        replace(
            hop,
            headers=kept_headers(hop.headers, MOST_HOP_BYTES),
            latency_ms=None if hop.latency_ms is None else round(hop.latency_ms, 1),
        )
        for hop in hops
    )


def _without_value(cookie: str) -> str:
    """`name=secret; Path=/` as `name=; Path=/`."""
    pair, semicolon, attributes = cookie.partition(";")
    return f"{pair.partition('=')[0]}={semicolon}{attributes}"
