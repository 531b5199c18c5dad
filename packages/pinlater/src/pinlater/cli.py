"""
`queue`: a click command group for queue administration. Programs add it to their own CLI.

The program puts an object with `broker_url` and `shards` into click's context (`QueueLocation`).
Every command prints a table, or JSON with `--json`. If a command fails, it prints a message and
exits with code 1.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Protocol

import click
from rich.table import Table

from pinlater._command_output import (
    job_as_dict,
    note,
    print_json,
    print_result,
    progress_bar,
    status_as_dict,
    status_cells,
    status_notes,
)
from pinlater.admin import Admin, count_jobs
from pinlater.errors import InvalidArgument
from pinlater.models import JobState
from pinlater.queue_settings import SETTINGS
from pinlater.retry_policy import RetryPolicy
from pinlater.terminal import print_table
from pinlater.wording import format_duration


class QueueLocation(Protocol):
    """Where the queues are. Programs that add this group put it into click's context."""

    @property
    def broker_url(self) -> str:
        """A `pinlater://` URL."""

    @property
    def shards(self) -> Sequence[str]:
        """URLs of more Redis servers."""

    @property
    def queues(self) -> Sequence[str]:
        """Queues that are accepted even before their first job; may be empty."""

    # The object may also have `before_delete`, an argument of `Admin`, and `quiet`, which limits
    # the output to what was requested.


def _check_queue(context: click.Context, _param: click.Parameter, name: str) -> str:
    """Check a queue's name; raises BadParameter if neither a server nor the program knows it."""
    declared = set(getattr(context.obj, "queues", ()))
    if name in declared:
        return name
    queues = declared | set(_admin(context).queues())
    if name in queues:
        return name
    matches = difflib.get_close_matches(name, queues, n=1)
    hint = (
        f"did you mean {matches[0]}?"
        if matches
        else f"available: {', '.join(sorted(queues)) or 'none'}"
    )
    raise click.BadParameter(f"unknown queue {name!r}; {hint}")


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
queue_name = click.argument("queue_name", metavar="QUEUE", callback=_check_queue)
STATES = click.Choice([s.lower() for s in JobState])


def _admin(context: click.Context) -> Admin:
    location: QueueLocation = context.obj
    before_delete = getattr(location, "before_delete", None)
    return Admin.connect(location.broker_url, location.shards, before_delete=before_delete)


@click.group()
def queue() -> None:
    """Inspect, pause and limit queues, and retry failed jobs."""


@queue.command("list")
@as_json
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """List all queues with their jobs by state."""
    statuses = _admin(context).statuses()
    if as_json:
        print_json([status_as_dict(s) for s in statuses])
        return
    table = Table("queue", box=None, header_style="bold")
    for column in ("due", "later", "running", "succeeded", "failed", "oldest due", "rate/s"):
        table.add_column(column, justify="right")
    table.add_column("")
    for s in statuses:
        table.add_row(s.queue, *status_cells(s), status_notes(s))
    print_table(table)


def _queue_command(command: Callable[..., None]) -> click.Command:
    """Make a command with one argument, the queue."""
    return queue.command()(queue_name(as_json(click.pass_context(command))))


