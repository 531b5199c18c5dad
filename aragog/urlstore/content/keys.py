"""The content store's key of a URL. Pure."""

from __future__ import annotations

import hashlib


def content_key(url: str) -> str:
    """The SHA-256 of a canonical URL in hex."""
    return hashlib.sha256(url.encode()).hexdigest()
