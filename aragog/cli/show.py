"""The commands `aragog show`, `links` and `content`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any

import click
import orjson
from rich.table import Table

from aragog.api.json_values import fresh_json
from aragog.api.operations import reading
from aragog.api.operations import same_content as same_content_reads
from aragog.api.operations.page_texts import FORMS, ORIGINAL
from aragog.api.operations.values import EXTRAS, MAX_ITEMS, FetchedPage, PageLink
from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import COUNT, PURPOSE, Duration, FieldNames, check_fields
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import ABSENT
from aragog.cli.operation_json import call_operation, result_json
from aragog.cli.terminal import echo, echo_json, one_line, print_table, write_body
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import FetchRecord
from aragog.pages.preferences import PURPOSES
from aragog.urlstore.records import refused_use
from aragog.urlstore.same_content import MAX_DISTANCE, SamePage
from aragog.urlstore.store import UrlStore


@contextmanager
def store() -> Iterator[UrlStore]:
    """Open the store that the settings name."""
    settings = command_settings()
    if settings.store.engine == "sqlite" and not (settings.data_dir / "store").exists():
        raise ConfigError(f"data_dir: nothing is stored in {settings.data_dir.absolute()} yet")
    with closing(url_store(settings)) as opened:
        yield opened


def _check_purpose(opened: UrlStore, url: str, purpose: str | None) -> None:
    record = opened.get(url, []) if purpose else None
    if purpose and record and (reason := refused_use(record.facts, purpose)):
        echo(one_line(f"aragog: {url} is not for {purpose}: {reason}"), err=True)
        sys.exit(ABSENT)


def _exit_unknown(url: str, reason: str | None = None) -> None:
    echo(one_line(f"aragog: no record of {url}{f': {reason}' if reason else ''}"), err=True)
    sys.exit(ABSENT)


def _fetch_first(
    url: str,
    fields: tuple[str, ...] | None,
    purpose: str | None,
    max_age_s: float | None,
    wait_s: float,
) -> FetchedPage:
    """Return a URL's record. If it is unknown or too old, the page is fetched first."""
    from aragog.bootstrap.api import open_client  # noqa: PLC0415 - it imports Celery

    with open_client(command_settings()) as client:
        return client.get_fresh(
            url, fields, max_age_s=max_age_s, max_wait_ms=round(wait_s * 1000), include=EXTRAS,
            purpose=purpose,
        )  # fmt: skip


def _check_wait(wait_s: float) -> None:
    from aragog.api.operations.fetching import MAX_WAIT_MS  # noqa: PLC0415 - only where used

    if wait_s * 1000 > MAX_WAIT_MS:
        raise click.BadParameter(f"at most {MAX_WAIT_MS // 1000} s", param_hint="'--wait'")


@click.command()
@click.argument("url")
@click.option("--fields", type=FieldNames(), help="Field names, separated by commas; default: all.")
@PURPOSE
@click.option(
    "--max-age",
    "max_age_s",
    type=Duration(),
    help="Fetch the page first if it is older than this, such as 6h.",
)
@click.option("--wait", "wait_s", type=Duration(), help="How long to wait for a fetch.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(
    url: str,
    fields: tuple[str, ...] | None,
    purpose: str | None,
    max_age_s: float | None,
    wait_s: float | None,
    *,
    as_json: bool,
) -> None:
    """
    Show the fields and facts of URL.

    With --fields, only these are printed; --json always includes the facts. With --max-age or
    --wait, the workers of a running system first fetch a page that is unknown or too old.
    """
    if wait_s is not None:
        _check_wait(wait_s)
    with store() as opened:
        if max_age_s is None and wait_s is None:
            _check_purpose(opened, url, purpose)
            result = call_operation(
                opened, reading.get, url, fields, facts=True, include=EXTRAS, purpose=purpose
            )
            record, reason = result_json(opened, result), None
        else:
            page = _fetch_first(url, fields, purpose, max_age_s, wait_s or 0)
            result, record, reason = page.record, fresh_json(page, opened.formats), page.reason
        if result is None:
            _exit_unknown(url, reason)
            return
        if missing := set(fields or ()) - record["fields"].keys():
            record_with_all_fields = opened.get(url)
            check_fields(
                sorted(missing), record_with_all_fields.fields if record_with_all_fields else ()
            )
    if as_json:
        echo_json(record, indent=True)
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    if fields is None:
        _add_page(table, record, result.fetch)
    for name, value in sorted(record["fields"].items()):
        table.add_row(name, _format_value(name, value))
    print_table(table)


