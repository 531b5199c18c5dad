"""The command `aragog table`."""

from __future__ import annotations

import time
from contextlib import closing

import click

from aragog.addons.table.delta_files import DeltaFiles
from aragog.addons.table.keeper import Round, TableKeeper, TableOptions
from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import COUNT, PURPOSE, FieldNames, Host, check_known
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, note, one_line
from aragog.cli.up import Stopped
from aragog.errors import BadInput, ConfigError, TransientError
from aragog.pages.items import load_kinds
from aragog.pages.selectors import rule_types
from aragog.transfer.typed_fields import TypedFields

RETRY_DELAY_S = 2.0
POLL_INTERVAL_S = 0.2
CLEAN_INTERVAL_S = 900.0
"""How often old files are deleted with `--follow`."""


@click.command()
@click.argument("place")
@click.option(
    "--items", metavar="KIND", help="Write one row per item of this kind instead of one per page."
)
@click.option("--host", type=Host(), help="Only items on pages of this host and its subdomains.")
@click.option(
    "--fields",
    type=FieldNames(),
    help="Field names, separated by commas; only for the first run. Items: all by default.",
)
@click.option("--buckets", type=COUNT, help="Number of partitions; default: 16.")
@PURPOSE
@click.option("--follow", is_flag=True, help="Keep running until SIGTERM or Ctrl-C.")
@click.option(
    "--every-s",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    help="Seconds between two commits.",
)
@click.option(
    "--keep-h",
    type=click.IntRange(0, 23),
    default=12,
    show_default=True,
    help="How many hours to keep the files of earlier versions.",
)
@click.option("--rebuild", is_flag=True, help="Rebuild the table from an export.")
def table(
    place: str,
    items: str | None,
    host: str | None,
    fields: tuple[str, ...] | None,
    buckets: int | None,
    purpose: str | None,
    every_s: float,
    keep_h: int,
    *,
    follow: bool,
    rebuild: bool,
) -> None:
    """
    Keep a table of pages or items current in PLACE, a folder or s3://BUCKET/PREFIX.

    It is a Delta Lake table of Parquet files, which DuckDB, Polars, Spark and pandas read
    without a catalog. The first run builds it from an export; later runs merge what has
    changed.
    """
    settings = command_settings()
    if not settings.refresh.report_new_pages:
        raise ConfigError(
            "refresh.report_new_pages is false, so the change feed does not contain new pages;"
            " set it to true for all workers, then run aragog table"
        )
    files = DeltaFiles(place, settings.resolved().content)
    options = TableOptions(fields=fields, buckets=buckets, purpose=purpose, items=items, host=host)
    _check(options, files)
    stopped = Stopped()
    with closing(url_store(settings)) as store:
        keeper = TableKeeper(
            store, files, TypedFields(store.formats, rule_types(settings.extract)),
            load_kinds(settings.extract), options,
            kept_s=settings.refresh.changes_kept_s, keep_h=keep_h, now_ms=store.zen.clock.now_ms,
        )  # fmt: skip
        _update_table(keeper, stopped, every_s, follow=follow, rebuild=rebuild)


def _check(options: TableOptions, files: DeltaFiles) -> None:
    state = files.state()
    if options.items or (state and state.items):
        return
    if options.host is not None:
        raise BadInput("--host needs --items")
    if options.fields is None and state is None:
        raise BadInput(f"{files.place} has no table yet; pass --fields or --items")
    if options.fields is not None:
        check_known(options.fields)


def _update_table(
    keeper: TableKeeper, stopped: Stopped, every_s: float, *, follow: bool, rebuild: bool
) -> None:
    cleaned_s = time.monotonic()
    while not stopped:
        try:
            round_ = keeper.round(rebuild=rebuild)
            rebuild = False
            _report(round_)
            if not follow and round_.is_last:
                keeper.clean()
                return
            if time.monotonic() > cleaned_s + CLEAN_INTERVAL_S:
                keeper.clean()
                cleaned_s = time.monotonic()
        except TransientError as error:
            if not follow:
                raise
            echo(one_line(f"{error}; trying again"), err=True)
            _wait(stopped, RETRY_DELAY_S)
            continue
        if round_.is_last:
            _wait(stopped, every_s)


def _report(result: Round) -> None:
    if result.rebuilt:
        note(one_line(f"built from an export: {result.written:,} {result.noun} ({result.rebuilt})"))
    elif result.written or result.deleted:
        note(f"{result.written:,} {result.noun} written, {result.deleted:,} no longer in the table")
    elif result.is_last:
        note("no changes")


def _wait(stopped: Stopped, duration_s: float) -> None:
    end_s = time.monotonic() + duration_s
    while not stopped and (remaining_s := end_s - time.monotonic()) > 0:
        time.sleep(min(POLL_INTERVAL_S, remaining_s))
