"""
The limiter's inputs and results, and the state of a domain. A slot is a time to send.

`…_us` values are microseconds: times since the epoch on the limiter node's clock, or durations.
With milliseconds, rounding errors would accumulate: the interval at 30 requests/s is 33.3 ms.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Literal, NamedTuple

STATE = struct.Struct("<ddiIIHBIIIB")
# This value and the next three must be as in lua/prelude.lua. Latency alone never makes an interval
# longer than this.
MAX_LATENCY_INTERVAL_US = 10_000_000.0
# A domain's usual latency is known after this many responses.
_MIN_RESPONSES = 8
# A step of the latency factor.
_LATENCY_STEP = math.log(100) / 255
_USUAL_SCALE, _RECENT_SCALE = 8192, 512
# Shorter latencies are rounded up to this. A server that takes 20 ms instead of 10 is not
# overloaded, and the measurement includes our own delays.
MIN_LATENCY_MS = 50.0
# A permit is requested this early, so that the response arrives in time.
PERMIT_LEAD_US = 3_000
Verdict = Literal["go", "wait", "late"]
# In the order of their numbers in acquire_permit.lua.
VERDICTS: tuple[Verdict, ...] = ("go", "wait", "late")


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A request to reserve one slot."""

    key: str
    """The domain's key, from `Limiter.key_for`."""
    crawl_delay_s: float | None = None
    """Crawl-delay in seconds, before `crawl_delay_cap_s` is applied."""
    max_wait_ms: int | None = None
    """The longest acceptable wait; `politeness.horizon_s` if None."""
    urgent: bool = False
    """True to go ahead of all requests that are not urgent."""
    for_other_process: bool = False
    """True if another process will use the slot. It then gets no pre-granted permit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The time reserved for one request to a domain."""

    key: str
    at_us: float
    """The time of the slot, in µs since the epoch."""
    wait_ms: int
    """Time from the limiter's response to the slot, rounded up. 0 means now."""
    interval_us: float
    """The interval between two requests, before backoff."""
    token: int
    """Identifies the slot's owner in permit requests."""
    pre_granted_until_us: float = 0.0
    """When its pre-granted permit expires; 0 if it has none."""
    urgent: bool = False
    """True if this slot gets its permit before other slots."""
    node: str = ""
    """The limiter node whose clock these times use. Empty means the domain's node."""

    @property
    def request_at_us(self) -> float:
        """
        When to request the permit, so that the response arrives by the time of the slot. An urgent
        sender requests it one interval earlier, ahead of others.
        """
        return self.at_us - max(PERMIT_LEAD_US, self.interval_us if self.urgent else 0.0)

    @property
    def at_ms(self) -> int:
        """The slot in milliseconds since the epoch, rounded up; see `Limiter.wait_ms`."""
        return ceil_ms(self.at_us)


@dataclass(frozen=True, slots=True)
class RateExceeded:
    """Nothing was reserved: the next slot is too late, or the domain gets no requests now."""

    key: str
    free_at_ms: int
    """When the next slot would be, or when to try again, on the node's clock; see
    `Limiter.wait_ms`."""


class PermitDecision(NamedTuple):
    """The response to a permit request."""

    verdict: Verdict
    """`go`: send at `at_us`. `wait`: ask again at `at_us`. `late`: reserve a new slot."""
    at_us: float


@dataclass(frozen=True, slots=True)
class DomainReport:
    """One domain's state, for reports."""

    key: str
    qps: float
    """The current rate in requests/s, after backoff."""
    next_slot_at_ms: int | None
    """The time of the next slot. None if a request may be sent now."""
    backlog_ms: int
    """How long it takes to send all reserved and waiting requests at the current rate."""
    backoff_factor: float
    """The factor by which errors lengthen the interval."""
    errors_in_a_row: int
    max_concurrent: int | None
    """The limit on concurrent requests. None if unlimited."""
    stopped: bool = False
    """True if an operator stopped the domain. It gets no requests until it is resumed."""
    quiet_ms: int = 0
    """How much longer the current quiet hours last; 0 outside of quiet hours."""
    waiting: int = 0
    """How many requests wait in the domain's queue (`lines`)."""
    paused_ms: int = 0
    """How much longer a 429 or 503 pauses the domain."""
    latency_factor: float = 1.0
    """The factor by which slow responses lengthen the interval; 1.0 if they are not slow. Only the
    larger of this and the backoff factor applies."""
    latency_ms: float | None = None
    """The latency of the latest responses. None until the usual latency is known."""
    usual_latency_ms: float | None = None
    """The domain's usual latency. None until it is known."""

    def interval_us(self, interval_us: float) -> float:
        """Return the actual interval. `interval_us` comes from the rate or the Crawl-delay."""
        return lengthen_interval_us(interval_us, self.backoff_factor, self.latency_factor)


class DomainState(NamedTuple):
    """The value of `{prefix}slot:<domain>`: 44 bytes, written by the scripts in lua/."""

    planned_us: float = 0.0
    """The last reserved slot. The next one is one interval later, or now if that has passed."""
    last_us: float = 0.0
    """When the latest request was sent, or when the holder of a granted permit may send."""
    lag_us: int = 0
    """How long after its slot that request was sent."""
    holder: int = 0
    """The token of the slot that holds the send permit, or 0."""
    held_us: int = 0
    """How long after `last_us` that permit expires."""
    factor: int = 100
    """The backoff factor in percent. 200 halves the rate."""
    errors_in_a_row: int = 0
    urgent_gap_us: int = 0
    """How long before `planned_us` the last urgent slot is, at most 4,294 s."""
    means: int = 0
    """Bit fields: usual latency (16), latency of the latest responses (12), number of responses
    (4)."""
    spread: int = 0
    """Bit fields: difference between consecutive responses (12), servers (12), last latency (8)."""
    latency_steps: int = 0
    """The latency factor in steps. 0 if latency does not slow the domain down."""

    @property
    def latency_factor(self) -> float:
        """See `DomainReport`."""
        return math.exp(self.latency_steps * _LATENCY_STEP)

    @property
    def latencies_ms(self) -> tuple[float, float] | tuple[None, None]:
        """The latency of the latest responses, and the usual latency; None until known."""
        if self.means % 16 < _MIN_RESPONSES:
            return None, None
        recent, usual = (self.means >> 4) % 4096 / _RECENT_SCALE, (self.means >> 16) / _USUAL_SCALE
        return MIN_LATENCY_MS * math.exp(recent), MIN_LATENCY_MS * math.exp(usual)


def unpack_state(packed: bytes | None) -> DomainState:
    """Decode the value in Redis. None yields the state of an unknown domain."""
    is_valid = packed is not None and len(packed) == STATE.size
    return DomainState(*STATE.unpack(packed)) if packed and is_valid else DomainState()


def to_latency_steps(factor: float) -> int:
    """Convert a latency factor from 1 to 100 to steps, rounded down."""
    return int(math.log(factor) / _LATENCY_STEP + 1e-9)


def lengthen_interval_us(interval_us: float, backoff_factor: float, latency_factor: float) -> float:
    """Return the interval lengthened by errors and latency, as in lua/prelude.lua."""
    latency_interval_us = min(
        interval_us * latency_factor, max(interval_us, MAX_LATENCY_INTERVAL_US)
    )
    return max(interval_us * backoff_factor, latency_interval_us)


def ceil_ms(us: float) -> int:
    """Convert microseconds to whole milliseconds, rounded up."""
    return -int(-us // 1000)
