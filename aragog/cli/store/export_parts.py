"""`aragog store export-parts`: an export in parts that many processes and machines write."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import COUNT, NOT_NEGATIVE, FieldNames
from aragog.cli.data_folder import command_settings
from aragog.cli.progress_display import progress_display
from aragog.cli.store.output import report_url
from aragog.terminal import note
from aragog.transfer.parts import FORMATS, MAX_PARTS, Part, PartOptions, export_part, prepare_folder
from aragog.urlstore.content import open_content


@click.command("export-parts")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--parts", type=COUNT, default=16, show_default=True, help="Number of parts.")
@click.option(
    "--part",
    "numbers",
    type=NOT_NEGATIVE,
    multiple=True,
    help="Write only this part, from 0; repeatable.",
)
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), default="jsonl.zst", show_default=True
)
@click.option(
    "--fields", type=FieldNames(known=True), help="Field names, separated by commas; default: all."
)
@click.option("--links", is_flag=True, help="Include outlinks (jsonl, parquet).")
def export_parts(
    folder: Path,
    parts: int,
    numbers: tuple[int, ...],
    kind: str,
    fields: tuple[str, ...] | None,
    *,
    links: bool,
) -> None:
    """
    Write all URLs to FOLDER in parts, for programs that read them in parallel.

    Repeat the command after an interruption: parts that are complete are not written again. Each
    part may be written by another process or machine (--part).
    """
    if parts > MAX_PARTS:
        raise click.BadParameter(f"at most {MAX_PARTS:,}", param_hint="--parts")
    if wrong := [number for number in numbers if number >= parts]:
        raise click.BadParameter(f"{wrong[0]} is not below --parts {parts}", param_hint="--part")
    settings = command_settings()
    options = PartOptions(format=kind, fields=fields, links=links)
    prepare_folder(folder, parts, kind)
    chosen = [Part(number, parts) for number in numbers or range(parts)]
    written = records = 0
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.1f} %"),
        TimeRemainingColumn(),
    )
    with (
        closing(url_store(settings)) as store,
        progress_display(*columns) as progress,
    ):
        content = open_content(settings.content, settings.data_dir)
        task = progress.add_task("exporting", total=len(chosen))
        for done, part in enumerate(chosen):

            def on_share(share: float, done: int = done) -> None:
                progress.update(task, completed=done + share)

            count = export_part(
                store, content, folder, part, options, on_share=on_share, on_problem=report_url
            )
            on_share(1.0)
            written += count is not None
            records += count or 0
    existing = len(chosen) - written
    note(
        f"{records:,} records in {written:,} parts"
        + (f"; {existing:,} were there" if existing else "")
    )
