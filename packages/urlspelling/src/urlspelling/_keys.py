"""Storage keys of URLs."""

from __future__ import annotations

from hashlib import sha256

KEY_BYTES = 16


def url_key(normalized: str) -> bytes:
    """
    Return the key of a normalized URL: the first 16 bytes of its SHA-256.

    Keys are uniformly distributed, so no region and no prefix becomes a hot spot. The probability
    of a collision among 10^10 URLs is 10^-19; the store keeps the URL and checks it. 0.5 µs.
    """
    return sha256(normalized.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
