"""The commands `aragog store export` and `export-parts`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import PageTextUnavailable
from aragog.bootstrap.stores import url_store
from aragog.cli import addons
from aragog.cli.arguments import (
    COUNT,
    NON_NEGATIVE,
    PURPOSE,
    FieldNames,
    Host,
    absent_fields,
    declared_fields,
    pin_fields,
)
from aragog.cli.data_folder import command_settings
from aragog.cli.progress_display import counting_display, progress_display
from aragog.cli.store.item_export import export_items
from aragog.cli.store.listing import urls_of_host
from aragog.cli.terminal import echo, note, one_line
from aragog.errors import BadInput, ContentReplaced, CorruptContent, TakenDown
from aragog.pages.main_text import FIELDS
from aragog.pages.selectors import rule_types
from aragog.runtime.extras import require
from aragog.settings import Settings
from aragog.transfer import import_export, json_lines
from aragog.transfer.import_export import FindTexts, NodeSelection, SpanMs
from aragog.transfer.parquet import ParquetSink
from aragog.transfer.parts import FORMATS, MAX_PARTS, Part, PartOptions, export_part, prepare_folder
from aragog.transfer.row_sink import RowSink
from aragog.transfer.rows import file_format
from aragog.transfer.typed_fields import TypedFields
from aragog.transfer.warc_export import WarcReport, export_warc, next_file
from aragog.urlstore.store import UrlStore

STDOUT = Path("/dev/stdout")
ROW_FORMATS = ("csv", "json", "sqlite")
RECORD_MEMBERS = frozenset(json_lines.UrlRecord.__dataclass_fields__)
"""Keys of a record that are not fields of its page."""


def _check_cursor(
    _context: click.Context, _option: click.Parameter, cursor: str | None
) -> str | None:
    if cursor is not None and not re.fullmatch(r"[0-9a-f]{32}", cursor):
        raise click.BadParameter(f"{cursor!r} is not a cursor that an export printed")
    return cursor


@click.command("export")
@click.argument("file", metavar="FILE", type=click.UNPROCESSED)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["jsonl", "parquet", *ROW_FORMATS, "warc", *addons.writes_formats()]),
    help="Default: by the extension of FILE.",
)
@click.option(
    "--fields", type=FieldNames(known=True), help="Field names, separated by commas; default: all."
)
@click.option(
    "--items",
    type=FieldNames(),
    help="Write one row per item of these kinds, separated by commas (docs/own-fields.md).",
)
@click.option("--host", type=Host(), help="Only URLs of this host.")
@click.option("--crawl", help="Only pages of this crawl.")
@click.option("--links", is_flag=True, help="Include outlinks (jsonl, parquet).")
@PURPOSE
@click.option("--cursor", callback=_check_cursor, help="Continue where an earlier export stopped.")
@click.option("--limit", type=COUNT, help="Maximum number of records.")
def export(
    file: str,
    kind: str | None,
    fields: tuple[str, ...] | None,
    items: tuple[str, ...] | None,
    host: str | None,
    crawl: str | None,
    cursor: str | None,
    limit: int | None,
    purpose: str | None,
    *,
    links: bool,
) -> None:
    """
    Write URLs to FILE or s3://BUCKET/KEY: JSON Lines, tables, or their content as a web archive.

    The extension of FILE determines the format. .jsonl and .parquet contain complete records, which
    can be imported. .csv, .json and .sqlite have one row per page and one column per field. JSON
    Lines, CSV and JSON can be compressed (.gz, .zst). If FILE is `-`, JSON Lines are written to
    standard output. For WARC, FILE is a prefix of file names, and each file has its index (.cdxj)
    next to it.
    """
    settings = command_settings()
    with _local_path(file, settings) as path:
        if items:
            if links or crawl or cursor or limit or kind:
                raise click.UsageError("--items only works with FILE, --fields, --host and --for")
            target = None if path == STDOUT else path
            export_items(target, items, fields, host, purpose, settings)
            return
        selection = NodeSelection(cursor=cursor, limit=limit, crawl=crawl)
        _export_pages(path, kind, fields, selection, host, purpose, settings, links=links)


@contextmanager
def _local_path(file: str, settings: Settings) -> Iterator[Path]:
    """Yield a path to write to. If `file` is in S3, the written files are then copied there."""
    if not file.startswith("s3://"):
        yield STDOUT if file == "-" else Path(file)
        return
    require("s3", file)
    from aragog.transfer.s3_files import S3File  # noqa: PLC0415 - boto3 takes 0.3 s to import

    target = S3File(file, settings.resolved().content)
    with TemporaryDirectory(prefix="aragog-export-") as folder:
        yield Path(folder, target.path.name)
        for file_to_upload in sorted(Path(folder).iterdir()):
            target.upload(file_to_upload)


def _export_pages(
    file: Path,
    kind: str | None,
    fields: tuple[str, ...] | None,
    selection: NodeSelection,
    host: str | None,
    purpose: str | None,
    settings: Settings,
    *,
    links: bool,
) -> None:
    cursor = selection.cursor
    if to_stdout := file == STDOUT:
        kind = kind or "jsonl"
        if kind != "jsonl":
            raise click.UsageError("only JSON Lines can be written to standard output")
    kind = kind or _format_of_suffix(file)
    if links and kind in ROW_FORMATS:
        raise click.UsageError(
            f"--links: a {kind} file has one row per page; use .jsonl or .parquet"
        )
    if cursor and host:
        raise click.UsageError("--cursor resumes an export of all URLs; omit --host")
    if cursor and kind not in ("jsonl", "warc") and file.exists():
        raise click.UsageError(f"{file} is complete; resume in another file with --cursor")
    with closing(url_store(settings)) as store, counting_display(kind) as count_progress:
        if host:
            selection = replace(selection, urls=urls_of_host(store, host))
        if kind not in ("jsonl", "parquet", *ROW_FORMATS):
            report = _archive_writer(kind, file, is_continued=bool(cursor))(
                store.zen,
                store.bodies,
                file,
                selection,
                purpose=purpose,
                on_problem=_report_url,
                on_progress=count_progress,
            )
            count, next_cursor, absent_text = report.records, report.cursor, ""
        else:
            write = partial(_export_records, store, settings, file, kind, selection)
            count, next_cursor, absent_text = write(fields, purpose, count_progress, links=links)
    if not count and selection.crawl and not (cursor or host or purpose):
        absent_text = f"; no stored page belongs to the crawl {selection.crawl!r}"
    if next_cursor and not host:
        echo(f"{count:,} records{absent_text}; continue with --cursor {next_cursor}", err=to_stdout)
    else:
        note(f"{count:,} records{absent_text}", err=to_stdout)


def _archive_writer(kind: str, file: Path, *, is_continued: bool) -> Callable[..., WarcReport]:
    """Return the function that writes this kind of archive. Existing files are not replaced."""
    if function_path := addons.writes_formats().get(kind):
        return addons.function(function_path)
    return partial(export_warc, first_file=next_file(file) if is_continued else 0)


def _export_records(
    store: UrlStore,
    settings: Settings,
    file: Path,
    kind: str,
    selection: NodeSelection,
    fields: Sequence[str] | None,
    purpose: str | None,
    on_progress: Callable[[int], None],
    *,
    links: bool,
) -> tuple[int, str | None, str]:
    """
    Write JSON Lines or Parquet.

    Returns the number of records, the next cursor, and a message about absent fields.
    """
    types, append = typed_fields_for(store, settings), selection.cursor is not None
    fields = _page_fields(fields)
    with (
        closing(PageTexts(settings.pipeline, deadline_s=60)) as texts,
        closing(_FieldRecorder(_open_sink(file, kind, types, fields, append=append))) as sink,
    ):
        report = import_export.export_urls(
            store.zen,
            sink,
            selection,
            fields=fields,
            link_store=store if links else None,
            find_texts=_text_finder(texts, store, fields),
            purpose=purpose,
            on_progress=on_progress,
        )
    known_fields = declared_fields() | pin_fields() if fields else ()
    absent_text = absent_fields(fields, sink.fields, known_fields) if report.records else ""
    return report.records, report.cursor, absent_text


def _page_fields(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return which of these names are fields. Others, such as `url`, are part of every record."""
    return names if names is None else tuple(name for name in names if name not in RECORD_MEMBERS)


