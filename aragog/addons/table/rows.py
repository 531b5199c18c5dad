"""The interface of a table's rows, and code that pages and items share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from aragog.urlstore.store import UrlStore

LEAVES = "leaves"
"""The boolean column that marks rows to be deleted by a merge."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The rows of one commit."""

    rows: Any
    """An Arrow table of rows to write and, with `LEAVES`, of keys to delete."""
    written: int
    left: int


class TableRows(Protocol):
    """Provides the rows of one kind of table."""

    key: str
    """The column that identifies a row."""
    noun: str
    """The name of a row in messages."""
    max_pages: int
    """Number of changed pages merged in one commit."""
    schema: Any
    """The Arrow schema."""

    def exported(self) -> Iterator[Any]:
        """Yield record batches of all rows that the table should have."""

    def merge(self, urls: Collection[str], *, taken_down: bool) -> Merge | None:
        """
        Return the current rows of some pages, or None if there is nothing to do.

        Args:
            urls: canonical URLs of changed pages, and URLs that used to be canonical.
            taken_down: also look for rows of pages that were taken down.
        """


def bucket_of(key: str, buckets: int) -> int:
    """
    Return the partition of a row: CRC-32 of its key in UTF-8, modulo the number of
    partitions.
    """
    return zlib.crc32(key.encode()) % buckets


def types_of(schema: Any) -> str:
    """Return a text that identifies the columns of a schema."""
    text = "\n".join(f"{column.name} {column.type}" for column in schema)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def takedown_check(store: UrlStore) -> Callable[[str | None], bool]:
    """
    Return a function that checks if a URL or its site was taken down; it caches
    results for URLs.
    """
    takedowns = store.takedowns
    single = {name for kind, name in takedowns.listed() if kind == "url"}
    return lambda url: url is not None and (url in single or takedowns.site_refused(url))
