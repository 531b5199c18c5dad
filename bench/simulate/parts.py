"""The parts of a small crawl: machines, clock, spool, jobs, domains, and results."""

from __future__ import annotations

from dataclasses import dataclass, field

from aragog.crawl.pipeline.ports import SpoolState
from aragog.crawl.pipeline.spool import SpoolBounds
from aragog.runtime.clock import Clock
from bench.simulate.limits import DomainLimit
from bench.simulate.shares import SharedLine
from bench.simulate.web import Kind


@dataclass(frozen=True, slots=True)
class Machines:
    """The machines that run the crawl."""

    processes: int = 1
    fetch_cpu_s: float = 0.0031
    """CPU of a fetch with its connection, from costs.toml."""
    visit_cpu_s: float = 0.0002
    """CPU of a visit that ends in a line."""
    canonicalize_s: float = 300.0
    """Pages per second that the stages after fetch can process."""


class VirtualClock(Clock):
    """A clock that the simulation sets."""

    now_s = 0.0

    def now_ms(self) -> int:
        """Milliseconds since the start."""
        return int(self.now_s * 1000)

    def monotonic_s(self) -> float:
        """Seconds since the start."""
        return self.now_s

    def sleep_s(self, seconds: float) -> None:
        """Do nothing, because a simulation never sleeps."""
        raise AssertionError(f"a sleep of {seconds} s in a simulation")


@dataclass(slots=True)
class SimulatedSpool:
    """Bodies between fetch and store, with the limits of `aragog.crawl.pipeline.spool`."""

    bounds: SpoolBounds
    used_bytes: float = 0.0
    max_bytes: float = 0.0
    closed: bool = False

    def add(self, size: float) -> None:
        """Add a body, or remove one if the size is negative."""
        self.used_bytes += size
        self.max_bytes = max(self.max_bytes, self.used_bytes)
        if self.used_bytes >= self.bounds.high_bytes:
            self.closed = True
        elif self.used_bytes <= self.bounds.low_bytes:
            self.closed = False

    def state(self) -> SpoolState:
        """Return what the real spool would return."""
        used = int(self.used_bytes)
        full = used >= self.bounds.max_fetch_bytes
        return SpoolState(used, self.closed, full, used / self.bounds.high_bytes)


@dataclass(slots=True)
class Job:
    """One URL being processed."""

    domain: int
    priority: int
    since_s: float
    slot_us: float | None = None
    attempt: int = 0
    probe: bool = False
    crawl: int = 0


@dataclass(slots=True)
class SimulatedDomain:
    """A domain with its limit and its line."""

    limit: DomainLimit
    kind: Kind
    urls: int
    line: SharedLine[Job] = field(default_factory=SharedLine)
    is_check_scheduled: bool = False
    """True if a look at its line is scheduled."""
    fetched: int = 0
    first_s: float = 0.0
    last_s: float = 0.0


@dataclass(slots=True)
class SmallResult:
    """The results of a crawl, in seconds of virtual time."""

    urls: int = 0
    fetched: int = 0
    failed: int = 0
    visits: int = 0
    done_s: list[float] = field(default_factory=list)
    """When each URL was fetched or abandoned, in order."""
    crawls_done_s: dict[int, list[float]] = field(default_factory=dict)
    """The same for fetched URLs, by crawl."""
    rate_used: float = 0.0
    """Share of the allowed requests that were sent while a domain had work."""
    fairness: float = 0.0
    """Jain's index of the domains' shares."""
    urgent_s: list[float] = field(default_factory=list)
    spool_bytes: float = 0.0
    domains: list[SimulatedDomain] = field(default_factory=list)

    def share_done_s(self, share: float) -> float:
        """Return when a share of the URLs was done."""
        return self.done_s[min(len(self.done_s) - 1, int(share * len(self.done_s)))]
