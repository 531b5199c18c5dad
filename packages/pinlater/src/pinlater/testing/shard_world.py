"""The environment of a shard's contract tests, with helpers."""

from __future__ import annotations

from typing import Any, Protocol

from pinlater import job_codec
from pinlater.models import ClaimRequest, ClaimResult, JobFrame, JobItem, NewJob
from pinlater.shard import ClaimKey, Shard
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard

HOUR_MS = 3_600_000
FOREVER_MS = 1 << 60


class ShardWorld(Protocol):
    """A shard, and a way to let time pass on it."""

    @property
    def shard(self) -> Shard:
        """The shard. The suite uses its queues `q` and `other`."""

    def pass_ms(self, ms: int) -> None:
        """Advance the shard's clock, or make its data older."""

    def empty(self) -> None:
        """Delete every queue, and restart job numbers."""


class MemoryWorld:
    """A `MemoryShard` and its clock."""

    def __init__(self) -> None:
        self.empty()

    def empty(self) -> None:
        self.clock = ManualClock()
        self.shard = MemoryShard(self.clock)

    def pass_ms(self, ms: int) -> None:
        self.clock.advance_ms(ms)


def put(shard: Shard, *bodies: bytes, **options: Any) -> list[str]:
    """Enqueue a job for each body; return their ids."""
    return [a.job_id for a in shard.enqueue("q", [NewJob(b, **options) for b in bodies])]


def claim(shard: Shard, limit: int = 10, timeout_ms: int = HOUR_MS, **options: Any) -> ClaimResult:
    """Claim due jobs as the worker `w`."""
    return shard.claim("q", ClaimRequest(limit=limit, timeout_ms=timeout_ms, worker="w", **options))


def claim_keys(result: ClaimResult) -> list[ClaimKey]:
    """Return id and token of each claim."""
    return [(c.job_id, c.token) for c in result.claims]


def bodies(result: ClaimResult) -> list[bytes]:
    """Return the body of each claimed job."""
    return [job_codec.decode(c.record).body for c in result.claims]


def frame(**options: Any) -> JobFrame:
    """Return the frame that collected items share."""
    shared: dict[str, Any] = {
        "span_ms": FOREVER_MS, "max_items": 3, "group": "g", "name": "task", "key": "id",
    }  # fmt: skip
    return JobFrame(b"[", b"]", **shared | options)


def items(*data: bytes, delay_ms: int = 0) -> list[JobItem]:
    """Return an item for each of `data`."""
    return [JobItem(item, delay_ms) for item in data]
