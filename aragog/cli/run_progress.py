"""
Show the progress of a run: a live bar on a terminal, otherwise a line every few seconds.

The bar also shows what URLs wait for, from a sample of the messages on the server.
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

from aragog.cli.run_tracker import Ask, Ending, RunTracker
from aragog.crawl.pipeline.waiting_urls import ROBOTS, SLOT, sample
from aragog.crawl.politeness.lines import Lines
from aragog.errors import BrokerUnavailable
from pinlater.admin import Admin

LINE_EVERY_S = 3.0
LOOK_EVERY_S = 0.25
# Sampling the waiting messages reads a few hundred of them.
CAUSES_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a run is."""

    total: int
    """URLs of the run that are known so far, followed links included."""
    in_flight: int
    endings: Mapping[Ending, int]
    """What became of the others."""
    elapsed_s: float
    causes: Counter[str] = field(default_factory=Counter)
    """What URLs in flight wait for; those that are not in it are in work."""
    held: int = 0
    """Links that wait until pages of their kind have come."""

    @property
    def done(self) -> int:
        """URLs that are stored or given up."""
        return self.total - self.in_flight

    @property
    def rate(self) -> float:
        """URLs done per second."""
        return self.done / max(self.elapsed_s, 0.001)

    def line(self) -> str:
        """One line of plain text."""
        parts = [f"{self.endings.get(ending, 0)} {ending}" for ending in Ending]
        parts += [f"{self.held} links held"] if self.held else []
        causes = f" ({self.waiting()})" if self.causes else ""
        return (
            f"{self.elapsed_s:6.1f}s  {self.in_flight} waiting{causes}, {', '.join(parts)}, "
            f"{self.rate:.1f}/s"
        )

    def waiting(self) -> str:
        """The URLs in flight, by the cause that they wait for."""
        at_work = self.in_flight - self.causes.total()
        causes = sorted(self.causes.items())
        parts = [f"{count} wait for {cause}" for cause, count in causes if count]
        return ", ".join([*parts, f"{at_work} in work"] if at_work > 0 else parts)

    def outcomes(self) -> str:
        """The outcomes of the other URLs."""
        return ", ".join(f"{n} {ending}" for ending in Ending if (n := self.endings.get(ending)))


class Bar:
    """The live display of a terminal."""

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
    ask: Ask,
    console: Console,
    tick: Callable[[], bool],
    causes: Callable[[], Counter[str]] = Counter,
    *,
    line_every_s: float = LINE_EVERY_S,
    before_s: float = 0.0,
) -> Snapshot:
    """
    Show the progress until all URLs of a run are done, or until `tick` returns False.

    Args:
        tracker: of the run, with all URLs that its producer enqueued.
        ask: enqueues URLs that the run wants once more.
        console: a terminal gets a live bar, other outputs get lines.
        tick: called four times a second; runs the supervisor's check.
        causes: returns what URLs wait for (`waiting_for`); called once a second, or for a line.
        line_every_s: between two lines.
        before_s: how long the run has been watched already.
    """
    started_s = time.monotonic() - before_s
    running = _changes(tracker, ask, started_s, tick)
    first = _snapshot(tracker, started_s)
    if console.is_interactive:
        return _draw_bar(first, running, console, causes)
    return _print_lines(first, running, console, causes, line_every_s)


def _snapshot(tracker: RunTracker, started_s: float) -> Snapshot:
    elapsed_s = time.monotonic() - started_s
    endings, held = tracker.endings.copy(), tracker.held
    return Snapshot(tracker.total, tracker.in_flight, endings, elapsed_s, held=held)


def _changes(
    tracker: RunTracker, ask: Ask, started_s: float, tick: Callable[[], bool]
) -> Iterator[Snapshot]:
    """A snapshot every 250 ms; the last one when all URLs are done or `tick` returned False."""
    going = True
    while going:
        going = tick()
        tracker.look(ask)
        yield _snapshot(tracker, started_s)
        going = going and not tracker.is_done
        if going:
            time.sleep(LOOK_EVERY_S)


def _print_lines(
    first: Snapshot,
    running: Iterable[Snapshot],
    console: Console,
    causes: Callable[[], Counter[str]],
    every_s: float,
) -> Snapshot:
    last, printed_s = first, 0.0
    for last in running:
        if last.elapsed_s - printed_s >= every_s:
            printed_s = last.elapsed_s
            line = replace(last, causes=causes() if last.in_flight else Counter()).line()
            console.print(line, highlight=False, soft_wrap=True)
    return last


def _draw_bar(
    first: Snapshot,
    running: Iterable[Snapshot],
    console: Console,
    causes: Callable[[], Counter[str]],
) -> Snapshot:
    bar, last, causes_read_s, waiting = Bar(), first, 0.0, Counter[str]()
    with Live(bar.show(first), console=console, refresh_per_second=4) as live:
        for last in running:
            if last.in_flight and last.elapsed_s - causes_read_s >= CAUSES_EVERY_S:
                causes_read_s, waiting = last.elapsed_s, causes()
            live.update(bar.show(replace(last, causes=waiting if last.in_flight else Counter())))
    return last


def waiting_for(admin: Admin, lines: Lines, request_id: str) -> Counter[str]:
    """
    URLs that wait for a slot, a retry, robots.txt or a worker; empty without an answer.

    Those in lines, for a slot or for a robots.txt that failed, are of all calls, the others of the
    call with this request id.

    Where more than `SAMPLED_MESSAGES` wait in a queue, its numbers are projected from them.
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
