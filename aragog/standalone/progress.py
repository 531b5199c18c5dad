"""Show a crawl's progress: a live table on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rich.console import Console
from rich.live import Live
from rich.table import Table

from aragog.client import Aragog
from aragog.errors import BrokerUnavailable
from aragog.pipeline import counters

LINE_EVERY_S = 3.0
SHOWN = (
    (counters.FETCHED, "fetched"),
    (counters.NOT_MODIFIED, "not modified"),
    (counters.STORED, "stored"),
    (counters.REFUSED, "refused"),
    (counters.FAILED, "failed"),
    (counters.RETRIED, "tried again"),
    (counters.KNOWN, "known already"),
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Counts since the start of the crawl."""

    counts: dict[str, int]
    in_flight: int
    elapsed_s: float

    def line(self) -> str:
        """One line of plain text."""
        parts = [f"{self.counts.get(name, 0)} {text}" for name, text in SHOWN]
        rate = self.counts.get(counters.STORED, 0) / max(self.elapsed_s, 0.001)
        return f"{self.elapsed_s:6.1f}s  {self.in_flight} waiting, {', '.join(parts)}, {rate:.1f}/s"

    def table(self) -> Table:
        """The same as a table."""
        table = Table(box=None, pad_edge=False)
        for heading in ("", "URLs", "per second"):
            table.add_column(heading, justify="right" if heading else "left")
        table.add_row("waiting", str(self.in_flight), "")
        for name, text in SHOWN:
            count = self.counts.get(name, 0)
            table.add_row(text, str(count), f"{count / max(self.elapsed_s, 0.001):.1f}")
        return table


def watch(
    client: Aragog, before: dict[str, int], console: Console, tick: Callable[[], bool]
) -> Snapshot:
    """
    Show the counts until no URL is waiting, or until `tick` returns False.

    Args:
        client: its counters are shown.
        before: the counters at the start, subtracted from the shown values.
        console: a terminal gets a live table, other outputs get lines.
        tick: called four times a second; runs the supervisor's check.
    """
    started_s = time.monotonic()

    def now(last: Snapshot) -> Snapshot:
        """The current counts, or the last ones while the redis-server restarts."""
        elapsed_s = time.monotonic() - started_s
        try:
            in_flight = client.in_flight()
        except BrokerUnavailable:
            return replace(last, elapsed_s=elapsed_s)
        counts = {k: v - before.get(k, 0) for k, v in client.counters().items()}
        return Snapshot(counts or last.counts, in_flight, elapsed_s)

    snapshot = Snapshot({}, client.in_flight(), 0.0)
    if not console.is_terminal:
        told_s = 0.0
        while tick() and snapshot.in_flight:
            time.sleep(0.25)
            snapshot = now(snapshot)
            if snapshot.elapsed_s - told_s >= LINE_EVERY_S:
                told_s = snapshot.elapsed_s
                console.print(snapshot.line(), highlight=False, soft_wrap=True)
        return snapshot
    with Live(snapshot.table(), console=console, refresh_per_second=4) as live:
        while tick() and snapshot.in_flight:
            time.sleep(0.25)
            snapshot = now(snapshot)
            live.update(snapshot.table())
    return snapshot
