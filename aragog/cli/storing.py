"""`aragog store …`: tables, repair, import, export and takedown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click
import redis
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from aragog.bootstrap.redis_services import redis_client
from aragog.bootstrap.store_claims import store_identity
from aragog.bootstrap.stores import tables, url_store
from aragog.bootstrap.takedowns import takedown_purge
from aragog.cli.arguments import COUNT, NOT_NEGATIVE, Host, as_json_lines
from aragog.cli.exporting import export_parts
from aragog.errors import (
    BadInput,
    BrokerUnavailable,
    InvalidUrl,
    RobotsUnavailable,
    SpoolUnavailable,
)
from aragog.extras import require
from aragog.pipeline.faults.store_claim import StoreClaim
from aragog.pipeline.permission.site_blocks import SiteBlocks
from aragog.settings import Settings, load_settings
from aragog.terminal import SafeConsole, echo, echo_json, note, one_line
from aragog.urls.normalize import normalize
from aragog.urlstore.content import open_content
from aragog.urlstore.store import UrlStore
from aragog.urlstore.transfer import json_lines
from aragog.urlstore.transfer.bulk_writer import BulkWriter
from aragog.urlstore.transfer.copy import copy_content, copy_tables
from aragog.urlstore.transfer.parquet import ParquetSink, read_parquet
from aragog.urlstore.transfer.warc import export_warc
from aragog.zen.tables.sqlite_health import old_files

BAD_LINES = 3
"""Exit code when some lines could not be imported; the others were."""


@click.group()
def store() -> None:
    """Create tables, repair, import, export and take down."""


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
    "--regions", type=COUNT, default=16, show_default=True, help="Regions per table, with --print."
)
def create_tables(regions: int, *, show: bool) -> None:
    """
    Create missing tables; drops nothing.

    Thrift cannot split a new table: for a cluster, pipe the output of --print to `hbase shell`.
    """
    settings = load_settings()
    if show:
        require("hbase", "this schema")
        from aragog.zen.tables.hbase_schema import shell_commands  # noqa: PLC0415 - an extra

        store = settings.store
        echo(shell_commands(store.hbase_prefix, store.hbase_compression, regions=regions))
        return
    with closing(tables(settings)) as engine:
        engine.create()
    note(f"the tables of {settings.store.engine} exist")


@store.command()
def repair() -> None:
    """
    Save the rows of damaged files, then check all tables and repair what does not agree.

    Prints what it repaired. The system may run meanwhile.
    """
    with _store(load_settings()) as opened:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=SafeConsole(stderr=True)) as progress:
            task = progress.add_task("checking", total=None)
            report = opened.maintenance.repair(
                lambda name, rows: progress.update(task, description=f"{name}: {rows:,} rows")
            )
    for file in report.salvaged:
        echo(
            f"{file.old} was damaged: {file.saved:,} cells and nodes saved to {file.new}, "
            f"{file.gaps:,} gaps, {file.unreadable:,} unreadable; the old file is kept"
        )
    for name, rows in report.walked.items():
        note(f"{rows:>12,} {name} checked")
    for name, count in report.mended.items():
        echo(f"{count:>12,} repaired: {name}")
    if not report.mended and not report.salvaged:
        note("nothing was wrong")


@store.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "parquet", "warc"]),
    help="Default: by the name of FILE.",
)
@click.option("--fields", help="Field names, separated by commas; default: all.")
@click.option("--host", type=Host(), help="Only the URLs of this host.")
@click.option("--links", is_flag=True, help="Include outlinks (jsonl, parquet).")
@click.option("--cursor", help="Continue where an earlier export stopped.")
@click.option("--limit", type=COUNT, help="Maximum number of records.")
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

    JSON Lines may be compressed (.gz, .zst). For WARC, FILE is a prefix of file names.
    """
    settings = load_settings()
    kind = kind or _kind(file)
    with _store(settings) as opened, _counting(kind) as counted:
        urls = _urls_of(opened, host) if host else None
        if kind == "warc":
            content = open_content(settings.content, settings.data_dir)
            done = export_warc(
                opened.zen, content, file, urls=urls, cursor=cursor, limit=limit,
                on_problem=_tell_url, on_progress=counted,
            )  # fmt: skip
            count, left = done.records, done.cursor
        else:
            sink: json_lines.Sink = (
                ParquetSink(file)
                if kind == "parquet"
                else json_lines.JsonLinesSink(json_lines.open_to_write(file, append=bool(cursor)))
            )
            with closing(sink):
                report = json_lines.export_urls(
                    opened.zen, sink, urls=urls, cursor=cursor, limit=limit, on_progress=counted,
                    fields=fields.split(",") if fields else None,
                    links_of=opened if links else None,
                )  # fmt: skip
            count, left = report.records, report.cursor
    if left:
        echo(f"{count:,} records; go on with --cursor {left}")
    else:
        note(f"{count:,} records")


