"""
Which ways fail, as one process finds out by using them.

A way fails if its own part does: this machine does not have its address, or its proxy does not
respond or rejects the login. If a proxy reports a failure of the target, the way has not failed,
unless the proxy cannot reach five different domains in a row. A failing way is skipped. One request
tries it after 5 s, and then after twice the time each, up to 5 minutes. The first successful
connection ends the failure.

Each process decides by its own failures, because a direct way works only on machines that have its
address.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from aragog.observability.instruments import EGRESS_FAILURES
from aragog.runtime.clock import Clock

FIRST_RETRY_S = 5.0
LONGEST_RETRY_S = 300.0
TRIAL_S = 15.0
"""If a trial takes longer, another request may try the way."""
SUSPICIOUS_DOMAINS = 5
"""A proxy has failed itself if it could not reach this many domains in a row."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A way that fails. Instants are times of the process's monotonic clock."""

    failures: int
    """Consecutive failures."""
    reason: str
    since_s: float
    retry_at_s: float
    on_trial: bool = False
    """True while a request tries the way."""


@dataclass(slots=True)
class WayHealth:
    """
    The failing ways of one process. Thread-safe.

    Args:
        clock: its monotonic time decides when a way is tried again.
        tell: called after each failure with the name of the way and its state, and with None when
            the way works again.
    """

    clock: Clock
    tell: Callable[[str, Failing | None], None] = lambda _name, _state: None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failing: dict[str, Failing] = field(default_factory=dict)
    _unreached: dict[str, set[str]] = field(default_factory=dict)

    def usable(self, names: Sequence[str]) -> Iterator[str]:
        """The ways of `names` that work or are due for a trial, in order."""
        for name in names:
            if name not in self._failing or self._on_trial(name):
                yield name

    def _on_trial(self, name: str) -> bool:
        """True if this request should try a failing way now."""
        with self._lock:
            state, now_s = self._failing.get(name), self.clock.monotonic_s()
            if state is None:
                return True
            if now_s < state.retry_at_s:
                return False
            self._failing[name] = replace(state, retry_at_s=now_s + TRIAL_S, on_trial=True)
            return True

    def failed(self, name: str, reason: str) -> None:
        """Record that a way itself failed."""
        EGRESS_FAILURES.of(name).add()
        with self._lock:
            now_s = self.clock.monotonic_s()
            before = self._failing.get(name)
            if before and not before.on_trial:
                return  # the request began before the way failed, so it was not a trial
            failures = before.failures + 1 if before else 1
            wait_s = min(FIRST_RETRY_S * 2 ** min(failures - 1, 10), LONGEST_RETRY_S)
            since_s = before.since_s if before else now_s
            state = Failing(failures, reason, since_s, now_s + wait_s)
            self._failing[name] = state
        self.tell(name, state)

    def unreached(self, name: str, domain: str, reason: str) -> None:
        """Record that a proxy could not reach a domain, which may be the domain's fault."""
        with self._lock:
            domains = self._unreached.setdefault(name, set())
            domains.add(domain)
            all_fail = len(domains) >= SUSPICIOUS_DOMAINS
            if all_fail:
                del self._unreached[name]
        if all_fail:
            self.failed(name, f"{SUSPICIOUS_DOMAINS} domains in a row were not reached: {reason}")

    def worked(self, name: str) -> None:
        """Record a successful connection by a way."""
        if not (self._failing or self._unreached):
            return
        with self._lock:
            self._unreached.pop(name, None)
            recovered = self._failing.pop(name, None)
        if recovered:
            self.tell(name, None)

    def retry_in_ms(self, names: Sequence[str]) -> int:
        """When the first of these ways is tried again, in ms; 0 if now."""
        with self._lock:
            now_s = self.clock.monotonic_s()
            states = [self._failing.get(name) for name in names]
        waits_s = (state.retry_at_s - now_s if state else 0.0 for state in states)
        return int(max(0.0, min(waits_s, default=0.0)) * 1000)

    def reason(self, names: Sequence[str]) -> str:
        """Describe, for users, why these ways fail."""
        with self._lock:
            states = {name: self._failing.get(name) for name in names}
        return "; ".join(f"{name}: {state.reason}" for name, state in states.items() if state)
