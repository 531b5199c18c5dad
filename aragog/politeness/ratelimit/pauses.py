"""
What one process knows of paused domains, so that senders who need not ask the limiter stop as well.

Solo slots and very short intervals leave without a question to the limiter. A pause that this
process reported, or that it has seen in the limiter's state, sends them to ask.
"""

from __future__ import annotations

import threading

# Domains remembered at a time; beyond it all are forgotten, and learned again within `LOOK_S`.
MAX_DOMAINS = 10_000
# How long a process may go on without having looked whether another process reported a pause.
LOOK_US = 100_000.0


class Pauses:
    """Pauses by domain. Instants are microseconds on the limiter's clock. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until_us: dict[str, float] = {}
        self._looked_us: dict[str, float] = {}

    def remember(self, key: str, until_us: float) -> None:
        """Note that `key` is paused until that instant."""
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
        """True for one caller every `LOOK_US`: it is to look at the limiter's state of `key`."""
        with self._lock:
            if now_us - self._looked_us.get(key, float("-inf")) < LOOK_US:
                return False
            if len(self._looked_us) >= MAX_DOMAINS:
                self._looked_us.clear()
            self._looked_us[key] = now_us
            return True