class _FieldRecorder:
    def __init__(self, sink: import_export.Sink) -> None:
        self._sink = sink
        self.fields: set[str] = set()

    def write(self, records: Sequence[json_lines.UrlRecord]) -> None:
        self.fields.update(*(record.fields for record in records))
        self._sink.write(records)

    def close(self) -> None:
        self._sink.close()


def _text_finder(
    texts: PageTexts, store: UrlStore, fields: Sequence[str] | None
) -> FindTexts | None:
    """
    Return a function that extracts requested main text, or None if `fields` has none.

    Pages without a text are reported, and keep their stored fields.
    """
    names = tuple(name for name in FIELDS.values() if name in (fields or ()))
    if not names:
        return None

    def find_texts(url: str) -> Mapping[str, bytes]:
        try:
            return texts.fields(store, url, names)
        except (PageTextUnavailable, ContentReplaced, CorruptContent, TakenDown) as error:
            _report_url(url, str(error))
            return {}

    return find_texts


def typed_fields_for(store: UrlStore, settings: Settings) -> TypedFields:
    """Return the types of fields in files, including the rules' fields."""
    return TypedFields(store.formats, rule_types(settings.extract))


def _open_sink(
    file: Path, kind: str, types: TypedFields, fields: Sequence[str] | None, *, append: bool
) -> import_export.Sink:
    if kind == "parquet":
        return ParquetSink(file, types, fields)
    if kind in ROW_FORMATS:
        return RowSink(file, types, fields)
    return json_lines.JsonLinesSink(json_lines.open_to_write(file, append=append), types)