@_queue_command
def show(context: click.Context, queue_name: str, as_json: bool) -> None:
    """Show one queue: sizes by priority, settings, counters."""
    status = _admin(context).status(queue_name)
    if as_json:
        print_json(status_as_dict(status))
        return
    table = Table(box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, cell in zip(
        ("due", "later", "running", "succeeded", "failed", "oldest due", "rate/s"),
        status_cells(status),
        strict=True,
    ):
        table.add_row(name, cell)
    by_priority = ", ".join(f"{p}: {n:,}" for p, n in enumerate(status.sizes.by_priority) if n)
    table.add_row("by priority", by_priority)
    for name, value in sorted(status.settings.items()):
        table.add_row(name, f"{value:.12g}  ({SETTINGS.get(name, 'unknown to this version')})")
    table.add_row(
        "since its start", ", ".join(f"{k} {v:,}" for k, v in sorted(status.events.items()))
    )
    if claimed := status.stats.get("claimed"):
        table.add_row("mean lateness", f"{status.stats.get('late_ms', 0) / claimed / 1000:.1f} s")
    table.add_row("", status_notes(status))
    print_table(table)


@_queue_command
def pause(context: click.Context, queue_name: str, as_json: bool) -> None:
    """Pause a queue: deliver no jobs, but still accept new ones."""
    _admin(context).pause(queue_name)
    print_result(as_json, f"{queue_name} is paused", queue=queue_name, paused=True)


@_queue_command
def resume(context: click.Context, queue_name: str, as_json: bool) -> None:
    """Resume a queue: deliver jobs again."""
    _admin(context).resume(queue_name)
    print_result(as_json, f"{queue_name} is resumed", queue=queue_name, paused=False)


@queue.command()
@queue_name
@click.argument("rate", metavar="PER_SECOND|none")
@click.option(
    "--burst",
    type=click.FloatRange(min=0, min_open=True),
    help="Jobs that may be delivered at once after an idle time.",
)
@as_json
@click.pass_context
def limit(
    context: click.Context, queue_name: str, rate: str, burst: float | None, as_json: bool
) -> None:
    """Limit the jobs delivered per second, over all workers."""
    try:
        per_s = None if rate == "none" else float(rate)
    except ValueError:
        per_s = -1.0
    if per_s is not None and not 0 < per_s < math.inf:
        raise click.BadParameter(f"{rate!r}: must be a number above 0, or none")
    if burst is not None and not burst < math.inf:  # click accepts `nan` in every range
        raise click.BadParameter(f"{burst}: must be a finite number", param_hint="'--burst'")
    _admin(context).limit(queue_name, per_s, burst)
    rate_text = "no limit" if per_s is None else f"at most {per_s:g} jobs/s"
    print_result(as_json, f"{queue_name}: {rate_text}", queue=queue_name, rate_per_s=per_s)


def _policy_option(
    name: str, field: str, minimum: float, maximum: float, help_text: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    is_integer = field in ("max_attempts", "linear_attempts")
    kind = (
        click.IntRange(int(minimum), int(maximum))
        if is_integer
        else click.FloatRange(minimum, maximum)
    )
    return click.option(name, field, type=kind, help=help_text)


YEAR_S = 366 * 86_400


@queue.command("retry-policy")
@queue_name
@click.argument("word", required=False, type=click.Choice([*RetryPolicy.PRESETS, "default"]))
@click.option("--job-type", default="", help="Only for this job type.")
@_policy_option("--max-attempts", "max_attempts", 1, 1000, "Deliveries before a job is FAILED.")
@_policy_option(
    "--linear-attempts", "linear_attempts", 0, 1000, "Failures whose delay grows by a fixed step."
)
@_policy_option("--step-s", "retry_step_ms", 0, YEAR_S, "Seconds before the second attempt.")
@_policy_option("--growth", "retry_growth", 1, 10, "Growth factor of the delays after that.")
@_policy_option("--cap-s", "retry_cap_ms", 0, YEAR_S, "The longest delay, in seconds.")
@_policy_option("--jitter", "retry_jitter", 0, 1, "Jitter, as a fraction of the delay.")
@_policy_option(
    "--max-age-s",
    "max_age_ms",
    0,
    YEAR_S,
    "Age in seconds beyond which a job is FAILED instead of retried.",
)
@as_json
@click.pass_context
def retry_policy(
    context: click.Context, /, queue_name: str, word: str | None, job_type: str, as_json: bool,
    **options: float | None,
) -> None:  # fmt: skip
    """
    Show how failed jobs are retried, or change it.

    WORD is a whole policy: pinlater (ten retries, five of them linear, then exponential), once, or
    default. Options change single values of that policy, or of the current one.
    """
    admin = _admin(context)
    values = {
        name: value * 1000 if name.endswith("_ms") else value
        for name, value in options.items()
        if value is not None
    }
    if any(map(math.isnan, values.values())):  # click accepts `nan` in every range
        raise click.BadParameter("nan is not a number")
    changes: dict[str, float | None] = {**values}
    if word == "default":
        changes = {**dict.fromkeys(RetryPolicy.fields()), **values}
    if word or changes:
        preset = word if word and word in RetryPolicy.PRESETS else ""
        try:
            admin.set_retry_policy(queue_name, preset, job_type=job_type, **changes)
        except InvalidArgument as error:
            raise click.BadParameter(str(error)) from error
    policy = admin.retry_policy(queue_name, job_type)
    if as_json:
        print_json({"queue": queue_name, "job_type": job_type, **asdict(policy)})
        return
    table = Table(box=None, show_header=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in asdict(policy).items():
        table.add_row(name, f"{value:.12g}")
    delays = [format_duration(policy.delay_ms(n)) for n in range(1, min(policy.max_attempts, 13))]
    table.add_row("delays", ", ".join(delays) + (" …" if policy.max_attempts > 13 else ""))
    print_table(table)


@queue.command()
@queue_name
@click.option("--yes", is_flag=True, help="Confirm the action without prompting.")
@as_json
@click.pass_context
def purge(context: click.Context, queue_name: str, yes: bool, as_json: bool) -> None:
    """Delete all waiting jobs."""
    admin = _admin(context)
    waiting = admin.status(queue_name).sizes.pending
    if not yes:
        click.confirm(f"Delete {waiting:,} waiting jobs of {queue_name}?", abort=True, err=True)
    with progress_bar(f"purging {queue_name}", waiting) as report_progress:
        count = admin.purge(queue_name, progress=report_progress)
    print_result(as_json, f"{count:,} jobs deleted", queue=queue_name, deleted=count)


@queue.command()
@queue_name
@click.option("--state", type=STATES, default="failed", show_default=True)
@click.option(
    "-n", "--limit", "max_jobs", type=click.IntRange(1, 100_000), default=50, show_default=True
)
@as_json
@click.pass_context
def jobs(context: click.Context, queue_name: str, state: str, max_jobs: int, as_json: bool) -> None:
    """List the jobs of one state."""
    infos = _admin(context).jobs(queue_name, JobState(state.upper()), limit=max_jobs)
    if as_json:
        print_json([job_as_dict(job) for job in infos])
        return
    table = Table(box=None)
    table.add_column("job", no_wrap=True)  # on one line, to copy it for `retry`
    for column in ("what", "key", "priority", "attempts", "when", "worker", "problem"):
        table.add_column(column)
    for job in infos:
        when = datetime.fromtimestamp(job.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        table.add_row(
            job.job_id, job.name, job.key, str(job.priority), str(job.attempts), when,
            job.worker, job.problem,
        )  # fmt: skip
    print_table(table)


@queue.command()
@queue_name
@click.argument("ids", nargs=-1)
@click.option("--all", "all_jobs", is_flag=True, help="All failed jobs.")
@as_json
@click.pass_context
def retry(
    context: click.Context, queue_name: str, ids: tuple[str, ...], all_jobs: bool, as_json: bool
) -> None:
    """Run failed jobs again, by ID or all."""
    _require_ids_or_all(ids, all_jobs)
    admin = _admin(context)
    with progress_bar(
        f"retrying {queue_name}", _count_affected(admin, queue_name, ids, JobState.FAILED)
    ) as report_progress:
        count = admin.retry(queue_name, ids, progress=report_progress)
    print_result(as_json, f"{count:,} jobs are pending again", queue=queue_name, retried=count)


@queue.command()
@queue_name
@click.argument("ids", nargs=-1)
@click.option("--all", "all_jobs", is_flag=True, help="All jobs in the state.")
@click.option("--state", type=STATES, default="failed", show_default=True)
@as_json
@click.pass_context
def delete(
    context: click.Context,
    queue_name: str,
    ids: tuple[str, ...],
    all_jobs: bool,
    state: str,
    as_json: bool,
) -> None:
    """Delete jobs that are not running, by ID or all."""
    _require_ids_or_all(ids, all_jobs)
    admin, job_state = _admin(context), JobState(state.upper())
    with progress_bar(
        f"deleting jobs of {queue_name}", _count_affected(admin, queue_name, ids, job_state)
    ) as report_progress:
        count = admin.delete(queue_name, job_state, ids, progress=report_progress)
    print_result(as_json, f"{count:,} jobs deleted", queue=queue_name, deleted=count)


@queue.command()
@click.argument("worker")
@as_json
@click.pass_context
def release(context: click.Context, worker: str, as_json: bool) -> None:
    """
    Return a dead worker's jobs to their queues now, before its claims expire.

    WORKER is the start of a worker's name in the output of `jobs QUEUE --state running`: host:pid:…
    """
    count = _admin(context).release(worker)
    print_result(as_json, f"{count:,} jobs are pending again", worker=worker, released=count)


@queue.command()
@as_json
@click.pass_context
def upgrade(context: click.Context, as_json: bool) -> None:
    """
    Upgrade queues in PostgreSQL to this program's version; workers may keep running.

    You cannot undo this: older programs refuse the new version.
    """
    versions = _admin(context).upgrade(lambda step: note(step, err=True))
    shards = ", ".join(f"shard {name}: version {number}" for name, number in versions.items())
    print_result(as_json, shards or "nothing to do: no shard is on PostgreSQL", versions=versions)


def _require_ids_or_all(ids: tuple[str, ...], all_jobs: bool) -> None:
    if bool(ids) == all_jobs:
        raise click.UsageError("give job ids, or --all")


def _count_affected(admin: Admin, queue_name: str, ids: tuple[str, ...], state: JobState) -> int:
    return 0 if ids else count_jobs(admin.status(queue_name).sizes, state)
