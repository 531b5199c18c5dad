"""`aragog store export --items`: write one row per item, from all pages of the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import orjson

from aragog.bootstrap.stores import url_store
from aragog.cli.terminal import note
from aragog.errors import ConfigError
from aragog.pages.items import load_kinds
from aragog.settings import Settings
from aragog.transfer.item_rows import ItemRows
from aragog.transfer.rows import Row, Rows, exact_json, write_rows


def export_items(
    file: Path | None,
    names: Sequence[str],
    fields: Sequence[str] | None,
    host: str | None,
    purpose: str | None,
    settings: Settings,
) -> None:
    """
    Write the items of some kinds, one row per item.

    Args:
        file: its extension determines the format; it is replaced when all rows are written. None
            writes JSON Lines to standard output.
        names: the kinds' names.
        fields: the columns; None for all fields and the page.
        host: only items on pages of this host and its subdomains.
        purpose: only items on pages whose sites allow this purpose.
        settings: the settings that define the kinds (`extract`).

    Raises:
        BadInput: a kind or the file name is invalid.
        ConfigError: the file is not writable.
    """
    kinds = load_kinds(settings.extract)
    rows = ItemRows(kinds, names, fields)
    sites = [
        (site_kind.kind.name, site_kind.site)
        for site_kind in kinds
        if site_kind.kind.name in rows.kinds
    ]

    def item_rows() -> Iterator[Row]:
        for kind, site in sites:
            items = store.items.all(kind, site, below=host or "", purpose=purpose)
            yield from map(rows.row, items)

    with closing(url_store(settings)) as store:
        count = (
            _write_to_stdout(item_rows())
            if file is None
            else _write_to_file(item_rows, file, rows.columns)
        )
    note(f"{count:,} items", err=file is None)


def _write_to_stdout(rows: Iterator[Row]) -> int:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the number of rows
        line = orjson.dumps(row, default=exact_json, option=orjson.OPT_APPEND_NEWLINE)
        sys.stdout.buffer.write(line)
    sys.stdout.flush()
    return count


def _write_to_file(rows: Rows, file: Path, columns: Sequence[str]) -> int:
    temporary_file = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        count = write_rows(rows, temporary_file, columns)
        temporary_file.replace(file)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from error
    finally:
        temporary_file.unlink(missing_ok=True)
    return count
