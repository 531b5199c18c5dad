"""The claim of this process on a job, and the job's disposition when the claim ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from aragog.pinlater.models import Claimed, Step
from aragog.pinlater.shards.shard import Shard


@dataclass(frozen=True, slots=True)
class Disposition:
    """
    How a job continues when its delivery ends.

    `policy`: it runs again after the delay of the queue's retry policy. `wait`: the same, but the
    attempt does not count.
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
    ended: bool = False
    """Its job was run; the worker's event loop has yet to acknowledge or reject it."""
    orphan: bool = False
    """The channel is closed; the claim is renewed while the job runs plus one claim timeout."""
    ended_s: float | None = None
    """When an orphan's job was first found not running; None while it runs."""
    on_ack: Disposition | None = None
    on_reject: Disposition | None = None
