"""
A cache of paused domains in one process, for senders that need no permit from the limiter.

Slots with a pre-granted permit and domains with very short intervals send without a round trip. A
pause that this process reported or read from the limiter's state makes them request a permit.
"""

from __future__ import annotations

import threading

# Domains in the cache; above it the cache is cleared and filled again within `LOOK_US`.
MAX_DOMAINS = 10_000
# How often a process reads whether another process reported a pause.
LOOK_US = 100_000.0


class Pauses:
    """Pauses by domain. Instants are microseconds on the limiter's clock. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_us: dict[str, float] = {}
        self._looked_us: dict[str, float] = {}

    def remember(self, key: str, until_us: float) -> None:
        """Record that `key` is paused until that instant."""
        with self._lock:
            if len(self._until_us) >= MAX_DOMAINS:
                self._until_us.clear()
            self._until_us[key] = max(until_us, self._until_us.get(key, 0.0))

    def active(self, key: str, now_us: float) -> bool:
        """True while `key` is known to be paused."""
        until_us = self._until_us.get(key)
        if until_us is None:
            return False
        if until_us > now_us:
            return True
        with self._lock:
            self._until_us.pop(key, None)
        return False

    def look_due(self, key: str, now_us: float) -> bool:
        """Return True to one caller every `LOOK_US`, who must read the state of `key`."""
        with self._lock:
            if now_us - self._looked_us.get(key, float("-inf")) < LOOK_US:
                return False
            if len(self._looked_us) >= MAX_DOMAINS:
                self._looked_us.clear()
            self._looked_us[key] = now_us
            return True
