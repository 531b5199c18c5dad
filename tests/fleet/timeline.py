"""What was done to the fleet and when, and what its readers saw in the meantime."""

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
    """Something that was done."""

    what: str
    began_s: float
    harmless: bool
    """Whether no read may fail while it runs."""
    ended_s: float = 0.0
    seen: str = ""


@dataclass
class Timeline:
    """All events, one after the other; seconds are those of `time.monotonic()`."""

    began_s: float = field(default_factory=time.monotonic)
    events: list[Event] = field(default_factory=list)

    @contextlib.contextmanager
    def event(self, what: str, *, harmless: bool = True) -> Iterator[Event]:
        """Note an event that lasts as long as the block, and print it."""
        event = Event(what, time.monotonic(), harmless)
        yield event
        time.sleep(SETTLE_S)  # what was broken may show a little later
        event.ended_s = time.monotonic()
        self.events.append(event)
        print(f"{event.ended_s - self.began_s:6.1f} s  {what}: {event.seen}", flush=True)

    def table(self, reads: Sequence[Read]) -> str:
        """All events as a table, with the reads that were due during each."""
        return HEAD + "".join(self._row(event, during(reads, event)) for event in self.events)

    def broken(self, reads: Sequence[Read]) -> list[str]:
        """What readers saw that they must not see."""
        unexcused = [read for read in reads if not self._met_harm(read)]
        return [
            f"{event.what}: {describe(failed)}"
            for event in self.events
            if event.harmless and (failed := failures(during(unexcused, event)))
        ]

    def _met_harm(self, read: Read) -> bool:
        """Whether a read was under way while something happened that reads may fail by."""
        ended_s = read.at_s + read.latency_ms / 1000
        return any(
            not event.harmless and read.at_s < event.ended_s and event.began_s <= ended_s
            for event in self.events
        )

    def _row(self, event: Event, reads: Sequence[Read]) -> str:
        failed = failures(reads)
        seen = "; ".join(filter(None, (event.seen, describe(failed))))
        return (
            f"| {event.began_s - self.began_s:.0f} | {event.ended_s - event.began_s:.1f} "
            f"| {event.what} | {len(reads)} | {failed.total()} | {p99_ms(reads):.0f} | {seen} |\n"
        )


def during(reads: Sequence[Read], event: Event) -> list[Read]:
    """The reads that were due during an event."""
    return [read for read in reads if event.began_s <= read.at_s < event.ended_s]


def failures(reads: Sequence[Read]) -> Counter[str]:
    """The reads that failed, by reason."""
    return Counter(read.failure for read in reads if read.failure)


def describe(failed: Counter[str]) -> str:
    """Failed reads in words; empty if none failed."""
    return ", ".join(f"{count} reads: {reason}" for reason, count in failed.most_common(3))


def p99_ms(reads: Sequence[Read]) -> float:
    """The latency that 99% of the reads did not exceed; 0 without reads."""
    latencies = sorted(read.latency_ms for read in reads)
    return latencies[int(len(latencies) * 0.99)] if latencies else 0.0
