"""The inputs and results of the limiter. `…_us`: microseconds by the clock of the limiter node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Verdict = Literal["go", "wait", "late"]
# In the order of their numbers in acquire_permit.lua.
VERDICTS: tuple[Verdict, ...] = ("go", "wait", "late")


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A request to reserve one slot."""

    key: str
    """From `Limiter.key_for`."""
    crawl_delay_s: float | None = None
    """From robots.txt, in seconds; applied up to the configured cap."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The instant reserved for one request to a domain."""

    key: str
    at_us: float
    """Since the epoch."""
    wait_ms: int
    """From the response of the limiter to the slot, rounded up; 0: now."""
    interval_us: float
    """Between two requests, without the backoff factor."""
    token: int
    """Identifies the owner of this slot in permit requests."""
    pre_granted_until_us: float = 0.0
    """Its pre-granted permit is valid until then; 0: it must request a permit."""

    @property
    def at_ms(self) -> int:
        """The slot in milliseconds since the epoch, rounded up; see `Limiter.wait_ms`."""
        return ceil_ms(self.at_us)


@dataclass(frozen=True, slots=True)
class RateExceeded:
    """There is no slot: all slots of the domain up to the horizon are reserved."""

    key: str
    free_at_ms: int
    """The instant of its next slot, by the node's clock; see `Limiter.wait_ms`."""


class PermitDecision(NamedTuple):
    """The response to a permit request."""

    verdict: Verdict
    """go: send at `at_us`; wait: request again then; late: the slot is lost, reserve again."""
    at_us: float


@dataclass(frozen=True, slots=True)
class DomainReport:
    """The state of one domain, for reports."""

    key: str
    qps: float
    """The current rate in requests/s, including the backoff factor."""
    next_slot_at_ms: int | None
    """None: a request may be sent now."""
    backlog_ms: int
    """How far ahead its slots are reserved."""
    backoff_factor: float
    """1.0: the full rate."""
    errors_in_a_row: int
    max_concurrent: int | None
    """None: unlimited."""
    stopped: bool = False
    """An operator stopped it: no request is sent until it is resumed."""
    paused_ms: int = 0
    """How much longer no request is sent because the domain asked for a rest (429, 503)."""


def ceil_ms(us: float) -> int:
    """Convert to whole milliseconds, rounded up."""
    return -int(-us // 1000)
