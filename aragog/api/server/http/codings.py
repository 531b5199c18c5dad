"""The content codings of responses, and those that a client accepts."""

from __future__ import annotations

import re

CODINGS = ("zstd", "gzip")
"""In the server's order of preference."""
_ZERO_WEIGHT = re.compile(r"q=0(?:\.0{0,3})?$")


def accepted_codings(accepted: str) -> tuple[str, ...]:
    """Return those of `CODINGS` that an Accept-Encoding header accepts, in order of preference."""
    names = {
        name.strip().lower()
        for part in accepted.split(",")
        for name, _, weight in [part.partition(";")]
        if not _ZERO_WEIGHT.match(weight.strip().lower())
    }
    return tuple(coding for coding in CODINGS if coding in names)
