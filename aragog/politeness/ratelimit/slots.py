"""The values that go in and out of the limiter. `…_us`: by the clock of the server that decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["go", "wait", "late"]
# As depart.lua numbers them.
VERDICTS: tuple[Verdict, ...] = ("go", "wait", "late")


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A request to reserve one slot."""

    key: str
    """From `Limiter.key_for`."""
    crawl_delay_s: float | None = None
    """What robots.txt asks for; honoured up to the cap."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The instant at which one request may go to a domain."""

    key: str
    at_us: float
    """Since the epoch."""
    wait_ms: int
    """From the answer to the slot, rounded up; 0: now."""
    interval_us: float
    """Between two requests, before any slow-down."""
    token: int
    """Names this slot's owner at the door."""
    solo_until_us: float = 0.0
    """Until then it may leave without asking, since it holds the door; 0: it must ask."""

    @property
    def at_ms(self) -> int:
        """The slot in milliseconds since the epoch, rounded up; see `Limiter.wait_ms`."""
        return ceil_ms(self.at_us)


@dataclass(frozen=True, slots=True)
class RateExceeded:
    """No slot: the domain is booked out to its horizon."""

    key: str
    free_at_ms: int
    """When its next slot would be, by the node's clock; see `Limiter.wait_ms`."""


class PermitDecision(NamedTuple):
    """What the door of a domain says."""

    verdict: Verdict
    """go: write at `at_us`; wait: ask again then; late: the slot is lost, reserve anew."""
    at_us: float


@dataclass(frozen=True, slots=True)
class DomainReport:
    """One domain, for people."""

    key: str
    qps: float
    """Allowed now, slow-down included."""
    next_slot_at_ms: int | None
    """None: at once."""
    backlog_ms: int
    """How far ahead its slots are given away."""
    backoff_factor: float
    """1.0: at its full rate."""
    errors_in_a_row: int
    max_concurrent: int | None
    """None: any number."""


def ceil_ms(us: float) -> int:
    """Whole milliseconds, rounded up: never before the instant."""
    return -int(-us // 1000)
