"""The command `aragog store export-packs`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import PURPOSE
from aragog.cli.data_folder import command_settings
from aragog.cli.progress_display import counting_display
from aragog.cli.terminal import echo, note, one_line
from aragog.transfer.pack_export import export_packs as export


@click.command("export-packs")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@PURPOSE
def export_packs(folder: Path, purpose: str | None) -> None:
    """
    Copy the packs of the store to FOLDER, without content that must not be passed on.

    Packs are WARC files, each with its index (.cdxj) next to it. After an interruption, repeat the
    command: packs that already exist are not copied again.
    """
    with closing(url_store(command_settings())) as store, counting_display("packs") as count_packs:
        report = export(
            store,
            folder,
            purpose=purpose,
            on_problem=lambda what, reason: echo(one_line(f"{what}: {reason}"), err=True),
            on_progress=count_packs,
        )
    note(
        f"{report.records:,} records: {report.whole:,} packs unchanged, "
        f"{report.partial:,} with records removed"
    )
