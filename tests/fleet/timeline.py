"""The events of a run, and what readers saw during each."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.fleet.reader import Read

SETTLE_S = 0.5
HEAD = "| s | for s | what | reads | failed | p99 ms | seen |\n|---:|---:|---|---:|---:|---:|---|\n"


@dataclass
class Event:
    """Something that was done to the fleet."""

    description: str
    started_s: float
    may_not_fail: bool
    """True if no read may fail while it lasts."""
    ended_s: float = 0.0
    result: str = ""


@dataclass
class Timeline:
    """All events in order. Times are those of `time.monotonic()`."""

    started_s: float = field(default_factory=time.monotonic)
    events: list[Event] = field(default_factory=list)

    @contextlib.contextmanager
    def event(self, what: str, *, may_not_fail: bool = True) -> Iterator[Event]:
        """Record an event that lasts as long as the block, and print it."""
        event = Event(what, time.monotonic(), may_not_fail)
        yield event
        time.sleep(SETTLE_S)  # effects may appear a little later
        event.ended_s = time.monotonic()
        self.events.append(event)
        print(f"{event.ended_s - self.started_s:6.1f} s  {what}: {event.result}", flush=True)

    def table(self, reads: Sequence[Read]) -> str:
        """Return all events as a table, with the reads that were due during each."""
        return HEAD + "".join(self._row(event, during(reads, event)) for event in self.events)

    def violations(self, reads: Sequence[Read]) -> list[str]:
        """Return the failures of reads during events in which none may fail."""
        counted = [read for read in reads if not self._is_excused(read)]
        return [
            f"{event.description}: {describe(failed)}"
            for event in self.events
            if event.may_not_fail and (failed := failures(during(counted, event)))
        ]

    def _is_excused(self, read: Read) -> bool:
        """Return True if a read overlapped with an event during which reads may fail."""
        ended_s = read.at_s + read.latency_ms / 1000
        return any(
            not event.may_not_fail and read.at_s < event.ended_s and event.started_s <= ended_s
            for event in self.events
        )

    def _row(self, event: Event, reads: Sequence[Read]) -> str:
        failed = failures(reads)
        seen = "; ".join(filter(None, (event.result, describe(failed))))
        return (
            f"| {event.started_s - self.started_s:.0f} | {event.ended_s - event.started_s:.1f} "
            f"| {event.description} | {len(reads)} | {failed.total()} | {p99_ms(reads):.0f} | {seen} |\n"
        )


def during(reads: Sequence[Read], event: Event) -> list[Read]:
    """Return the reads that were due during an event."""
    return [read for read in reads if event.started_s <= read.at_s < event.ended_s]


def failures(reads: Sequence[Read]) -> Counter[str]:
    """Count the failed reads by reason."""
    return Counter(read.failure for read in reads if read.failure)


def describe(failed: Counter[str]) -> str:
    """Describe failed reads. Returns an empty string if none failed."""
    return ", ".join(f"{count} reads: {reason}" for reason, count in failed.most_common(3))


def p99_ms(reads: Sequence[Read]) -> float:
    """Return the 99th percentile of the latency, or 0 without reads."""
    latencies = sorted(read.latency_ms for read in reads)
    return latencies[int(len(latencies) * 0.99)] if latencies else 0.0
