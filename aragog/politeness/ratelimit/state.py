"""
What the limiter keeps of one domain: 31 bytes, written by the scripts in lua/, read here too.

Instants are microseconds since the epoch by the clock of the Redis server that decides; durations
are microseconds. Milliseconds would drift: at 30 requests/s the interval is 33.3 ms.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

STATE = struct.Struct("<ddiIIHB")


class DomainState(NamedTuple):
    """One domain, as packed in `{prefix}slot:<domain>`."""

    planned_us: float = 0.0
    """The last slot that was handed out; the next comes an interval later, or now."""
    last_us: float = 0.0
    """The last departure; while the door is held: the earliest instant the holder may leave."""
    lag_us: int = 0
    """How far `last_us` was behind the slot it was planned for."""
    holder: int = 0
    """Token of the sender that may write now; 0: nobody holds the door."""
    held_us: int = 0
    """How long after `last_us` the holder's right ends."""
    factor: int = 100
    """How many times slower than its rate the domain is asked, in hundredths."""
    streak: int = 0
    """Errors in a row."""


def unpack_state(packed: bytes | None) -> DomainState:
    """The state in a value of Redis; that of a domain never heard of when there is none."""
    return DomainState(*STATE.unpack(packed)) if packed else DomainState()
