"""The interface to a table's rows, and code that all tables share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from aragog.urlstore.store import UrlStore

DELETED = "leaves"
"""The boolean column that marks rows to delete."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The rows of one commit."""

    rows: Any
    """An Arrow table of rows to write and, with `DELETED`, of keys to delete."""
    written: int
    deleted: int


class TableRows(Protocol):
    """Provides the rows of one kind of table."""

    key: str
    """The column that identifies a row."""
    noun: str
    """What messages call the rows, such as "pages"."""
    max_pages: int
    schema: Any
    """The Arrow schema."""

    def exported_batches(self) -> Iterator[Any]:
        """Yield record batches of all rows that the table should have."""

    def merge(self, urls: Collection[str], *, taken_down: bool) -> Merge | None:
        """
        Return the current rows for these pages, or None if there is nothing to do.

        Args:
            urls: current and former canonical URLs of changed pages.
            taken_down: also look for rows of pages that were taken down.
        """


def bucket_number(key: str, buckets: int) -> int:
    """Return a row's partition: the CRC-32 of its key in UTF-8, modulo the number of partitions."""
    return zlib.crc32(key.encode()) % buckets


def schema_digest(schema: Any) -> str:
    """Return a hash of a schema's columns."""
    text = "\n".join(f"{column.name} {column.type}" for column in schema)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def takedown_check(store: UrlStore) -> Callable[[str | None], bool]:
    """Return a function that checks whether a URL or its site was taken down."""
    takedowns = store.takedowns
    urls = {name for kind, name in takedowns.listed() if kind == "url"}
    return lambda url: url is not None and (url in urls or takedowns.site_refused(url))
