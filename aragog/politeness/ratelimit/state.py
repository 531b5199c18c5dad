"""
The limiter's state of one domain: 35 bytes that the scripts in lua/ write and this module reads.

Instants are microseconds since the epoch by the clock of the limiter node; durations are
microseconds. Milliseconds would accumulate errors: at 30 requests/s the interval is 33.3 ms.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

STATE = struct.Struct("<ddiIIHBI")


class DomainState(NamedTuple):
    """The value of `{prefix}slot:<domain>`."""

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
    """Backoff factor in percent: 200 halves the rate of the domain."""
    streak: int = 0
    """Errors in a row."""
    behind_us: int = 0
    """How far the last urgent slot is behind `planned_us`, at most 4,294 s."""


def unpack_state(packed: bytes | None) -> DomainState:
    """Decode the value in Redis; without a value, return the state of an unknown domain."""
    return DomainState(*STATE.unpack(packed)) if packed else DomainState()
