"""The command `aragog store export-files`."""

from __future__ import annotations

import hashlib
import mimetypes
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from aragog.bootstrap.stores import url_store
from aragog.cli.arguments import PURPOSE, FieldNames, Host
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, note, one_line
from aragog.errors import ConfigError, ContentReplaced, CorruptContent, TakenDown
from aragog.pages.items import file_column, load_kinds
from aragog.transfer.item_rows import ItemRows
from aragog.urlstore.store import UrlStore


@click.command("export-files")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--items", type=FieldNames(), help="Only files of these kinds of items, separated by commas."
)
@click.option("--host", type=Host(), help="Only files of items on pages of this host.")
@PURPOSE
def export_files(
    folder: Path, items: tuple[str, ...] | None, host: str | None, purpose: str | None
) -> None:
    """
    Write the files of items to FOLDER, each once, as SHA256.EXTENSION.

    Existing files are kept, so you can stop and repeat the command.
    """
    settings = command_settings()
    kinds = load_kinds(settings.extract)
    names = ItemRows(kinds, items or ()).kinds
    sites = [
        (site_kind.kind.name, site_kind.site) for site_kind in kinds if site_kind.kind.name in names
    ]
    new_count = existing_count = 0
    with closing(url_store(settings)) as store:
        for url, sha256, content_type in _find_files(store, sites, host, purpose):
            is_written = _write_file(store, folder, url, sha256, content_type)
            new_count += is_written is True
            existing_count += is_written is False
    note(
        f"{new_count:,} files in {folder}"
        + (f"; {existing_count:,} already existed" if existing_count else "")
    )


def _find_files(
    store: UrlStore, sites: Sequence[tuple[str, str]], host: str | None, purpose: str | None
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the URL, hash and type of the items' files, once for each hash."""
    seen_digests: set[bytes] = set()
    for kind, site in sites:
        for item in store.items.all(kind, site, below=host or "", purpose=purpose):
            for name in item.files:
                for file in _stored_files(item.values.get(file_column(name))):
                    key = hashlib.sha256((file["sha256"] or file["url"]).encode()).digest()[:16]
                    if key not in seen_digests:
                        seen_digests.add(key)
                        yield file["url"], file["sha256"], file["type"]


def _stored_files(value: Any) -> Iterator[dict[str, Any]]:
    yield from (file for file in (value if isinstance(value, list) else [value]) if file)


def _write_file(
    store: UrlStore, folder: Path, url: str, sha256: str | None, content_type: str | None
) -> bool | None:
    """Write a file. Returns False if it exists, or None if it is unreadable or was taken down."""
    extension = mimetypes.guess_extension(content_type or "") or ""
    if sha256 and (folder / f"{sha256}{extension}").exists():
        return False
    try:
        content = store.content(url)
    except (CorruptContent, ContentReplaced, TakenDown) as error:
        echo(one_line(f"{url}: skipped: {error}"), err=True)
        return None
    if content is None:
        return None
    target = folder / f"{hashlib.sha256(content.body).hexdigest()}{extension}"
    temporary_file = folder / f".{os.getpid()}-{target.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary_file.write_bytes(content.body)
        temporary_file.replace(target)
    except OSError as error:
        raise ConfigError(f"{target}: cannot be written: {error.strerror}") from error
    finally:
        temporary_file.unlink(missing_ok=True)
    return True
