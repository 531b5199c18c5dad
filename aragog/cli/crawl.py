"""The commands `aragog crawl …` and `aragog cancel`."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress
from rich.table import Table

from aragog.bootstrap.crawls import crawl_control
from aragog.cli.arguments import COUNT, Duration, FiniteRange, Instant, Utf8Text, as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.enqueue import LineReader, require_contact, result_line, summary
from aragog.cli.exit_status import ABSENT, BAD_LINES
from aragog.cli.freshness import warn_if_undeliverable
from aragog.cli.terminal import echo, echo_json, note, print_table
from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.stages.crawl_control import CrawlControl
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.dashboard.crawl_report import plain_report, plain_status, report_html, report_markdown
from aragog.observability.formatting import format_time
from aragog.pages.preferences import PURPOSES
from aragog.settings.token_quotas import MAX_WEIGHT, MIN_WEIGHT

_REPORTED_STATUSES = (EnqueueStatus.INVALID, EnqueueStatus.OUT_OF_SCOPE, EnqueueStatus.OVER_BUDGET)
MAX_REJECTED_SHOWN = 10


@click.group()
def crawl() -> None:
    """Start, watch and stop crawls, which have a name, a scope and limits."""


def _control() -> CrawlControl:
    return crawl_control(command_settings())


@crawl.command()
@click.argument("name")
@click.argument("seeds", nargs=-1)
@click.option(
    "--scope",
    multiple=True,
    metavar="RULE",
    help="host:, domain:, prefix: or pattern: and a value, or type: or language: for a page's "
    "content type or language; a leading - excludes such URLs. "
    "Repeatable. Default: links stay within the registered domain of their page.",
)
@click.option(
    "--depth",
    type=click.IntRange(0, 100),
    help="How many link hops to follow from each seed (1: only the pages that it links to).",
)
@click.option("--max-urls", type=COUNT, help="Maximum number of URLs.")
@click.option("--max-urls-per-host", type=COUNT, help="Maximum number of URLs per host.")
@click.option("--max-bytes", type=COUNT, help="End the crawl once it has stored this many bytes.")
@click.option(
    "--until", type=Instant(), help="End the crawl at this time: 'in 2h', 2026-12-31T08:00Z."
)
@click.option("--priority", type=click.IntRange(0, 9), help="0 (most urgent) to 9; default: 5.")
@click.option(
    "--rate", type=FiniteRange(min=0.0001), help="Maximum requests per second to a domain."
)
@click.option(
    "--weight",
    type=FiniteRange(min=MIN_WEIGHT, max=MAX_WEIGHT),
    help="Share of a domain's slots relative to other crawls; default: 1.",
)
@click.option(
    "--max-open-hosts",
    type=click.IntRange(min=0),
    help="How many hosts to fetch from at the same time; 0: no limit.",
)
@click.option(
    "--purpose",
    "purposes",
    type=click.Choice(PURPOSES),
    multiple=True,
    help="What the crawl is for; repeatable. Default: preferences.purposes.",
)
@click.option("--every", type=Duration(), help="Repeat at this interval: 12h, 1d; 0: never.")
@click.option(
    "--notify",
    metavar="URL",
    help="Post a notification to this URL when the crawl is done or ends.",
)
@click.option(
    "--notify-secret", type=Utf8Text(), help="Secret for signing notifications. Default: a new one."
)
@click.option(
    "--notify-error-rate",
    type=FiniteRange(min=0, max=1),
    help="Also post a notification when this share of a day's URLs has failed.",
)
@click.option(
    "--follow-nofollow/--obey-nofollow",
    "nofollow",
    default=None,
    help="Whether to follow links that are marked nofollow. Default: obey.",
)
@click.option("--refresh", is_flag=True, help="Also fetch seeds and links that are already stored.")
def start(name: str, seeds: tuple[str, ...], *, refresh: bool, **options: Any) -> None:
    """
    Start the crawl NAME, or change and continue it; enqueue SEEDS: URLs, files, or `-`.

    Omitted options keep their values. A crawl that was cancelled or has ended starts again; its
    earlier queued URLs stay cancelled.
    """
    settings = command_settings()
    control = crawl_control(settings)
    changes = _to_crawl_options(options)
    if changes.get("notify") and "notify_secret" not in changes:
        changes |= _create_secret(control, name)
    status = control.start(name, changes)
    if changes.get("notify"):
        warn_if_undeliverable(changes["notify"])
    if seeds:
        bad_lines = _enqueue(name, seeds, depth=status.record.depth, refresh=refresh)
        if bad_lines:
            sys.exit(BAD_LINES)
    note(_status_line(control.status(name)))
    if status.record.every_s and not control.seeds.count(name):
        note(f"{name} has no seeds for the next round; add them to this command")


def _create_secret(control: CrawlControl, name: str) -> dict[str, str]:
    """
    Create and print the secret that signs a crawl's notifications, and return it as a crawl option.
    If the crawl already has a secret, returns an empty dictionary.
    """
    record = control.registry.read().records.get(name)
    if record is not None and record.notify_secret:
        return {}
    secret = secrets.token_urlsafe(32)
    echo(f"secret of --notify: {secret}")
    return {"notify_secret": secret}


def _to_crawl_options(options: Mapping[str, Any]) -> dict[str, Any]:
    changed_options = {name: value for name, value in options.items() if value not in (None, ())}
    if "until" in changed_options:
        changed_options["until_ms"] = changed_options.pop("until")
    if "every" in changed_options:
        changed_options["every_s"] = round(changed_options.pop("every"))
    if "purposes" in changed_options:
        changed_options["purposes"] = " ".join(changed_options["purposes"])
    return changed_options


def _enqueue(name: str, seeds: tuple[str, ...], *, depth: int, refresh: bool) -> int:
    counts: Counter[EnqueueStatus] = Counter()
    settings = command_settings()
    with Aragog(settings) as client:
        lines = LineReader(seeds, Progress(disable=True))
        results = client.enqueue_all(
            require_contact(lines, settings), crawl=name, depth=depth, refresh=refresh
        )
        for result, line_source in zip(results, lines.line_sources(), strict=False):
            counts[result.status] += 1
            if result.status in _REPORTED_STATUSES and counts[result.status] <= MAX_REJECTED_SHOWN:
                echo(result_line(result, line_source), err=True)
    note(summary(counts))
    return counts[EnqueueStatus.INVALID]


def _status_line(status: CrawlStatus) -> str:
    counts = status.counts
    held_links_text = f", {counts.held:,} links held" if counts.held else ""
    return (
        f"{status.record.name}: {status.display_state}; {counts.enqueued:,} enqueued, "
        f"{counts.waiting:,} waiting, {counts.stored:,} stored{held_links_text}"
        f"{_next_round_text(status)}"
    )


def _next_round_text(status: CrawlStatus) -> str:
    next_ms = 0 if status.record.has_ended else status.record.next_round_ms
    return f"; next round at {format_time(next_ms)}" if next_ms else ""


@crawl.command("list")
@as_json
def list_crawls(*, as_json: bool) -> None:
    """List all crawls with counts of their URLs."""
    statuses = _control().all()
    if as_json:
        echo_json([plain_status(status) for status in statuses])
        return
    table = Table(box=None, pad_edge=False)
    for title in ("crawl", "state", "enqueued", "waiting", "stored", "other outcomes", "started"):
        table.add_column(title)
    for status in statuses:
        counts, record = status.counts, status.record
        other_count = sum(counts.outcomes.values()) - counts.stored
        numbers = (counts.enqueued, counts.waiting, counts.stored, other_count)
        started = format_time(record.created_at_ms) if record.created_at_ms else ""
        table.add_row(record.name, status.display_state, *(f"{n:,}" for n in numbers), started)
    print_table(table)


@crawl.command()
@click.argument("name")
@as_json
def show(name: str, *, as_json: bool) -> None:
    """Show the options, the state and the counts of the crawl NAME."""
    status = _control().status(name)
    if as_json:
        echo_json(plain_status(status))
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for title, value in plain_status(status).items():
        if isinstance(value, Mapping):
            for outcome, count in value.items():
                table.add_row(f"  {outcome}", f"{count:,}")
        elif value not in (None, "", []) and (value or not title.endswith("_ms")):
            value_text = "\n".join(value) if isinstance(value, list) else str(value)
            table.add_row(title, format_time(value) if title.endswith("_ms") else value_text)
    print_table(table)


@crawl.command()
@click.argument("name")
def pause(name: str) -> None:
    """Pause the crawl NAME: its URLs wait until `resume`."""
    note(_status_line(_control().pause(name)))


@crawl.command()
@click.argument("name")
def resume(name: str) -> None:
    """Continue the paused crawl NAME."""
    note(_status_line(_control().resume(name)))


@crawl.command("cancel")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Only print how many of its URLs are queued.")
@click.option("--reason", default="", help="The reason, stored with the crawl.")
def cancel_crawl(name: str, *, dry_run: bool, reason: str) -> None:
    """End the crawl NAME; its queued URLs are not fetched, but stored pages are kept."""
    control = _control()
    if dry_run:
        echo(f"{control.status(name).counts.waiting:,} URLs are waiting for {name}")
        return
    waiting = control.status(name).counts.waiting
    control.cancel(name, reason)
    note(f"{name}: cancelled; {waiting:,} URLs were waiting for it")


@crawl.command()
@click.argument("name")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["json", "markdown", "html"]),
    help="Default: by the suffix of FILE, else markdown.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to FILE.",
)
def report(name: str, kind: str | None, output: Path | None) -> None:
    """Report the outcomes of the crawl NAME, by domain and over time."""
    crawl_report = _control().report(name)
    suffixes = {".json": "json", ".html": "html", ".htm": "html"}
    kind = kind or (suffixes.get(output.suffix, "markdown") if output else "markdown")
    if kind == "json" and output is None:
        echo_json(plain_report(crawl_report))
        return
    text = {"json": _report_json, "markdown": report_markdown, "html": report_html}[kind](
        crawl_report
    )
    if output is None:
        echo(text)
    else:
        output.write_text(text, "utf-8")
        note(f"wrote {output}")


def _report_json(crawl_report: Any) -> str:
    import orjson  # noqa: PLC0415 - few commands

    return orjson.dumps(plain_report(crawl_report), option=orjson.OPT_INDENT_2).decode() + "\n"


@crawl.command("try")
@click.argument("name")
@click.argument("url")
@click.option("--from", "page_url", metavar="URL", help="The page that links to URL.")
def try_url(name: str, url: str, page_url: str | None) -> None:
    """Show whether URL is in the scope of the crawl NAME, and which rule decides."""
    accepted, rule = _control().decide(name, url, page_url)
    echo(f"{'in' if accepted else 'out of'} scope: {rule}")
    if not accepted:
        sys.exit(ABSENT)


@crawl.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(name: str, *, yes: bool) -> None:
    """Delete the crawl NAME, and the pages that only it needs."""
    control = _control()
    stored = control.status(name).counts.stored
    if not yes:
        click.confirm(
            f"Delete {name} and those of its {stored:,} pages that only it needs?", abort=True
        )
    result = control.delete(name)
    note(f"{name}: {result.deleted:,} pages deleted")
    for reason, count in result.kept.items():
        note(f"{count:,} kept: {reason}")


@click.command()
@click.argument("url", nargs=-1)
@click.option("--host", multiple=True, help="Cancel all URLs of a host; repeatable.")
@click.option("--domain", multiple=True, help="Cancel all URLs of a domain and its subdomains.")
@click.option(
    "--pattern",
    multiple=True,
    help="Cancel URLs that match as a whole; `*` matches any characters; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Only count the queued URLs.")
def cancel(
    url: tuple[str, ...],
    host: tuple[str, ...],
    domain: tuple[str, ...],
    pattern: tuple[str, ...],
    *,
    dry_run: bool,
) -> None:
    """
    Cancel queued URLs, whoever enqueued them; stored pages are kept.

    This takes effect in every process within about a second. URLs enqueued later are fetched.
    """
    kinds = {"url": url, "host": host, "domain": domain, "pattern": pattern}
    values_by_kind = {kind: values for kind, values in kinds.items() if values}
    if not values_by_kind:
        raise click.UsageError("pass a URL, --host, --domain or --pattern")
    control = _control()
    if dry_run:
        echo(f"{control.waiting(values_by_kind):,} URLs are queued")
        return
    for kind, values in values_by_kind.items():
        control.cancel_urls(kind, values)
        note(f"cancelled: {kind} {', '.join(values)}")
