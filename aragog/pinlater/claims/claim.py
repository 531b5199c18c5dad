"""A claim that this process holds, and what its end means for the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from aragog.pinlater.models import Claimed, Step
from aragog.pinlater.shard import Shard


@dataclass(frozen=True, slots=True)
class Disposition:
    """
    What becomes of a job when its delivery ends.

    `policy`: it runs again when the queue's retry policy says. `wait`: the same, and the attempt
    does not count.
    """

    step: Step | Literal["policy", "wait"]
    delay_ms: int = 0
    problem: str = ""


@dataclass(slots=True)
class Claim:
    """A claim of this process on a job."""

    tag: str
    shard: Shard
    queue: str
    job: Claimed
    claimed_s: float
    orphan: bool = False
    """Its channel is closed. It is renewed while the job runs, and one claim timeout longer."""
    ended_s: float | None = None
    """When the job of an orphan was first seen not to run; None: it runs."""
    on_ack: Disposition | None = None
    on_reject: Disposition | None = None
