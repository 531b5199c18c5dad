"""
Export pages as one WACZ file (Web Archive Collection Zipped, version 1.1.1).

A WACZ is a ZIP with WARC files, their index, the list of pages, and hashes. ReplayWeb.page shows
its pages in a browser, and pywb serves it. Its WARC files are not compressed again, so a program
can get one page with a few range requests.
"""

from __future__ import annotations

import gzip
import hashlib
import heapq
import json
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from aragog.errors import ConfigError
from aragog.runtime.clock import SystemClock
from aragog.runtime.extras import DISTRIBUTION
from aragog.transfer.import_export import EVERYTHING, NodeSelection
from aragog.transfer.warc_export import TITLE, WarcReport, export_warc, index_path
from aragog.urlstore.bodies import Bodies
from aragog.urlstore.warc_records import iso_date
from zengraph import MultiGraph
from zengraph.records import Row

WACZ_VERSION = "1.1.1"
_BLOCK_LINES = 1024
"""Number of index lines compressed together, as in other writers of this format."""
_READ_BYTES = 1 << 20


def export_wacz(
    zen: MultiGraph,
    bodies: Bodies,
    path: Path,
    selection: NodeSelection = EVERYTHING,
    *,
    purpose: str | None = None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> WarcReport:
    """
    Write the content of the selected pages to `path`; see `export_warc`.

    The file gets its name once it is complete. Until then, its WARC files are in the folder
    `.NAME.parts` next to it, so the export temporarily takes twice its size. Files from a killed
    export are replaced.

    Raises:
        ConfigError: a file is not writable.
        StoreUnavailable, ContentUnavailable: no file was written; call again.
    """
    parts = path.with_name(f".{path.name}.parts")
    try:
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True)
        with (parts / "pages.jsonl").open("wb") as pages:
            pages.write(_json({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))

            def on_page(url: str, date: str, row: Row) -> None:
                name = hashlib.sha256(f"{date} {url}".encode()).hexdigest()[:22]
                pages.write(_json({"id": name, "url": url, "ts": date, **_title(row)}))

            report = export_warc(
                zen,
                bodies,
                parts / "pages",
                selection,
                purpose=purpose,
                on_problem=on_problem,
                on_progress=on_progress,
                on_page=on_page,
            )
        _write_archive(parts / "wacz", parts / "pages.jsonl", report.files)
        (parts / "wacz").replace(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    return report


def _title(row: Row) -> dict[str, str]:
    try:
        title = json.loads(row[TITLE].value)
    except (KeyError, ValueError):
        return {}
    return {"title": title} if isinstance(title, str) else {}


def _write_archive(path: Path, pages: Path, files: Iterable[Path]) -> None:
    resources: list[dict[str, Any]] = []
    with zipfile.ZipFile(path, "w") as archive:

        def add(name: str, parts: Iterable[bytes], *, compress: bool = False) -> None:
            entry = zipfile.ZipInfo(name, _NO_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
            digest, size = hashlib.sha256(), 0
            with archive.open(entry, "w", force_zip64=True) as out:
                for part in parts:
                    out.write(part)
                    digest.update(part)
                    size += len(part)
            resources.append(
                {
                    "name": name.rpartition("/")[2].lower(),
                    "path": name,
                    "hash": f"sha256:{digest.hexdigest()}",
                    "bytes": size,
                }
            )

        blocks: list[str] = []
        add("pages/pages.jsonl", _chunks(pages), compress=True)
        add("indexes/index.cdx.gz", _index_blocks(files, blocks))
        add("indexes/index.idx", (block.encode() for block in blocks), compress=True)
        for file in files:
            add(f"archive/{file.name}", _chunks(file))
        package = _package_json(resources)
        archive.writestr(zipfile.ZipInfo("datapackage.json", _NO_DATE), package)
        digest = f"sha256:{hashlib.sha256(package).hexdigest()}"
        archive.writestr(
            zipfile.ZipInfo("datapackage-digest.json", _NO_DATE),
            _json({"path": "datapackage.json", "hash": digest}),
        )


_NO_DATE = (1980, 1, 1, 0, 0, 0)
"""A fixed date for ZIP entries, so that repeated exports differ only in the package's date."""


def _index_blocks(files: Iterable[Path], blocks: list[str]) -> Iterator[bytes]:
    """Yield the index in compressed blocks, and add their locations to `blocks`."""
    blocks.append(f"!meta 0 {_line({'format': 'cdxj-gzip-1.0', 'filename': 'index.cdx.gz'})}")
    offset = 0
    with ExitStack() as stack:
        indexes = [stack.enter_context(index_path(file).open("rb")) for file in files]
        lines = heapq.merge(*indexes)
        while block_lines := list(islice(lines, _BLOCK_LINES)):
            block = gzip.compress(b"".join(block_lines), mtime=0)
            digest = f"sha256:{hashlib.sha256(block).hexdigest()}"
            location = {"offset": offset, "length": len(block), "digest": digest}
            key = block_lines[0].partition(b" {")[0].decode()
            blocks.append(f"{key} {_line(location | {'filename': 'index.cdx.gz'})}")
            offset += len(block)
            yield block


def _package_json(resources: list[dict[str, Any]]) -> bytes:
    return _json(
        {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "software": f"aragog {version(DISTRIBUTION)}",
            "created": iso_date(SystemClock().now_ms()),
            "resources": resources,
        }
    )


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            yield part


def _line(value: dict[str, Any]) -> str:
    return f"{json.dumps(value)}\n"


def _json(value: dict[str, Any]) -> bytes:
    return _line(value).encode()
