"""Output of the `aragog store` commands, and the URLs of a host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from aragog.cli.progress_display import progress_display
from aragog.terminal import echo, one_line
from aragog.urlstore.store import UrlStore


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A line on standard error that counts up, on a terminal."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,}"))
    with progress_display(*columns, TimeElapsedColumn()) as progress:
        task = progress.add_task(what, total=None)
        yield lambda number: progress.update(task, completed=number)


def urls_of(opened: UrlStore, host: str) -> Iterator[str]:
    """All stored URLs of a host."""
    cursor = None
    while True:
        page = opened.pages.urls_of_host(host, cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def report_url(url: str, reason: str) -> None:
    """Print what is wrong with a URL on standard error."""
    echo(one_line(f"{url}: {reason}"), err=True)
