"""The command `aragog store import`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from aragog.bootstrap.stores import url_store
from aragog.cli import addons
from aragog.cli.arguments import NON_NEGATIVE
from aragog.cli.data_folder import command_settings
from aragog.cli.exit_status import BAD_LINES
from aragog.cli.progress_display import counting_display
from aragog.cli.store.transfer import typed_fields_for
from aragog.cli.terminal import echo, note, one_line
from aragog.cli.write_pace import WritePace, max_per_second_option
from aragog.crawl.fetcher.recorded import RecordedLimits
from aragog.errors import BadInput
from aragog.runtime.clock import SystemClock
from aragog.settings import Settings
from aragog.transfer import import_export, json_lines
from aragog.transfer.archive_import import import_archive
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.captures import read_captures
from aragog.transfer.json_lines import ReadRecord, UrlRecord
from aragog.transfer.parquet import read_parquet
from aragog.transfer.warc_import import read_warc
from aragog.urlstore.store import UrlStore

FORMATS_BY_SUFFIX = {
    ".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".warc": "warc", ".cdx": "cdx",
    ".cdxj": "cdx",
}  # fmt: skip


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "parquet", "warc", "cdx", *addons.reads_formats()]),
    help="Default: by the extension of FILE.",
)
@click.option("--after", type=NON_NEGATIVE, default=0, help="How many lines or records to skip.")
@click.option("--due", is_flag=True, help="Fetch the URLs again soon (not for warc).")
@max_per_second_option
def import_(
    file: Path, kind: str | None, after: int, max_per_second: float | None, *, due: bool
) -> None:
    """
    Read URLs from FILE: JSON Lines (.gz, .zst) or Parquet as written by `export`, the pages of a
    WARC file, the captures of an index (CDX, CDXJ), or another format of --format.

    Bad lines are reported with their number; the others are imported. The exit status is then 4.
    """
    kind = kind or _format_of_suffix(file)
    if due and kind == "warc":
        raise click.UsageError("--due does not work with warc: import its index (.cdxj) with --due")
    settings, pace = command_settings(), WritePace(max_per_second)
    with closing(url_store(settings)) as opened:
        run = _import_archive if kind == "warc" else partial(_import_records, kind=kind, due=due)
        problems = run(file, opened, settings, after=after, pace=pace)
    if problems:
        sys.exit(BAD_LINES)


def _import_records(
    file: Path,
    store: UrlStore,
    settings: Settings,
    *,
    kind: str,
    after: int,
    due: bool,
    pace: WritePace,
) -> int:
    with counting_display("lines") as count_lines:
        source = pace.each(_open_source(file, kind, store, settings, after))
        report = import_export.import_urls(
            _mark_due(source) if due else source,
            BulkWriter(store, store.zen, settings.store),
            on_problem=_problem_reporter(file),
            on_progress=count_lines,
        )
    unit = "row" if kind == "parquet" else "line"
    note(
        f"{report.written:,} written, {report.problems:,} bad, up to {unit} {report.last_number:,}"
    )
    return report.problems


def _import_archive(
    file: Path, store: UrlStore, settings: Settings, *, after: int, pace: WritePace
) -> int:
    with file.open("rb") as stream, counting_display("records") as count_records:
        fetch = settings.fetch
        limits = RecordedLimits(fetch.max_header_bytes, fetch.max_wire_bytes, fetch.max_body_bytes)
        pages = pace.each(read_warc(stream, limits, after=after))
        report = import_archive(
            pages, store, settings, on_problem=_problem_reporter(file), on_progress=count_records
        )
    note(
        f"{report.written:,} written, {report.stale:,} stored from a later fetch, "
        f"{report.problems:,} bad, up to record {report.last_number:,}"
    )
    return report.problems


def _open_source(
    file: Path, kind: str, store: UrlStore, settings: Settings, after: int
) -> Iterator[ReadRecord]:
    if kind == "parquet":
        return iter(read_parquet(file, typed_fields_for(store, settings), after=after))
    stream = json_lines.open_to_read(file)
    if kind == "cdx":
        return read_captures(stream, after=after)
    if reader := addons.reads_formats().get(kind):
        records: Iterator[ReadRecord] = addons.function(reader)(stream, after=after)
        return records
    types = typed_fields_for(store, settings)
    return iter(json_lines.read_json_lines(stream, types, after=after))


def _mark_due(source: Iterator[ReadRecord]) -> Iterator[ReadRecord]:
    now_ms = SystemClock().now_ms()
    for number, record in source:
        if isinstance(record, UrlRecord):
            yield number, replace(record, due_at_ms=now_ms)
        else:
            yield number, record


def _problem_reporter(file: Path) -> Callable[[int, str], None]:
    def report(number: int, reason: str) -> None:
        echo(one_line(f"{file}:{number}: {reason}"), err=True)

    return report


def _format_of_suffix(file: Path) -> str:
    for suffix in reversed(file.suffixes):
        if suffix in FORMATS_BY_SUFFIX:
            return FORMATS_BY_SUFFIX[suffix]
    raise BadInput(
        f"{file}: unknown extension; use .jsonl (.gz, .zst), .parquet, .warc, .cdx, .cdxj "
        "or --format"
    )
