"""Parse `srcset`, which lists the URLs of one picture by size (HTML Standard, 4.8.4.2.1)."""

from __future__ import annotations

import re

_SRCSET_CANDIDATE = re.compile(r"[\s,]*(?P<url>\S+)(?P<sizes>[^,(]*(?:\([^)]*\)[^,(]*)*)")
_SRCSET_SIZE = re.compile(r"(?:^|\s)(\d+(?:\.\d+)?)[wx](?=\s|$)")
_MAX_CANDIDATES = 50
_MAX_CHARS = 20_000


def largest(srcset: str) -> str | None:
    """
    Return the URL of the largest picture as written, or None.

    A comma inside a URL does not separate URLs, because image servers use commas. If sizes are
    equal or missing, the first URL is returned.
    """
    best: tuple[float, str] | None = None
    position, text = 0, srcset[:_MAX_CHARS]
    for _ in range(_MAX_CANDIDATES):
        match = _SRCSET_CANDIDATE.match(text, position)
        if match is None:
            break
        url = match["url"].rstrip(",")
        ends_with_comma = url != match["url"]
        position = match.end("url") if ends_with_comma else match.end()
        size = None if ends_with_comma else _SRCSET_SIZE.search(match["sizes"])
        pixels = float(size[1]) if size else 0.0
        if url and (best is None or pixels > best[0]):
            best = pixels, url
    return best[1] if best else None
