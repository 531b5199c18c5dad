"""`aragog enqueue`: URLs from arguments, files or standard input, in constant memory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from aragog.client import Aragog
from aragog.errors import ConfigError
from aragog.pipeline.bundles import PRIORITY_DEFAULT
from aragog.pipeline.enqueue import Enqueued, Fate


@click.command()
@click.argument("source", nargs=-1, required=True)
@click.option("--priority", default=PRIORITY_DEFAULT, show_default=True, help="0 most urgent, 9.")
@click.option("--depth", default=0, show_default=True, help="Link hops to follow.")
@click.option("--run-after", type=int, help="Not before this instant, ms since the epoch.")
@click.option("--refresh", is_flag=True, help="Fetch again what is stored already.")
def enqueue(
    source: tuple[str, ...], priority: int, depth: int, run_after: int | None, *, refresh: bool
) -> None:
    """
    Enqueue URLs: each SOURCE is a URL, a file with one a line, or `-` for standard input.

    Invalid lines are told with their number and stop nothing; the exit code is then 3.
    """
    console = Console(stderr=True)
    counts: Counter[Fate] = Counter()
    with Aragog() as client, _bar(console) as progress:
        lines = Lines(source, progress)
        answers = client.enqueue_all(
            lines, priority=priority, depth=depth, run_after=run_after, refresh=refresh
        )
        for answer, (name, number) in zip(answers, lines.places(), strict=False):
            counts[answer.fate] += 1
            if answer.fate is Fate.INVALID:
                _tell(console, answer, name, number)
    click.echo(", ".join(f"{counts[fate]} {fate.value}" for fate in Fate))
    if counts[Fate.INVALID]:
        sys.exit(3)


def _tell(console: Console, answer: Enqueued, name: str, number: int) -> None:
    where = f"{name}:{number}: " if number else ""
    console.print(f"{where}{answer.why}: {answer.given[:200]!r}", markup=False, highlight=False)


class Lines:
    """The lines of all sources, and, one behind another, the places they came from."""

    def __init__(self, sources: tuple[str, ...], progress: Progress) -> None:
        self._sources = sources
        self._progress = progress
        self._places: list[tuple[str, int]] = []

    def places(self) -> Iterator[tuple[str, int]]:
        """The place of each line that was given out, in order; asked for after its answer."""
        at = 0
        while True:
            if at == len(self._places):
                return
            yield self._places[at]
            at += 1
            if at >= 5000:  # answered: forget them, or ten million lines would stay here
                del self._places[:at]
                at = 0

    def __iter__(self) -> Iterator[str]:
        for source in self._sources:
            if source == "-":
                yield from self._read(sys.stdin.buffer, "-", None)
            elif "://" in source:
                self._places.append((source, 0))
                yield source
            else:
                yield from self._file(Path(source))

    def _file(self, path: Path) -> Iterator[str]:
        try:
            with path.open("rb") as file:
                yield from self._read(file, str(path), path.stat().st_size)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error

    def _read(self, file: IO[bytes], name: str, size: int | None) -> Iterator[str]:
        task = self._progress.add_task(name, total=size)
        unshown = 0
        for number, raw in enumerate(file, 1):
            unshown += len(raw)
            if unshown > 65_536:
                self._progress.advance(task, unshown)
                unshown = 0
            line = raw.strip()
            if line and not line.startswith(b"#"):
                self._places.append((name, number))
                yield line.decode("utf-8", "replace")
        self._progress.advance(task, unshown)


def _bar(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True)


COMMANDS = (enqueue,)
