"""
Tracks which egress routes are failing in one process.

A route fails if this machine does not have its address, or if its proxy does not respond or rejects
the credentials. If a proxy cannot reach a target, the route counts as failing only after five
different domains in a row.

A failing route is skipped. After 5 s, one request tries it again. The delay doubles with each
failure, up to 5 minutes. After one successful connection, the route counts as working.

Processes do not share this state, because a direct route works only on machines that have the
route's address.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from aragog.observability.instruments import EGRESS_FAILURES
from aragog.runtime.clock import Clock

FIRST_RETRY_S = 5.0
MAX_RETRY_S = 300.0
TRIAL_S = 15.0
"""After this time without a result, another request may try the route."""
SUSPICIOUS_DOMAINS = 5
"""A proxy counts as failing after it could not reach this many domains in a row."""


@dataclass(frozen=True, slots=True)
class RouteFailure:
    """A failing route. Times are in seconds by the process's monotonic clock."""

    failures: int
    """Consecutive failures."""
    reason: str
    since_s: float
    retry_at_s: float
    on_trial: bool = False
    """True while a request is trying the route."""


@dataclass(slots=True)
class EgressHealth:
    """
    One process's failing routes. Thread-safe.

    Args:
        clock: its monotonic time is used for retries.
        on_change: called with a route's name, and the failure or, when the route works again, None.
    """

    clock: Clock
    on_change: Callable[[str, RouteFailure | None], None] = lambda _name, _state: None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failing: dict[str, RouteFailure] = field(default_factory=dict)
    _unreached: dict[str, set[str]] = field(default_factory=dict)

    def usable_routes(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the routes that work or are due for a trial, in the order of `names`."""
        for name in names:
            if name not in self._failing or self._may_use(name):
                yield name

    def _may_use(self, name: str) -> bool:
        with self._lock:
            state, now_s = self._failing.get(name), self.clock.monotonic_s()
            if state is None:
                return True
            if now_s < state.retry_at_s:
                return False
            self._failing[name] = replace(state, retry_at_s=now_s + TRIAL_S, on_trial=True)
            return True

    def record_failure(self, name: str, reason: str) -> None:
        EGRESS_FAILURES.labels(name).add()
        with self._lock:
            now_s = self.clock.monotonic_s()
            previous = self._failing.get(name)
            if previous and not previous.on_trial:
                return  # this request was sent before the route failed, so it is not a trial
            failures = previous.failures + 1 if previous else 1
            wait_s = min(FIRST_RETRY_S * 2 ** min(failures - 1, 10), MAX_RETRY_S)
            since_s = previous.since_s if previous else now_s
            state = RouteFailure(failures, reason, since_s, now_s + wait_s)
            self._failing[name] = state
        self.on_change(name, state)

    def record_unreached(self, name: str, domain: str, reason: str) -> None:
        """Record that a proxy could not reach a domain. This may be the domain's fault."""
        with self._lock:
            domains = self._unreached.setdefault(name, set())
            domains.add(domain)
            all_fail = len(domains) >= SUSPICIOUS_DOMAINS
            if all_fail:
                del self._unreached[name]
        if all_fail:
            text = f"cannot reach {SUSPICIOUS_DOMAINS} domains in a row: {reason}"
            self.record_failure(name, text)

    def record_success(self, name: str) -> None:
        if not (self._failing or self._unreached):
            return
        with self._lock:
            self._unreached.pop(name, None)
            recovered = self._failing.pop(name, None)
        if recovered:
            self.on_change(name, None)

    def retry_in_ms(self, names: Sequence[str]) -> int:
        """Return in how many ms one of these routes can be tried; 0 for now."""
        with self._lock:
            now_s = self.clock.monotonic_s()
            states = [self._failing.get(name) for name in names]
        waits_s = (state.retry_at_s - now_s if state else 0.0 for state in states)
        return int(max(0.0, min(waits_s, default=0.0)) * 1000)

    def reason(self, names: Sequence[str]) -> str:
        with self._lock:
            states = {name: self._failing.get(name) for name in names}
        return "; ".join(f"{name}: {state.reason}" for name, state in states.items() if state)
