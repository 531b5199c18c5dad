"""
Signatures of webhook deliveries.

Receivers use `Verifier`, which rejects unsigned and old deliveries. It also detects deliveries that
the sender repeats, or an attacker replays, within ten minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from enum import StrEnum

import orjson

MAX_AGE_S = 300.0
MAX_IDS = 100_000
MAX_HEADER_CHARS = 1000


class Verdict(StrEnum):
    """Whether a receiver accepts, ignores, or rejects a delivery."""

    NEW = "new"
    """Process the delivery and return a 2xx status."""
    DUPLICATE = "duplicate"
    """Already accepted. Return a 2xx status without processing the delivery again."""
    REFUSED = "refused"
    """The delivery is too old, or not from the sender. Return 400."""


def signature(secret: str, at_s: int, body: bytes) -> str:
    """Return `t=<seconds>,v1=<hex>`, where hex is HMAC-SHA256(secret, seconds + "." + body)."""
    digest = hmac.new(secret.encode(), b"%d." % at_s + body, hashlib.sha256)
    return f"t={at_s},v1={digest.hexdigest()}"


class Verifier:
    """
    Checks the deliveries of one webhook. Threads may share it.

    Checking only the signature would let an attacker replay a delivery until its signature is too
    old.

    Args:
        secret: the webhook's secret.
        within_s: maximum age of a signature. IDs are kept for twice as long.
    """

    def __init__(self, secret: str, *, within_s: float = MAX_AGE_S) -> None:
        self._secret = secret
        self._within_s = within_s
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def check(self, header: str | None, body: bytes, *, now_s: float) -> Verdict:
        """
        Check a delivery and remember its ID.

        Args:
            header: the value of the header Aragog-Signature.
            body: exactly the received bytes.
            now_s: seconds since the epoch.
        """
        if not self._is_signed(header, body, now_s):
            return Verdict.REFUSED
        try:
            delivery_id = orjson.loads(body)["id"]
        except (ValueError, KeyError, TypeError):
            return Verdict.REFUSED
        if not isinstance(delivery_id, str):
            return Verdict.REFUSED
        with self._lock:
            self._forget_expired(now_s)
            if delivery_id in self._seen:
                return Verdict.DUPLICATE
            self._seen[delivery_id] = now_s
            return Verdict.NEW

    def forget(self, delivery_id: str) -> None:
        """Forget a delivery that could not be processed, so that its next attempt is accepted."""
        with self._lock:
            self._seen.pop(delivery_id, None)

    def _is_signed(self, header: str | None, body: bytes, now_s: float) -> bool:
        if not header or len(header) > MAX_HEADER_CHARS:
            return False
        parts = dict(part.strip().partition("=")[::2] for part in header.split(","))
        at, received = parts.get("t", ""), parts.get("v1", "").encode("utf-8", "replace")
        if not (at.isascii() and at.isdecimal() and len(at) <= 15):
            return False
        if abs(now_s - int(at)) > self._within_s:
            return False
        expected = signature(self._secret, int(at), body).rpartition("v1=")[2]
        return hmac.compare_digest(expected.encode(), received)

    def _forget_expired(self, now_s: float) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if len(self._seen) < MAX_IDS and now_s - self._seen[oldest] <= 2 * self._within_s:
                break
            del self._seen[oldest]