store.add_command(export_parts)


@store.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--after", type=NOT_NEGATIVE, default=0, help="Number of lines to skip.")
def import_(file: Path, after: int) -> None:
    """
    Read URLs from FILE, JSON Lines (.gz, .zst) or Parquet, as `export` writes them.

    Bad lines are reported with their number; the others are imported. The exit code is 3.
    """
    settings = load_settings()
    source = (
        read_parquet(file, after=after)
        if _kind(file) == "parquet"
        else json_lines.read_json_lines(json_lines.open_to_read(file), after=after)
    )
    with (
        _store(settings) as opened,
        _counting("lines") as counted,
    ):
        report = json_lines.import_urls(
            source,
            BulkWriter(opened, opened.zen, settings.store),
            on_problem=lambda number, reason: echo(
                one_line(f"{file}:{number}: {reason}"), err=True
            ),
            on_progress=counted,
        )
    note(f"{report.written:,} written, {report.problems:,} bad, up to {report.last_number:,}")
    if report.problems:
        sys.exit(BAD_LINES)


def _url(_context: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    try:
        return None if given is None else normalize(given)
    except InvalidUrl as error:
        raise click.BadParameter(str(error)) from error


def _one_of(**given: str | None) -> str:
    """The only one that is given."""
    found = [value for value in given.values() if value is not None]
    if len(found) != 1:
        names = ", ".join(f"--{name}" for name in given)
        raise click.UsageError(f"give one of {names}")
    return found[0]


@store.command()
@click.option("--url", callback=_url, help="One page, with its aliases.")
@click.option("--host", type=Host(), help="All URLs of a host, on all its ports.")
@click.option("--domain", type=Host(), help="All URLs of a domain and of the hosts below it.")
@click.confirmation_option(prompt="Delete it permanently?")
def takedown(url: str | None, host: str | None, domain: str | None) -> None:
    """Delete a page, a host or a domain, and refuse it from now on."""
    what = _one_of(url=url, host=host, domain=domain)
    settings = load_settings()
    with _store(settings) as opened:
        count = opened.takedowns.take_down(url=url, host=host, domain=domain)
        note(f"{what}: {count:,} URLs deleted; it is refused from now on")
        _share_takedowns(opened, settings, purge=True)
    for path in old_files(settings.data_dir / "store") if settings.store.engine == "sqlite" else ():
        echo(f"{path} is a damaged file that a repair kept; delete it, as it may hold this data")


@store.command()
@click.confirmation_option(prompt="Is the store that redis.url served gone permanently?")
def adopt() -> None:
    """Make redis.url serve this store from now on, instead of another."""
    settings = load_settings()
    resolved = settings.resolved()
    with closing(tables(settings)) as engine, redis_client(resolved) as client:
        mine = store_identity(settings, engine)
        StoreClaim(client, prefix=resolved.redis.prefix).take(mine)
    note(f"redis.url serves {mine}")


@store.command()
@as_json_lines
def takedowns(*, as_json: bool) -> None:
    """List the hosts and domains that were taken down."""
    with _store(load_settings()) as opened:
        for kind, name in opened.takedowns.sites():
            if as_json:
                echo_json({"kind": kind, "name": name})
            else:
                echo(f"{kind:6} {name}")


@store.command("lift-takedown")
@click.argument("url", required=False, callback=_url)
@click.option("--host", type=Host(), help="A host.")
@click.option("--domain", type=Host(), help="A domain.")
def lift_takedown(url: str | None, host: str | None, domain: str | None) -> None:
    """
    Accept URL, a host or a domain again; deleted data does not come back.

    URLs that were taken down with their host or domain stay refused until each is lifted.
    """
    what = _one_of(url=url, host=host, domain=domain)
    settings = load_settings()
    with _store(settings) as opened:
        if not opened.takedowns.lift(url, host=host, domain=domain):
            raise click.UsageError(f"{what} is not taken down; see `aragog store takedowns`")
        note(f"{what} may be stored again")
        _share_takedowns(opened, settings)


def _share_takedowns(opened: UrlStore, settings: Settings, *, purge: bool = False) -> None:
    """
    Tell producers by Redis; with `purge`, have Redis and the broker forget what they hold.

    Without Redis the sweep does the first, and messages are refused when they come up.
    """
    resolved = settings.resolved()
    with redis_client(resolved) as client:
        try:
            SiteBlocks(client, prefix=resolved.redis.prefix).replace(opened.takedowns.sites())
            if purge:
                done = takedown_purge(settings, opened).run()
                note(
                    f"also removed: {done.messages:,} messages, {done.bodies:,} bodies in the "
                    f"spool, {done.deliveries:,} webhook deliveries, robots.txt rules of "
                    f"{done.origins:,} origins"
                )
            if not settings.redis.url:
                client.bgrewriteaof()
        except (BrokerUnavailable, RobotsUnavailable, SpoolUnavailable, redis.RedisError):
            echo(
                "Redis does not respond. When it is back, run the takedown again to remove what "
                "Redis holds; producers refuse these URLs within minutes"
            )


@store.command("list")
@click.argument("host", type=Host())
@click.option("--limit", type=COUNT, default=1000, show_default=True, help="Maximum number.")
@as_json_lines
def list_(host: str, limit: int, *, as_json: bool) -> None:
    """List the stored URLs of HOST."""
    with _store(load_settings()) as opened:
        for number, url in enumerate(_urls_of(opened, host)):
            if number == limit:
                break
            if as_json:
                echo_json({"url": url})
            else:
                echo(one_line(url))


@store.command("copy")
@click.argument("to", metavar="SETTINGS", type=click.Path(exists=True, path_type=Path))
def copy(to: Path) -> None:
    """
    Copy all tables and content to the stores of another SETTINGS file, such as a cluster's.

    Removes nothing there; safe to repeat.
    """
    here, there = load_settings(), load_settings(to, {})
    with closing(tables(here)) as source, closing(tables(there)) as target:
        target.create()
        with _counting("rows") as counted:
            rows = copy_tables(source, target, on_progress=lambda _name, _key, done: counted(done))
    content, other = (open_content(s.content, s.data_dir) for s in (here, there))
    with _counting("objects") as counted:
        objects = copy_content(content, other, on_progress=lambda _key, done: counted(done))
    note(f"{rows:,} rows and {objects:,} objects copied")


def _urls_of(opened: UrlStore, host: str) -> Iterator[str]:
    cursor = None
    while True:
        page = opened.pages.urls_of_host(host, cursor)
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
    raise BadInput(f"{file}: name it .jsonl (.gz, .zst), .parquet or .warc, or give --format")


def _tell_url(url: str, reason: str) -> None:
    echo(one_line(f"{url}: {reason}"), err=True)
