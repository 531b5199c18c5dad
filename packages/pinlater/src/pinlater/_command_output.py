"""What the commands of `pinlater.cli` print: JSON, cells of tables, notes, and a progress bar."""

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
from pinlater.wording import span


def print_json(what: Any) -> None:
    """Print a value as indented JSON."""
    echo_json(what, indent=True)


def cells(status: QueueStatus) -> list[str]:
    """Sizes, the oldest due job's age and the rate of a queue, as cells of a table."""
    z = status.sizes
    rate = "" if status.rate_per_s is None else f"{status.rate_per_s:g}"
    counts = (z.due, z.later, z.running, z.succeeded, z.failed)
    return [*(f"{n:,}" for n in counts), span(z.oldest_due_ms) if z.oldest_due_ms else "", rate]


def remarks(status: QueueStatus) -> str:
    """Whether a queue is paused, and the shards that did not answer."""
    texts = ["paused"] if status.paused else []
    if status.missing_shards:
        texts.append(f"without shards {', '.join(status.missing_shards)}")
    return ", ".join(texts)


def status_as_dict(status: QueueStatus) -> dict[str, Any]:
    """A queue's status as it is printed in JSON."""
    return {
        "queue": status.queue,
        "paused": status.paused,
        "rate_per_s": status.rate_per_s,
        **asdict(status.sizes),
        "settings": dict(status.settings),
        "stats": dict(status.stats),
        "missing_shards": list(status.missing_shards),
    }


def done(as_json: bool, sentence: str, **facts: object) -> None:
    """Print what a command did: its facts as JSON, or a sentence."""
    if as_json:
        print_json(facts)
    else:
        note(sentence)


def note(text: str, *, err: bool = False) -> None:
    """Print a note, unless the program is quiet."""
    if not is_quiet():
        echo(text, err=err)


def is_quiet() -> bool:
    """Whether the program prints only what was requested."""
    return bool(getattr(click.get_current_context().obj, "quiet", False))


def job_as_dict(job: JobInfo) -> dict[str, Any]:
    """A job as it is printed in JSON; its body as text, as far as it is text."""
    return asdict(job) | {"body": job.body.decode("utf-8", "replace")}


@contextmanager
def bar(what: str, total: int) -> Iterator[Any]:
    """A progress bar on standard error, on a terminal and for longer operations."""
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
        task = progress.add_task(what, total=total)
        yield lambda count: progress.advance(task, count)
