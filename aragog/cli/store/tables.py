"""`aragog store create-tables`, `upgrade`, `repair`, `repair-graph`, `adopt`, `copy`, `pack`."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from aragog.bootstrap.graphs import application_graphs, graph_settings, graph_tables
from aragog.bootstrap.redis_services import redis_client
from aragog.bootstrap.store_claims import store_identity
from aragog.bootstrap.stores import schema_commands, tables, upgrade_store, url_store
from aragog.cli.arguments import COUNT
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import BAD_LINES
from aragog.cli.progress_display import counting_display, progress_display
from aragog.cli.terminal import echo, note, one_line
from aragog.crawl.pipeline.store_claim import StoreClaim
from aragog.errors import BadInput
from aragog.settings import Settings, load_settings
from aragog.transfer.copy import copy_content, copy_packs, copy_tables
from aragog.urlstore.content import open_content, open_packs

TABLE_NAMES = {
    "n": "pages and aliases", "d": "due rows", "h": "host rows", "e": "edges",
    "content": "contents", "l": "lists of inlinks",
}  # fmt: skip
"""Descriptions of the tables that a repair scans, by name."""


@click.command("create-tables")
@click.option("--print", "show", is_flag=True, help="Print commands for the hbase shell instead.")
@click.option(
    "--regions", type=COUNT, default=16, show_default=True, help="Regions per table, with --print."
)
def create_tables(regions: int, *, show: bool) -> None:
    """
    Create missing tables; existing tables are kept.

    For a cluster, pipe the output of --print to `hbase shell`, because Thrift cannot split new
    tables.
    """
    settings = command_settings()
    if show:
        for table_settings in (
            settings,
            *(graph_settings(settings, name) for name in settings.store.graphs),
        ):
            echo(schema_commands(table_settings, regions=regions))
        return
    with closing(tables(settings)) as engine:
        engine.create()
    for name in settings.store.graphs:
        with closing(graph_tables(settings, name)) as engine:
            engine.create()
    note(f"the tables of {settings.store.engine} exist")


@click.command()
def upgrade() -> None:
    """
    Upgrade the tables in PostgreSQL to the version that this aragog needs; the system may be
    running.

    You cannot undo this: an older aragog refuses the new version.
    """
    settings = command_settings()
    note(upgrade_store(settings, lambda step: note(step, err=True)))


@click.command()
@click.option(
    "--no-wait", is_flag=True, help="Do not remove content without a page, which takes ten minutes."
)
def repair(*, no_wait: bool) -> None:
    """
    Save the rows of damaged files, then check all tables and repair inconsistencies.

    It shows how much of the pages and their content it has checked, and the rows of the other
    tables. It prints what it repaired and, on standard error, what it is waiting for. The system
    may be running.
    """
    with closing(url_store(command_settings())) as opened:
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with progress_display(*columns) as progress:
            task = progress.add_task("checking", total=None)

            def show_progress(name: str, rows: int, share: float | None) -> None:
                share_text = "" if share is None else f", {share:.1%}"
                progress.update(
                    task, description=f"{TABLE_NAMES.get(name, name)}: {rows:,}{share_text}"
                )

            report = opened.maintenance.repair(
                show_progress, report=lambda step: note(step, err=True), wait=not no_wait
            )
    for file in report.salvaged:
        if file.old == file.new:
            echo(f"{file.new}: the record of what it replaced was damaged; all lost pages are due")
            continue
        echo(
            f"{file.old} was damaged: {file.saved:,} cells and nodes saved to {file.new}, "
            f"{file.gaps:,} gaps, {file.unreadable:,} unreadable; the old file is kept"
        )
    for name, rows in report.walked.items():
        note(f"{rows:>12,} {TABLE_NAMES.get(name, name)} checked")
    for name, count in report.repaired.items():
        echo(f"{count:>12,} repaired: {name}")
    if not report.repaired and not report.salvaged:
        note("no problems found")


@click.command("repair-graph")
@click.argument("name")
def repair_graph(name: str) -> None:
    """
    Correct the indexes, edges and counts of a graph in store.graphs; the system may be running.

    If edges are written at the same time, their counts may become wrong.
    """
    with closing(application_graphs(command_settings())) as graphs:
        report = graphs[name].repair()
    for count, description in (
        (report.entries, "index entries"),
        (report.rows, "edge rows"),
        (report.counts, "counts"),
    ):
        if count:
            echo(f"{count:>12,} repaired: {description}")
    if report.taken:
        echo(f"{report.taken:>12,} unique values shared by two nodes; lookups return one of them")
    if not any(report):
        note("no problems found")


@click.command()
@click.confirmation_option(prompt="Is the store that redis.url served gone permanently?")
def adopt() -> None:
    """Assign the Redis in redis.url to this store instead of another store."""
    settings = command_settings()
    resolved = settings.resolved()
    if str(settings.redis_socket) in resolved.redis.url:
        note("nothing to do: the private Redis always serves the store of its data folder")
        return
    with closing(tables(settings)) as engine, redis_client(resolved) as client:
        identity = store_identity(settings, engine)
        StoreClaim(client, prefix=resolved.redis.prefix).take(identity)
    note(f"redis.url now belongs to {identity}")


@click.command("copy")
@click.argument("to", metavar="SETTINGS", type=click.Path(exists=True, path_type=Path))
def copy(to: Path) -> None:
    """
    Copy all tables and content to the stores in another SETTINGS file, such as a cluster's.

    Nothing is deleted there, and you can repeat the command. Damaged objects are reported and
    skipped; the exit status is then 4.
    """
    source_settings, target_settings = command_settings(), load_settings(to, {})
    if _store_location(source_settings) == _store_location(target_settings):
        raise BadInput(f"{to}: is this data folder's own store; pass the settings of another store")
    with closing(tables(source_settings)) as source, closing(tables(target_settings)) as target:
        target.create()
        with counting_display("rows") as count:
            rows = copy_tables(source, target, on_progress=lambda _name, _key, done: count(done))
    content, target_content = (
        open_content(s.content, s.data_dir) for s in (source_settings, target_settings)
    )
    damaged: list[str] = []

    def report(key: str, reason: str) -> None:
        damaged.append(key)
        echo(one_line(f"content {key}: {reason}"), err=True)

    with counting_display("objects") as count:
        objects = copy_content(
            content, target_content, on_progress=lambda _key, done: count(done), on_problem=report
        )
    source_packs, target_packs = (
        open_packs(s.content, s.data_dir) for s in (source_settings, target_settings)
    )
    with counting_display("packs") as count:
        packs = copy_packs(
            source_packs,
            target_packs,
            on_progress=lambda _name, done: count(done),
            on_problem=report,
        )
    note(f"{rows:,} rows, {objects:,} objects and {packs:,} packs copied")
    if damaged:
        sys.exit(BAD_LINES)


@click.command("pack")
def pack() -> None:
    """
    Move content that is stored as objects into packs.

    This needs `content.layout = "packs"`. Workers may be running, and you can repeat the command.
    Objects that cannot be read are kept, and `aragog store repair` enqueues their pages; the exit
    status is then 4.
    """
    with closing(url_store(command_settings())) as store, counting_display("objects") as count:
        report = store.maintenance.pack_objects(count)
    note(f"{report.moved:,} objects moved into packs")
    if report.damaged:
        echo(f"{report.damaged:,} objects cannot be read: run `aragog store repair`", err=True)
        sys.exit(BAD_LINES)


def _store_location(settings: Settings) -> tuple[object, ...]:
    store = settings.store
    if store.engine == "hbase":
        return store.engine, *sorted(store.hbase_gateways), store.hbase_prefix
    if store.engine == "postgres":
        return store.engine, settings.store_dsn
    return store.engine, settings.data_dir.resolve()
