"""
Show a run's progress: a live bar on a terminal, otherwise a line every few seconds.

The bar also shows what URLs are waiting for, estimated from a sample of the queued messages.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from rich.console import Console, Group
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from aragog.cli.run_tracker import EnqueueAgain, FinalState, RunTracker
from aragog.crawl.pipeline.waiting_urls import ROBOTS, SLOT, sample
from aragog.crawl.politeness.lines import Lines
from aragog.errors import BrokerUnavailable
from pinlater.admin import Admin

LINE_INTERVAL_S = 3.0
CHECK_INTERVAL_S = 0.25
# How often to sample the queued messages; each sample reads a few hundred of them.
CAUSES_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run's progress at one point in time."""

    total: int
    """How many URLs of the run are known so far, including followed links."""
    in_flight: int
    final_states: Mapping[FinalState, int]
    """Number of URLs that are done, by final state."""
    elapsed_s: float
    causes: Counter[str] = field(default_factory=Counter)
    """How many URLs in flight are waiting, by cause of the wait."""
    held: int = 0
    """How many links are held back until more pages of their kind have been fetched."""

    @property
    def done(self) -> int:
        """Number of URLs that are done, stored or not."""
        return self.total - self.in_flight

    @property
    def rate(self) -> float:
        """URLs done per second."""
        return self.done / max(self.elapsed_s, 0.001)

    def line(self) -> str:
        """Return the progress as a line of text."""
        parts = [f"{self.final_states.get(state, 0)} {state}" for state in FinalState]
        parts += [f"{self.held} links held"] if self.held else []
        causes = f" ({self.waiting()})" if self.causes else ""
        return (
            f"{self.elapsed_s:6.1f}s  {self.in_flight} waiting{causes}, {', '.join(parts)}, "
            f"{self.rate:.1f}/s"
        )

    def waiting(self) -> str:
        """Describe what the URLs in flight are waiting for."""
        in_progress = self.in_flight - self.causes.total()
        causes = sorted(self.causes.items())
        parts = [f"{count} waiting for {cause}" for cause, count in causes if count]
        return ", ".join([*parts, f"{in_progress} in progress"] if in_progress > 0 else parts)

    def outcomes(self) -> str:
        """Describe the final states of the URLs that are done."""
        return ", ".join(
            f"{n} {state}" for state in FinalState if (n := self.final_states.get(state))
        )


class Bar:
    """The live progress display on a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:.1f}/s"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._task = self._progress.add_task("URLs", total=None, rate=0.0)

    def show(self, snapshot: Snapshot) -> Group:
        """Draw a snapshot."""
        self._progress.update(
            self._task, total=snapshot.total, completed=snapshot.done, rate=snapshot.rate
        )
        lines = [line for line in (snapshot.waiting(), snapshot.outcomes()) if line]
        return Group(self._progress, *(Text(f"  {line}", "dim") for line in lines))


def watch(
    tracker: RunTracker,
    enqueue_again: EnqueueAgain,
    console: Console,
    tick: Callable[[], bool],
    count_causes: Callable[[], Counter[str]] = Counter,
    *,
    line_every_s: float = LINE_INTERVAL_S,
    earlier_s: float = 0.0,
) -> Snapshot:
    """
    Show the progress until all URLs are done or `tick` returns False.

    Args:
        tracker: the run's URLs.
        enqueue_again: enqueues URLs that the run needs again.
        console: shows a live bar on a terminal, and lines elsewhere.
        tick: called four times a second. It checks on the processes.
        count_causes: counts URLs by what they are waiting for (`waiting_for`). Called once per
            second or line.
        line_every_s: time between two lines.
        earlier_s: how long the run was already watched by an earlier call.
    """
    started_s = time.monotonic() - earlier_s
    snapshots = _take_snapshots(tracker, enqueue_again, started_s, tick)
    first_snapshot = _snapshot(tracker, started_s)
    if console.is_interactive:
        return _draw_bar(first_snapshot, snapshots, console, count_causes)
    return _print_lines(first_snapshot, snapshots, console, count_causes, line_every_s)


def _snapshot(tracker: RunTracker, started_s: float) -> Snapshot:
    elapsed_s = time.monotonic() - started_s
    final_states, held = tracker.final_states.copy(), tracker.held
    return Snapshot(tracker.total, tracker.in_flight, final_states, elapsed_s, held=held)


def _take_snapshots(
    tracker: RunTracker, enqueue_again: EnqueueAgain, started_s: float, tick: Callable[[], bool]
) -> Iterator[Snapshot]:
    """Yield a snapshot every 250 ms until the run is done or stopped."""
    is_running = True
    while is_running:
        is_running = tick()
        tracker.update(enqueue_again)
        yield _snapshot(tracker, started_s)
        is_running = is_running and not tracker.is_done
        if is_running:
            time.sleep(CHECK_INTERVAL_S)


def _print_lines(
    first_snapshot: Snapshot,
    snapshots: Iterable[Snapshot],
    console: Console,
    count_causes: Callable[[], Counter[str]],
    interval_s: float,
) -> Snapshot:
    last, printed_s = first_snapshot, 0.0
    for last in snapshots:
        if last.elapsed_s - printed_s >= interval_s:
            printed_s = last.elapsed_s
            line = replace(last, causes=count_causes() if last.in_flight else Counter()).line()
            console.print(line, highlight=False, soft_wrap=True)
    return last


def _draw_bar(
    first_snapshot: Snapshot,
    snapshots: Iterable[Snapshot],
    console: Console,
    count_causes: Callable[[], Counter[str]],
) -> Snapshot:
    bar, last, counted_at_s, waiting = Bar(), first_snapshot, 0.0, Counter[str]()
    with Live(bar.show(first_snapshot), console=console, refresh_per_second=4) as live:
        for last in snapshots:
            if last.in_flight and last.elapsed_s - counted_at_s >= CAUSES_INTERVAL_S:
                counted_at_s, waiting = last.elapsed_s, count_causes()
            live.update(bar.show(replace(last, causes=waiting if last.in_flight else Counter())))
    return last


def waiting_for(admin: Admin, lines: Lines, request_id: str) -> Counter[str]:
    """
    Count waiting URLs by cause: a slot (their domain's turn), a retry, robots.txt or a worker.

    URLs in a domain's queue (waiting for a slot, or for another attempt to fetch robots.txt) are
    counted for all producers, and other URLs only for this request id.

    If a queue has more than `MAX_SAMPLED_MESSAGES` messages, its counts are extrapolated. The
    result is empty if the server does not respond.
    """
    causes: Counter[str] = Counter()
    with suppress(BrokerUnavailable):
        causes[ROBOTS] = lines.waiting_for_rules()
        causes[SLOT] = max(0, lines.total() - causes[ROBOTS])
        weights = defaultdict[str, float](float)
        for waiting in sample(admin):
            if waiting.request_id == request_id:
                weights[waiting.cause] += waiting.weight
        causes.update({cause: round(weight) for cause, weight in weights.items()})
    return causes
