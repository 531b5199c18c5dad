"""
Signatures of webhook deliveries: made by the sender, checked by receivers.

A receiver uses `Verifier`. It refuses deliveries that are not signed or too old, and recognizes
those of the last ten minutes, whether the sender repeated them or an attacker replayed them.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from enum import StrEnum

import orjson

WITHIN_S = 300.0
MOST_IDS = 100_000
MOST_HEADER_CHARS = 1000


class Verdict(StrEnum):
    """The verdict on a delivery: take it, ignore it, or refuse it."""

    NEW = "new"
    """Take it; answer 2xx."""
    DUPLICATE = "duplicate"
    """It was accepted before: answer 2xx, do nothing."""
    REFUSED = "refused"
    """It is not from the sender, or too old: answer 400."""


def signature(secret: str, at_s: int, body: bytes) -> str:
    """`t=<seconds>,v1=<hex>`: HMAC-SHA256 by the secret over the seconds, a full stop, the body."""
    signed = hmac.new(secret.encode(), b"%d." % at_s + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


class Verifier:
    """
    Checks the deliveries of one webhook; threads may share it.

    No function of this module checks only the signature: until it is too old, an attacker could
    send the delivery again.

    Args:
        secret: of the webhook.
        within_s: how old a signature may be; ids are remembered for twice as long.
    """

    def __init__(self, secret: str, *, within_s: float = WITHIN_S) -> None:
        self._secret = secret
        self._within_s = within_s
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def check(self, header: str | None, body: bytes, *, now_s: float) -> Verdict:
        """
        Check one delivery and remember its id.

        Args:
            header: Aragog-Signature.
            body: as it was received, byte by byte.
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
            self._forget_old(now_s)
            if delivery_id in self._seen:
                return Verdict.DUPLICATE
            self._seen[delivery_id] = now_s
            return Verdict.NEW

    def forget(self, delivery_id: str) -> None:
        """Forget a delivery that could not be processed, so that its next attempt is new."""
        with self._lock:
            self._seen.pop(delivery_id, None)

    def _is_signed(self, header: str | None, body: bytes, now_s: float) -> bool:
        """Whether the signature is the sender's and was made within the last minutes."""
        if not header or len(header) > MOST_HEADER_CHARS:
            return False
        parts = dict(part.strip().partition("=")[::2] for part in header.split(","))
        at, received = parts.get("t", ""), parts.get("v1", "").encode("utf-8", "replace")
        if not (at.isascii() and at.isdecimal() and len(at) <= 15):
            return False
        if abs(now_s - int(at)) > self._within_s:
            return False
        expected = signature(self._secret, int(at), body).rpartition("v1=")[2]
        return hmac.compare_digest(expected.encode(), received)

    def _forget_old(self, now_s: float) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if len(self._seen) < MOST_IDS and now_s - self._seen[oldest] <= 2 * self._within_s:
                break
            del self._seen[oldest]
