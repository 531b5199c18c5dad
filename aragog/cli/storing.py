"""`aragog store …`: tables, repair, import, export, takedown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aragog.bootstrap import tables, url_store
from aragog.cli.arguments import COUNT, NOT_NEGATIVE
from aragog.errors import ConfigError
from aragog.settings import Settings, load_settings
from aragog.terminal import SafeConsole, echo, one_line
from aragog.urlstore import transfer
from aragog.urlstore.content import open_content
from aragog.urlstore.store import UrlStore
from aragog.urlstore.transfer_copy import copy_content, copy_tables
from aragog.urlstore.transfer_parquet import ParquetSink, read_parquet
from aragog.urlstore.transfer_warc import export_warc
from aragog.urlstore.transfer_write import BulkWriter
from aragog.zen.tables.hbase_schema import shell_commands

BAD_LINES = 3
"""Exit code when some lines could not be imported; the others were."""


@click.group()
def store() -> None:
    """Tables, repair, import, export, takedown."""


@contextmanager
def _store(settings: Settings) -> Iterator[UrlStore]:
    opened = url_store(settings)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """A line on standard error that counts up."""
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,}"))
    console = SafeConsole(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(what, total=None)
        yield lambda number: progress.update(task, completed=number)


@store.command("create-tables")
@click.option("--print", "show", is_flag=True, help="Print commands for the hbase shell instead.")
@click.option(
    "--regions", type=COUNT, default=16, show_default=True, help="Regions a table, with --print."
)
def create_tables(regions: int, *, show: bool) -> None:
    """
    Make the tables that are missing; drops nothing.

    Thrift cannot split a table beforehand: for a cluster, feed what --print says to `hbase shell`.
    """
    settings = load_settings()
    if show:
        store = settings.store
        echo(shell_commands(store.hbase_prefix, store.hbase_compression, regions=regions))
        return
    with closing(tables(settings)) as engine:
        engine.create()
    echo(f"the tables of {settings.store.engine} are there")


@store.command()
def repair() -> None:
    """Walk everything and mend what does not agree; reports what it did."""
    with _store(load_settings()) as opened:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=SafeConsole(stderr=True)) as progress:
            task = progress.add_task("walking", total=None)
            report = opened.repair(
                lambda name, rows: progress.update(task, description=f"{name}: {rows:,} rows")
            )
    for name, rows in report.walked.items():
        echo(f"{rows:>12,} {name} walked")
    for name, count in report.mended.items():
        echo(f"{count:>12,} mended: {name}")
    if not report.mended:
        echo("nothing was wrong")


@store.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "kind", type=click.Choice(["jsonl", "parquet", "warc"]), help="By name.")
@click.option("--fields", help="Names, separated by commas; all when missing.")
@click.option("--host", help="Only the URLs of this host.")
@click.option("--links", is_flag=True, help="With outlinks (jsonl, parquet).")
@click.option("--cursor", help="Go on where an earlier export stopped.")
@click.option("--limit", type=COUNT, help="At most so many records.")
def export(
    file: Path,
    kind: str | None,
    fields: str | None,
    host: str | None,
    cursor: str | None,
    limit: int | None,
    *,
    links: bool,
) -> None:
    """
    Write URLs to FILE: JSON Lines, Parquet, or their content as WARC.

    JSON Lines may be compressed (.gz, .zst); WARC takes FILE as the beginning of its files' names.
    """
    settings = load_settings()
    kind = kind or _kind(file)
    with _store(settings) as opened, closing(tables(settings)) as engine, _counting(kind) as told:
        urls = _urls_of(opened, host) if host else None
        if kind == "warc":
            content = open_content(settings.content, settings.data_dir)
            done = export_warc(
                engine, content, file, urls=urls, cursor=cursor, limit=limit,
                on_problem=_tell_url, on_progress=told,
            )  # fmt: skip
            count, left = done.records, done.cursor
        else:
            sink: transfer.Sink = (
                ParquetSink(file)
                if kind == "parquet"
                else transfer.JsonLinesSink(transfer.open_to_write(file, append=bool(cursor)))
            )
            with closing(sink):
                report = transfer.export_urls(
                    engine, sink, urls=urls, cursor=cursor, limit=limit, on_progress=told,
                    fields=fields.split(",") if fields else None,
                    links_of=opened if links else None,
                )  # fmt: skip
            count, left = report.records, report.cursor
    echo(f"{count:,} records" + (f"; go on with --cursor {left}" if left else ""))


@store.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--after", type=NOT_NEGATIVE, default=0, help="Pass over the first so many lines.")
def import_(file: Path, after: int) -> None:
    """
    Read URLs from FILE, JSON Lines (.gz, .zst) or Parquet, as `export` writes them.

    Bad lines are told with their number and stop nothing; the exit code is then 3.
    """
    settings = load_settings()
    source = (
        read_parquet(file, after=after)
        if _kind(file) == "parquet"
        else transfer.read_json_lines(transfer.open_to_read(file), after=after)
    )
    with (
        _store(settings) as opened,
        closing(tables(settings)) as engine,
        _counting("lines") as told,
    ):
        report = transfer.import_urls(
            source,
            BulkWriter(opened, engine, settings.store),
            on_problem=lambda number, why: echo(one_line(f"{file}:{number}: {why}"), err=True),
            on_progress=told,
        )
    echo(f"{report.written:,} written, {report.problems:,} bad, up to {report.last_number:,}")
    if report.problems:
        sys.exit(BAD_LINES)


@store.command()
@click.option("--url", help="One page, with its aliases.")
@click.option("--host", help="All URLs of a host.")
@click.option("--domain", help="All URLs of a registered domain.")
@click.confirmation_option(prompt="Forget it for good?")
def takedown(url: str | None, host: str | None, domain: str | None) -> None:
    """Forget a page, a host or a domain, and refuse it from now on."""
    with _store(load_settings()) as opened:
        count = opened.take_down(url=url, host=host, domain=domain)
    echo(f"{count:,} URLs forgotten")


@store.command("lift-takedown")
@click.argument("url")
def lift_takedown(url: str) -> None:
    """Let URL be stored again; what was there does not come back."""
    with _store(load_settings()) as opened:
        opened.lift_takedown(url)
    echo("it may be stored again")


@store.command("list")
@click.argument("host")
@click.option("--limit", type=COUNT, default=1000, show_default=True, help="At most so many.")
def list_(host: str, limit: int) -> None:
    """The URLs of HOST that are stored."""
    with _store(load_settings()) as opened:
        for number, url in enumerate(_urls_of(opened, host)):
            if number == limit:
                break
            echo(one_line(url))


@store.command("copy")
@click.argument("to", metavar="SETTINGS", type=click.Path(exists=True, path_type=Path))
def copy(to: Path) -> None:
    """
    Copy everything to the store and content store of another SETTINGS file, as it is.

    From one machine to a cluster, say. Nothing is removed there; safe to repeat.
    """
    here, there = load_settings(), load_settings(to, {})
    with closing(tables(here)) as source, closing(tables(there)) as target:
        target.create()
        with _counting("rows") as told:
            rows = copy_tables(source, target, on_progress=lambda _name, _key, done: told(done))
    content, other = (open_content(s.content, s.data_dir) for s in (here, there))
    with _counting("objects") as told:
        objects = copy_content(content, other, on_progress=lambda _key, done: told(done))
    echo(f"{rows:,} rows and {objects:,} objects copied")


def _urls_of(opened: UrlStore, host: str) -> Iterator[str]:
    cursor = None
    while True:
        page = opened.list_host(host, cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _kind(file: Path) -> str:
    if file.suffix == ".parquet":
        return "parquet"
    if file.suffix == ".warc":
        return "warc"
    if ".jsonl" in file.suffixes or ".json" in file.suffixes:
        return "jsonl"
    raise ConfigError(f"{file}: name it .jsonl (.gz, .zst), .parquet or .warc, or give --format")


def _tell_url(url: str, why: str) -> None:
    echo(one_line(f"{url}: {why}"), err=True)


COMMANDS = (store,)
