"""Progress displays for long commands, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn

from aragog.cli.terminal import SafeConsole


def progress_display(*columns: ProgressColumn) -> Progress:
    """Return a progress display on standard error. It shows nothing if that is not a terminal."""
    console = SafeConsole(stderr=True)
    return Progress(*columns, console=console, disable=not console.is_terminal)


@contextmanager
def counting_display(description: str) -> Iterator[Callable[[int], None]]:
    """On a terminal, show a counter on standard error."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,}"))
    with progress_display(*columns, TimeElapsedColumn()) as progress:
        task = progress.add_task(description, total=None)
        yield lambda number: progress.update(task, completed=number)
