"""The command `aragog store list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import COUNT, Host, Since, as_json_lines
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, echo_json, one_line
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.store import UrlStore

BATCH_SIZE = 500


@click.command("list")
@click.argument("host", type=Host(), required=False)
@click.option(
    "--outcome",
    "outcomes",
    type=click.Choice([kind.value for kind in OutcomeKind], case_sensitive=False),
    multiple=True,
    help="Only URLs whose last fetch had this outcome; repeatable.",
)
@click.option(
    "--since",
    type=Since(),
    help="Only URLs whose last fetch is more recent: 1h (s, m, h, d), or a date and time.",
)
@click.option(
    "--limit", type=COUNT, default=1000, show_default=True, help="Maximum number of URLs."
)
@as_json_lines
def list_(
    host: str | None, outcomes: tuple[str, ...], since: int | None, limit: int, *, as_json: bool
) -> None:
    """
    List the stored URLs of HOST, or those of all hosts with an outcome.

    With --outcome or --since, a line contains the URL, the outcome of its last fetch, its status (-
    if there was none), the time and the reason, separated by tabs. Without HOST, this reads every
    record.
    """
    if host is None and not outcomes and since is None:
        raise click.UsageError("pass a HOST, --outcome or --since")
    with closing(url_store(command_settings())) as opened:
        urls = urls_of_host(opened, host) if host else _all_urls(opened)
        rows: Iterator[dict[str, Any]] = ({"url": url} for url in urls)
        if outcomes or since is not None:
            rows = _fetched_pages(opened, urls, outcomes, since or 0)
        for row in islice(rows, limit):
            if as_json:
                echo_json(row)
            else:
                echo("\t".join(one_line(text) for text in _row_cells(row)))
        if next(rows, None) is not None:
            echo(f"only the first {limit:,} are shown; use --limit for more", err=True)


def _row_cells(row: dict[str, Any]) -> list[str]:
    if "tried_at_ms" not in row:
        return [row["url"]]
    time_text = datetime.fromtimestamp(row["tried_at_ms"] / 1000, UTC).isoformat(timespec="seconds")
    status = "-" if row["status"] is None else str(row["status"])
    return [row["url"], str(row["outcome"]), status, time_text, row["reason"] or ""]


def urls_of_host(opened: UrlStore, host: str) -> Iterator[str]:
    """Yield all stored URLs of a host."""
    cursor = None
    while True:
        page = opened.pages.urls_of_host(host, cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _all_urls(opened: UrlStore) -> Iterator[str]:
    cursor = None
    while True:
        page = opened.pages.urls(cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _fetched_pages(
    opened: UrlStore, urls: Iterable[str], outcomes: tuple[str, ...], since_ms: int
) -> Iterator[dict[str, Any]]:
    """Yield the pages last fetched at `since_ms` or later, with one of these outcomes."""
    remaining = iter(urls)
    while batch := list(islice(remaining, BATCH_SIZE)):
        for url, record in zip(batch, opened.get_many(batch, ()), strict=True):
            if record is None or record.canonical_url != url:
                continue
            facts = record.facts
            tried_ms = max(int(facts.get(n) or 0) for n in ("fetched_at_ms", "attempted_at_ms"))
            if tried_ms >= since_ms and (not outcomes or facts.get("outcome") in outcomes):
                yield {
                    "url": url,
                    "outcome": facts.get("outcome"),
                    "status": facts.get("status"),
                    "tried_at_ms": tried_ms,
                    "reason": facts.get("reason"),
                }
