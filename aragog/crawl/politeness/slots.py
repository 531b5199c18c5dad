"""
The inputs and results of the limiter, and its state of one domain. Pure.

`…_us`: microseconds since the epoch by the clock of the limiter node; durations are microseconds as
well. Milliseconds would accumulate errors: at 30 requests/s the interval is 33.3 ms.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Literal, NamedTuple

STATE = struct.Struct("<ddiIIHBIIIB")
# The same four values as in lua/prelude.lua. Latency does not make an interval longer than this.
LONGEST_FOR_LATENCY_US = 10_000_000.0
# Responses after which the usual latency of a domain is known.
_LEARNED = 8
# A step of the latency factor.
_LATENCY_STEP = math.log(100) / 255
_FINE, _MIDDLE = 8192, 512
# Shorter latencies count as this: a server that takes 20 ms instead of 10 is not in trouble, and
# our own scheduling is part of what is measured.
SHORTEST_MS = 50.0
# A permit is requested this much early, so that the round trip is over at its instant.
ASK_AHEAD_US = 3_000
Verdict = Literal["go", "wait", "late"]
# In the order of their numbers in acquire_permit.lua.
VERDICTS: tuple[Verdict, ...] = ("go", "wait", "late")


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A request to reserve one slot."""

    key: str
    """The key of the domain, from `Limiter.key_for`."""
    crawl_delay_s: float | None = None
    """The Crawl-delay of robots.txt in seconds; it is applied up to the configured cap."""
    within_ms: int | None = None
    """The longest wait for the slot; None: `politeness.horizon_s`."""
    urgent: bool = False
    """Ahead of all requests to the domain that are not urgent."""
    handed_on: bool = False
    """Another process uses the slot, so it gets no pre-granted permit."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The instant reserved for one request to a domain."""

    key: str
    at_us: float
    """The instant of the slot, in µs since the epoch."""
    wait_ms: int
    """The time from the response of the limiter to the slot, rounded up; 0: now."""
    interval_us: float
    """The time between two requests, without the backoff factor."""
    token: int
    """Identifies the owner of this slot in permit requests."""
    pre_granted_until_us: float = 0.0
    """Its pre-granted permit is valid until then; 0: it must request a permit."""
    urgent: bool = False
    """It gets its permit before slots that are not urgent."""
    node: str = ""
    """The name of the limiter node whose clock its instants follow; empty: of its domain's node."""

    @property
    def ask_at_us(self) -> float:
        """
        When its sender requests the permit. The round trip is over at the slot; an urgent sender
        requests it an interval earlier, before any sender whose slot is at the same time.
        """
        return self.at_us - max(ASK_AHEAD_US, self.interval_us if self.urgent else 0.0)

    @property
    def at_ms(self) -> int:
        """The slot in milliseconds since the epoch, rounded up; see `Limiter.wait_ms`."""
        return ceil_ms(self.at_us)


@dataclass(frozen=True, slots=True)
class RateExceeded:
    """The next slot is later than the request can wait. Nothing was reserved."""

    key: str
    free_at_ms: int
    """When the next slot would be, by the node's clock; see `Limiter.wait_ms`."""


class PermitDecision(NamedTuple):
    """The response to a permit request."""

    verdict: Verdict
    """go: send at `at_us`; wait: request again then; late: the slot is lost, reserve again."""
    at_us: float


@dataclass(frozen=True, slots=True)
class DomainReport:
    """One domain's state, for reports."""

    key: str
    qps: float
    """The current rate in requests/s, including the backoff factor."""
    next_slot_at_ms: int | None
    """When the next slot is; None when a request may be sent now."""
    backlog_ms: int
    """The time that its reserved slots and its waiting requests take at the current rate."""
    backoff_factor: float
    """The factor of the interval; 1.0 at the full rate."""
    errors_in_a_row: int
    max_concurrent: int | None
    """The most requests at once; None when they are not limited."""
    stopped: bool = False
    """An operator stopped it: no request is sent until it is resumed."""
    quiet_ms: int = 0
    """How much longer its quiet hours last; 0: they are over."""
    waiting: int = 0
    """How many requests are in its line."""
    paused_ms: int = 0
    """How much longer no request is sent because of a 429 or 503."""
    latency_factor: float = 1.0
    """What the interval is multiplied by because responses take longer than usual; 1.0: they do
    not. The longer of this interval and that of the backoff factor applies."""
    latency_ms: float | None = None
    """How long the last responses took; None until the usual latency is known."""
    usual_latency_ms: float | None = None
    """How long responses of the domain usually take; None until it is known."""

    def interval_us(self, interval_us: float) -> float:
        """The interval in force, given that of the domain's rate or Crawl-delay."""
        return slowed_us(interval_us, self.backoff_factor, self.latency_factor)


class DomainState(NamedTuple):
    """The value of `{prefix}slot:<domain>`: 44 bytes that the scripts in lua/ write."""

    planned_us: float = 0.0
    """The last reserved slot; the next one is an interval later, or now."""
    last_us: float = 0.0
    """The last send; while a permit is granted: the earliest instant its holder may send."""
    lag_us: int = 0
    """How far `last_us` was behind its slot."""
    holder: int = 0
    """Token of the slot with the send permit; 0: none."""
    held_us: int = 0
    """How long after `last_us` that permit expires."""
    factor: int = 100
    """Backoff factor in percent: 200 halves the domain's rate."""
    errors_in_a_row: int = 0
    """How many errors came in a row."""
    behind_us: int = 0
    """How far the last urgent slot is behind `planned_us`, at most 4,294 s."""
    means: int = 0
    """Usual latency (16 bits), that of the last responses (12), how many were learned (4)."""
    spread: int = 0
    """How far two responses in a row are apart (12 bits), servers (12), the last latency (8)."""
    latency_steps: int = 0
    """Latency factor, in steps; 0: latency does not slow the domain down."""

    @property
    def latency_factor(self) -> float:
        """The factor of the interval due to latency; see `DomainReport`."""
        return math.exp(self.latency_steps * _LATENCY_STEP)

    @property
    def latencies_ms(self) -> tuple[float, float] | tuple[None, None]:
        """The latency of the last responses and the usual one; None until they are known."""
        if self.means % 16 < _LEARNED:
            return None, None
        recent, usual = (self.means >> 4) % 4096 / _MIDDLE, (self.means >> 16) / _FINE
        return SHORTEST_MS * math.exp(recent), SHORTEST_MS * math.exp(usual)


def unpack_state(packed: bytes | None) -> DomainState:
    """Decode the value in Redis; without a value, return the state of an unknown domain."""
    known = packed is not None and len(packed) == STATE.size
    return DomainState(*STATE.unpack(packed)) if packed and known else DomainState()


def latency_steps_of(factor: float) -> int:
    """Return a latency factor, 1 to 100, in steps, rounded down."""
    return int(math.log(factor) / _LATENCY_STEP + 1e-9)


def slowed_us(interval_us: float, backoff_factor: float, latency_factor: float) -> float:
    """Return an interval as errors and latency make it longer, as lua/prelude.lua does."""
    by_latency_us = min(interval_us * latency_factor, max(interval_us, LONGEST_FOR_LATENCY_US))
    return max(interval_us * backoff_factor, by_latency_us)


def ceil_ms(us: float) -> int:
    """Convert to whole milliseconds, rounded up."""
    return -int(-us // 1000)
