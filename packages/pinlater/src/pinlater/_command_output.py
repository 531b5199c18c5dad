"""Output of the commands in `pinlater.cli`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pinlater.models import JobInfo, QueueStatus
from pinlater.terminal import SafeConsole, echo, echo_json
from pinlater.wording import format_duration


def print_json(value: Any) -> None:
    echo_json(value, indent=True)


def status_cells(status: QueueStatus) -> list[str]:
    """Return table cells with a queue's sizes, its oldest due job's age, and its rate."""
    sizes = status.sizes
    rate = "" if status.rate_per_s is None else f"{status.rate_per_s:g}"
    counts = (sizes.due, sizes.later, sizes.running, sizes.succeeded, sizes.failed)
    return [
        *(f"{n:,}" for n in counts),
        format_duration(sizes.oldest_due_ms) if sizes.oldest_due_ms else "",
        rate,
    ]


def status_notes(status: QueueStatus) -> str:
    """Return notes if a queue is paused or shards did not answer."""
    notes = ["paused"] if status.paused else []
    if status.missing_shards:
        notes.append(f"no answer from shards {', '.join(status.missing_shards)}")
    return ", ".join(notes)


def status_as_dict(status: QueueStatus) -> dict[str, Any]:
    return {
        "queue": status.queue,
        "paused": status.paused,
        "rate_per_s": status.rate_per_s,
        **asdict(status.sizes),
        "settings": dict(status.settings),
        "stats": dict(status.stats),
        "missing_shards": list(status.missing_shards),
    }


def print_result(as_json: bool, sentence: str, **fields: object) -> None:
    """Print a command's result: `fields` as JSON, or the sentence."""
    if as_json:
        print_json(fields)
    else:
        note(sentence)


def note(text: str, *, err: bool = False) -> None:
    """Print a note unless the program runs with `--quiet`."""
    if not is_quiet():
        echo(text, err=err)


def is_quiet() -> bool:
    """Return whether the program runs with `--quiet` and prints only what the command asks for."""
    return bool(getattr(click.get_current_context().obj, "quiet", False))


def job_as_dict(job: JobInfo) -> dict[str, Any]:
    """Return a job as a dict for JSON; its body is decoded if it is text."""
    return asdict(job) | {"body": job.body.decode("utf-8", "replace")}


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Any]:
    """Show a progress bar on standard error if it is a terminal and the operation is long."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    hidden = total < 1000 or not sys.stderr.isatty() or is_quiet()
    with Progress(
        *columns, console=SafeConsole(stderr=True), disable=hidden, transient=True
    ) as progress:
        task = progress.add_task(description, total=total)
        yield lambda count: progress.advance(task, count)
