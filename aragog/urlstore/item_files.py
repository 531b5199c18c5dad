"""
Items' stored files, such as images and documents. The items' fields contain the files' URLs.

A file is stored as a separate page, with its bytes as content and no fields. Files are looked up
when items are read, so their descriptions are up to date.

    {"url": "https://cdn.example/l-1.jpg", "sha256": "9f86…", "type": "image/jpeg", "bytes": 48213}
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from aragog.errors import InvalidUrl
from aragog.urlstore.records import Record, is_allowed
from urlspelling import normalize

FILE = "file"
"""The name of the fact (a stored value from a fetch) that marks a URL as an item's file."""
SHA256 = "sha256"
"""The fact with the SHA-256 of an item's file, in hex."""
BATCH_SIZE = 500

StoredFile = dict[str, Any]
"""A file as JSON: the canonical `url`, and `sha256`, `type` and `bytes` of the stored body."""


class RecordReader(Protocol):
    """Reads records (`aragog.urlstore.reader.Pages`)."""

    def get_many(self, urls: Sequence[str], fields: Sequence[str] | None) -> list[Record | None]:
        """See `UrlStore.get_many`."""


def is_stored_file(record: Record | None) -> bool:
    """Return True if a record is an item's file and its bytes are stored."""
    return record is not None and bool(record.content_key) and bool(record.facts.get(FILE))


def stored_files(
    pages: RecordReader, urls: Iterable[str], purpose: str | None = None
) -> dict[str, StoredFile]:
    """
    Return the stored files, by URL as given; takes one multi-get per 500 files.

    Args:
        pages: the store.
        urls: in any spelling. Invalid URLs and URLs without a stored file are omitted.
        purpose: omit files whose sites refuse this use.
    """
    normalized = {}
    for url in urls:
        with suppress(InvalidUrl):
            normalized[url] = normalize(url)
    targets = list(dict.fromkeys(normalized.values()))
    files: dict[str, StoredFile] = {}
    for start in range(0, len(targets), BATCH_SIZE):
        batch = targets[start : start + BATCH_SIZE]
        for url, record in zip(batch, pages.get_many(batch, ()), strict=True):
            if record is not None and record.content_key and is_allowed(record.facts, purpose):
                files[url] = _file(record)
    return {url: files[target] for url, target in normalized.items() if target in files}


def _file(record: Record) -> StoredFile:
    content_type = str(record.facts.get("content_type") or "")
    return {
        "url": record.canonical_url,
        "sha256": _sha256(record),
        "type": content_type.partition(";")[0].strip().lower() or None,
        "bytes": record.content_bytes,
    }


def _sha256(record: Record) -> str | None:
    """
    Return the SHA-256 of a file's bytes, or None.
    The content's hash is used only for a body in a pack: an object's hash is computed from the
    compressed bytes.
    """
    in_pack = " " in (record.content_key or "")
    digest = record.content_hash if in_pack else record.facts.get(SHA256)
    return str(digest) if digest else None
