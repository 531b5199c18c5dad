"""
Tracks which egress routes are failing in one process.

A direct route fails if its local address is not configured on this machine. A proxy fails if it
does not respond or rejects the credentials. A proxy that cannot reach a target counts as failing
only once it has failed to reach five different domains in a row.

A failing route is skipped. After 5 s, one request tries it again. The delay doubles with each
failure, up to 5 minutes. After one successful connection, the route counts as working.

Each process keeps its own state, because a route can work on one machine and fail on another.
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
MAX_UNREACHABLE_DOMAINS = 5
"""A proxy counts as failing once it has failed to reach this many domains in a row."""


@dataclass(frozen=True, slots=True)
class RouteFailure:
    """Why a route is failing, and since when. Times are on the process's monotonic clock."""

    consecutive_failures: int
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
        on_change: called with the route's name and its failure, or None once the route works again.
    """

    clock: Clock
    on_change: Callable[[str, RouteFailure | None], None] = lambda _name, _state: None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _failing: dict[str, RouteFailure] = field(default_factory=dict)
    _unreachable_domains: dict[str, set[str]] = field(default_factory=dict)

    def usable_routes(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the routes that work or are due for a trial, in the order of `names`."""
        for name in names:
            if name not in self._failing or self._claim_trial(name):
                yield name

    def _claim_trial(self, name: str) -> bool:
        """Return True if this request may try the route; other requests then skip it."""
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
            failures = previous.consecutive_failures + 1 if previous else 1
            wait_s = min(FIRST_RETRY_S * 2 ** min(failures - 1, 10), MAX_RETRY_S)
            since_s = previous.since_s if previous else now_s
            state = RouteFailure(failures, reason, since_s, now_s + wait_s)
            self._failing[name] = state
        self.on_change(name, state)

    def record_unreachable(self, name: str, domain: str, reason: str) -> None:
        """Record that a proxy could not reach a domain. This may be the domain's fault."""
        with self._lock:
            domains = self._unreachable_domains.setdefault(name, set())
            domains.add(domain)
            is_failing = len(domains) >= MAX_UNREACHABLE_DOMAINS
            if is_failing:
                del self._unreachable_domains[name]
        if is_failing:
            text = f"cannot reach {MAX_UNREACHABLE_DOMAINS} domains in a row: {reason}"
            self.record_failure(name, text)

    def record_success(self, name: str) -> None:
        if not (self._failing or self._unreachable_domains):
            return
        with self._lock:
            self._unreachable_domains.pop(name, None)
            recovered = self._failing.pop(name, None)
        if recovered:
            self.on_change(name, None)

    def retry_in_ms(self, names: Sequence[str]) -> int:
        """Return the ms until one of these routes can be tried, or 0 if one can be tried now."""
        with self._lock:
            now_s = self.clock.monotonic_s()
            states = [self._failing.get(name) for name in names]
        waits_s = (state.retry_at_s - now_s if state else 0.0 for state in states)
        return int(max(0.0, min(waits_s, default=0.0)) * 1000)

    def reason(self, names: Sequence[str]) -> str:
        with self._lock:
            states = {name: self._failing.get(name) for name in names}
        return "; ".join(f"{name}: {state.reason}" for name, state in states.items() if state)