def _add_page(table: Table, record: dict[str, Any], report: FetchRecord | None) -> None:
    table.add_row("url", record["canonical_url"])
    for alias in record["aliases"]:
        table.add_row("  alias", str(alias))
    for name, value in sorted(record["facts"].items()):
        if name != "url":
            table.add_row(name, _format_value(name, value))
        elif value != record["canonical_url"]:
            table.add_row("fetched as", _format_value(name, value))
    table.add_row("inlinks", str(record["inlinks"]))
    for name, text in _fetch_rows(report):
        table.add_row(name, text)


def _fetch_rows(report: FetchRecord | None) -> Iterator[tuple[str, str]]:
    """Yield the rows about the requested URL's last fetch. The URL may be an alias."""
    if report is None:
        return
    status = "" if report.status is None else f" {report.status}"
    fetched_at = _format_value("fetched_at_ms", report.fetched_at_ms)
    yield (
        "last fetch",
        f"{report.url}: {report.outcome}{status} in {report.total_ms:g} ms, {fetched_at}",
    )
    for hop in report.hops:
        latency = "" if hop.latency_ms is None else f" in {hop.latency_ms:g} ms"
        yield "  redirect", f"{hop.url}: {hop.status}{latency} to {hop.target}"
    for name, value in report.headers:
        yield "  header", f"{name}: {value}"


def _format_value(name: str, value: Any) -> str:
    if name.endswith("_at_ms") and isinstance(value, int | float):
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="seconds")
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return str(orjson.loads(text)) if text.startswith('"') and not isinstance(value, str) else text


@click.command()
@click.argument("url")
@click.option(
    "--in/--out", "inwards", default=False, help="Links to the page, or from it (default)."
)
@click.option(
    "--same-content", is_flag=True, help="Instead, list pages of the same host with the same body."
)
@click.option(
    "--within",
    type=click.IntRange(0, MAX_DISTANCE),
    help="With --same-content: also list pages whose fingerprints differ by up to this many bits.",
)
@click.option(
    "--limit", type=COUNT, default=100, show_default=True, help="Maximum number of results."
)
@click.option(
    "--for",
    "purpose",
    type=click.Choice(PURPOSES),
    help="Only links on pages whose sites allow this purpose.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def links(
    url: str,
    within: int | None,
    limit: int,
    purpose: str | None,
    *,
    inwards: bool,
    same_content: bool,
    as_json: bool,
) -> None:
    """List the links from URL or to it, or the pages with the same content."""
    if within is not None and not same_content:
        raise click.UsageError("--within needs --same-content")
    if same_content and inwards:
        raise click.UsageError("use either --in or --same-content")

    def read(
        opened: UrlStore, max_results: int, cursor: str | None
    ) -> tuple[Sequence[Any], str | None]:
        if same_content:
            same_pages = call_operation(
                opened,
                same_content_reads.same_content,
                url,
                max_results,
                cursor,
                within=within,
                purpose=purpose,
            )
            return same_pages.pages, same_pages.cursor
        operation = reading.inlinks if inwards else reading.outlinks
        page = call_operation(opened, operation, url, max_results, cursor, purpose=purpose)
        return page.links, page.cursor

    with store() as opened:
        cursor, remaining = None, limit
        while remaining > 0:
            items, cursor = read(opened, min(remaining, MAX_ITEMS), cursor)
            for item in items:
                echo_json(result_json(opened, item)) if as_json else echo(_format_link(item))
            remaining -= len(items)
            if cursor is None:
                break


def _format_link(item: PageLink | SamePage) -> str:
    if isinstance(item, PageLink):
        return f"{one_line(item.url)}\t{one_line(item.text)}"
    bits = "" if item.distance is None else f"{item.distance} bits"
    return f"{one_line(item.url)}\t{'same' if item.is_identical else bits}"


@click.command()
@click.argument("url")
@click.option(
    "--as",
    "form",
    type=click.Choice(FORMS),
    default=ORIGINAL,
    show_default=True,
    help="Print the page's main text instead, as plain text or Markdown.",
)
@click.option(
    "--at",
    "at",
    type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")),
    help="Print the version from this time (UTC), if it was kept.",
)
@PURPOSE
def content(url: str, form: str, at: datetime | None, purpose: str | None) -> None:
    """Print the page's content as it was fetched, or its main text."""
    at_ms = None if at is None else int(at.replace(tzinfo=UTC).timestamp() * 1000)
    with store() as opened:
        _check_purpose(opened, url, purpose)
        page_content = call_operation(
            opened, reading.content_part, url, form=form, purpose=purpose, at_ms=at_ms
        )
        record = opened.get(url, []) if page_content is None else None
    if page_content is None:
        if record is None:
            _exit_unknown(url)
            return
        outcome = record.facts.get("outcome", "not fetched yet")
        missing_part = "stored content" if form == ORIGINAL else "main text"
        echo(f"aragog: no {missing_part} for {url} (outcome: {outcome})", err=True)
        sys.exit(ABSENT)
    write_body(page_content.body)
