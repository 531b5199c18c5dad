"""Show a crawl's progress: a live bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
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

from aragog.client import Aragog
from aragog.errors import BrokerUnavailable
from aragog.pipeline.statistics import counters

LINE_EVERY_S = 3.0
LOOK_EVERY_S = 0.25
# Sampling the waiting messages reads a few hundred of them.
CAUSES_EVERY_S = 1.0
SHOWN = (
    (counters.FETCHED, "fetched"),
    (counters.NOT_MODIFIED, "not modified"),
    (counters.STORED, "stored"),
    (counters.REFUSED, "refused"),
    (counters.FAILED, "failed"),
    (counters.RETRIED, "retried"),
    (counters.ALREADY_STORED, "already stored"),
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counts since the start of the crawl."""

    counts: dict[str, int]
    in_flight: int
    elapsed_s: float
    older: int = 0
    """URLs in flight that an earlier crawl enqueued."""
    causes: Counter[str] = field(default_factory=Counter)
    """What URLs in flight wait for; those that are not in it are in work."""

    @property
    def total(self) -> int:
        """URLs that were enqueued so far, followed links included."""
        return max(self.in_flight, self.older + self.counts.get(counters.ENQUEUED, 0))

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
        parts = [f"{self.counts.get(name, 0)} {text}" for name, text in SHOWN]
        return (
            f"{self.elapsed_s:6.1f}s  {self.in_flight} waiting, {', '.join(parts)}, "
            f"{self.rate:.1f}/s"
        )

    def waiting(self) -> str:
        """The URLs in flight, by the cause that they wait for."""
        at_work = self.in_flight - self.causes.total()
        parts = [f"{count} wait for {cause}" for cause, count in sorted(self.causes.items())]
        return ", ".join([*parts, f"{at_work} in work"] if at_work > 0 else parts)

    def outcomes(self) -> str:
        """The outcomes of the other URLs."""
        texts = [f"{self.counts[name]} {text}" for name, text in SHOWN if self.counts.get(name)]
        return ", ".join(texts)


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
    client: Aragog,
    before: dict[str, int],
    console: Console,
    tick: Callable[[], bool],
    causes: Callable[[], Counter[str]] = Counter,
) -> Snapshot:
    """
    Show the counts until no URL is waiting, or until `tick` returns False.

    Args:
        client: its counters are shown.
        before: the counters at the start, subtracted from the shown values.
        console: a terminal gets a live bar, other outputs get lines.
        tick: called four times a second; runs the supervisor's check.
        causes: returns what URLs wait for (`aragog.standalone.waiting`); called once a second.
    """
    counts = _Counts(client, before)
    running = _changes(counts, tick)
    if console.is_interactive:
        return _draw_bar(counts.first, running, console, causes)
    return _print_lines(counts.first, running, console)


class _Counts:
    """Takes snapshots of a crawl; `first` is the one at its start."""

    def __init__(self, client: Aragog, before: dict[str, int]) -> None:
        self._client = client
        self._before = before
        self._started_s = time.monotonic()
        first = self.after(Snapshot({}, client.in_flight(), 0.0))
        enqueued = first.counts.get(counters.ENQUEUED, 0)
        self.first = replace(first, older=max(0, first.in_flight - enqueued))

    def after(self, last: Snapshot) -> Snapshot:
        """The current counts, or the last ones while the redis-server restarts."""
        elapsed_s = time.monotonic() - self._started_s
        try:
            in_flight = self._client.in_flight()
        except BrokerUnavailable:
            return replace(last, elapsed_s=elapsed_s)
        counts = {k: v - self._before.get(k, 0) for k, v in self._client.counters().items()}
        return replace(last, counts=counts or last.counts, in_flight=in_flight, elapsed_s=elapsed_s)


def _changes(counts: _Counts, tick: Callable[[], bool]) -> Iterator[Snapshot]:
    """A snapshot every 250 ms, until no URL is waiting or `tick` returns False."""
    snapshot = counts.first
    while tick() and snapshot.in_flight:
        time.sleep(LOOK_EVERY_S)
        snapshot = counts.after(snapshot)
        yield snapshot


def _print_lines(first: Snapshot, running: Iterable[Snapshot], console: Console) -> Snapshot:
    last, printed_s = first, 0.0
    for last in running:
        if last.elapsed_s - printed_s >= LINE_EVERY_S:
            printed_s = last.elapsed_s
            console.print(last.line(), highlight=False, soft_wrap=True)
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
