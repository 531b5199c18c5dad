"""The commands `aragog store …`."""

from __future__ import annotations

import click

from aragog.cli.store.file_export import export_files
from aragog.cli.store.importing import import_
from aragog.cli.store.listing import list_
from aragog.cli.store.pack_copies import export_packs
from aragog.cli.store.tables import adopt, copy, create_tables, pack, repair, repair_graph, upgrade
from aragog.cli.store.takedowns import lift_takedown, takedown, takedowns
from aragog.cli.store.transfer import export, export_parts


@click.group()
def store() -> None:
    """Create and repair tables, import, export and take down pages."""


for command in (
    create_tables, upgrade, repair, repair_graph, adopt, copy, pack,
    export, export_files, export_parts, export_packs, import_, list_,
    takedown, takedowns, lift_takedown,
):  # fmt: skip
    store.add_command(command)
