"""The command `aragog page-objects`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import PURPOSE, Host
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, note, one_line
from aragog.errors import TRANSIENT, ConfigError
from aragog.runtime.extras import require
from aragog.transfer.json_lines import open_to_read, open_to_write
from aragog.transfer.rows import Row, file_format, write_rows
from aragog.urlstore.store import UrlStore
from aragog.urlstore.uses import is_usable

if TYPE_CHECKING:
    from aragog.addons.poet.stored_inputs import PageObject


@click.command("page-objects")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--page-object", "name", required=True, metavar="MODULE:CLASS", help="Page class.")
@click.option("--host", type=Host(), help="Only pages of this host.")
@PURPOSE
def page_objects(file: Path, name: str, host: str | None, purpose: str | None) -> None:
    """
    Apply a web-poet page object to stored pages, and write the results to FILE.

    The extension of FILE selects JSON Lines, JSON, CSV, Parquet or SQLite. The pages are those that
    match the class's `handle_urls`, or all pages. Pages that raise an error are reported and
    skipped.
    """
    require("poet", "aragog page-objects", module="web_poet")
    from aragog.addons.poet.stored_inputs import PageObject  # noqa: PLC0415 - an extra

    file_format(file)
    counts = _Counts()
    items_file = file.with_name(f".{os.getpid()}-{file.name}.items.zst")
    partial_file = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        with (
            closing(PageObject(name)) as page_object,
            closing(url_store(command_settings())) as store,
            closing(open_to_write(items_file)) as sink,
        ):
            for item in _items(store, page_object, host, purpose, counts):
                sink.write(orjson.dumps(item, option=orjson.OPT_APPEND_NEWLINE))
        write_rows(lambda: _rows(items_file), partial_file)
        partial_file.replace(file)
    except OSError as error:
        raise ConfigError(f"{file}: cannot be written: {error.strerror}") from error
    finally:
        items_file.unlink(missing_ok=True)
        partial_file.unlink(missing_ok=True)
    note(f"{counts.items:,} items from {counts.pages:,} pages" + counts.errors_text())


@dataclass(slots=True)
class _Counts:
    pages: int = 0
    items: int = 0
    problems: int = 0

    def errors_text(self) -> str:
        return f"; {self.problems:,} with an error" if self.problems else ""


def _items(
    store: UrlStore, page_object: PageObject, host: str | None, purpose: str | None, counts: _Counts
) -> Iterator[dict[str, Any]]:
    for url in filter(page_object.applies_to, _urls(store, host)):
        if not is_usable(store, url, purpose):
            continue
        try:
            content = store.content(url)
            if content is None or content.url != url:  # an alias has no content of its own
                continue
            counts.pages += 1
            item = page_object.item(content)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - the user's code, or a damaged page
            counts.problems += 1
            echo(one_line(f"{url}: {type(error).__name__}: {error}"), err=True)
            continue
        counts.items += 1
        yield item


def _urls(store: UrlStore, host: str | None) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = store.pages.urls_of_host(host, cursor) if host else store.pages.urls(cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _rows(items_file: Path) -> Iterator[Row]:
    with closing(open_to_read(items_file)) as stream:
        for line in stream:
            yield json.loads(line, parse_float=Decimal)