@click.command("export-parts")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--parts", type=COUNT, default=16, show_default=True, help="Number of parts.")
@click.option(
    "--part",
    "numbers",
    type=NON_NEGATIVE,
    multiple=True,
    help="Write only this part, counted from 0; repeatable.",
)
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), default="jsonl.zst", show_default=True
)
@click.option(
    "--fields", type=FieldNames(known=True), help="Field names, separated by commas; default: all."
)
@click.option("--links", is_flag=True, help="Include outlinks (jsonl, parquet).")
@click.option(
    "--date",
    "day",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Only pages last fetched on this day (UTC), into FOLDER/dt=DATE.",
)
@PURPOSE
def export_parts(
    folder: Path,
    parts: int,
    numbers: tuple[int, ...],
    kind: str,
    fields: tuple[str, ...] | None,
    day: datetime | None,
    purpose: str | None,
    *,
    links: bool,
) -> None:
    """
    Write all URLs to FOLDER in parts, for programs that read them in parallel.

    After an interruption, repeat the command: complete parts are not written again. Each part can
    be written by a different process or machine (--part).
    """
    if parts > MAX_PARTS:
        raise click.BadParameter(f"at most {MAX_PARTS:,}", param_hint="--parts")
    if invalid := [number for number in numbers if number >= parts]:
        raise click.BadParameter(f"{invalid[0]} is not below --parts {parts}", param_hint="--part")
    fetched = None if day is None else _day_span(day, kind)
    folder = folder if day is None else folder / f"dt={day:%Y-%m-%d}"
    settings = command_settings()
    prepare_folder(folder, parts, kind, purpose)
    chosen_parts = [Part(number, parts) for number in numbers or range(parts)]
    with (
        closing(url_store(settings)) as store,
        closing(PageTexts(settings.pipeline, deadline_s=60)) as texts,
    ):
        options = PartOptions(
            format=kind,
            fields=_page_fields(fields),
            links=links,
            types=typed_fields_for(store, settings),
            find_texts=_text_finder(texts, store, fields),
            fetched=fetched,
            purpose=purpose,
        )
        counts = _export_chosen(chosen_parts, partial(export_part, store, folder), options)
    written_counts = [count for count in counts if count is not None]
    existing_count = len(chosen_parts) - len(written_counts)
    note(
        f"{sum(written_counts):,} records in {len(written_counts):,} parts"
        + (f"; {existing_count:,} already existed" if existing_count else "")
    )


def _export_chosen(
    parts: Sequence[Part], write: Callable[..., int | None], options: PartOptions
) -> list[int | None]:
    """
    Write parts and show the progress. Returns each part's record count, or None if the part
    existed.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.1f}%"),
        TimeRemainingColumn(),
    )
    counts = []
    with progress_display(*columns) as progress:
        task = progress.add_task("exporting", total=len(parts))
        for done, part in enumerate(parts):

            def on_fraction(share: float, done: int = done) -> None:
                progress.update(task, completed=done + share)

            counts.append(write(part, options, on_fraction=on_fraction, on_problem=_report_url))
            on_fraction(1.0)
    return counts


def _day_span(day: datetime, kind: str) -> SpanMs:
    """Return the day's start and end in ms. Raises UsageError for WARC or an unfinished day."""
    if kind == "warc":
        raise click.UsageError("--date only works with jsonl and parquet; warc contains all pages")
    begin = day.replace(tzinfo=UTC)
    end = begin + timedelta(days=1)
    if end > datetime.now(UTC):
        raise click.UsageError(f"--date {day:%Y-%m-%d} is not over (UTC); export it after midnight")
    return int(begin.timestamp() * 1000), int(end.timestamp() * 1000)


def _format_of_suffix(file: Path) -> str:
    if file.suffix == ".parquet":
        return "parquet"
    if file.suffix == ".warc" or file.suffix[1:] in addons.writes_formats():
        return file.suffix[1:]
    addon_extensions = "".join(f", .{kind}" for kind in addons.writes_formats())
    try:
        return file_format(file)
    except BadInput as error:
        raise BadInput(f"{error}, .warc{addon_extensions}, or use --format") from None


def _report_url(url: str, reason: str) -> None:
    echo(one_line(f"{url}: {reason}"), err=True)
