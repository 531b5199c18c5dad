"""The port from which a table's keeper gets rows, and the parts that pages and items share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from aragog.urlstore.store import UrlStore

LEAVES = "leaves"
"""The column of a merge's rows that is true for those that the table no longer has."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The rows of one commit."""

    rows: Any
    """An Arrow table of rows to write and, with `LEAVES`, of keys to delete."""
    written: int
    left: int


class TableRows(Protocol):
    """The rows of one kind of tables."""

    key: str
    """The column that identifies a row."""
    noun: str
    """The name of a row in messages."""
    most_pages: int
    """Changed pages that one commit merges."""
    schema: Any
    """Of Arrow."""

    def exported(self) -> Iterator[Any]:
        """Record batches of all rows that the table should have."""

    def merge(self, urls: Collection[str], *, taken_down: bool) -> Merge | None:
        """
        What the rows of some pages are now; None: nothing to do.

        Args:
            urls: canonical URLs of pages that changed, and URLs that were canonical.
            taken_down: look for rows of pages that were taken down as well.
        """


def bucket_of(key: str, buckets: int) -> int:
    """The partition of a row: CRC-32 of the UTF-8 of its key, modulo their number."""
    return zlib.crc32(key.encode()) % buckets


def types_of(schema: Any) -> str:
    """Identifies the columns of a schema."""
    text = "\n".join(f"{column.name} {column.type}" for column in schema)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def refuser(store: UrlStore) -> Callable[[str | None], bool]:
    """Checks whether a URL was taken down, by itself or with its site; caches the former."""
    takedowns = store.takedowns
    single = {name for kind, name in takedowns.listed() if kind == "url"}
    return lambda url: url is not None and (url in single or takedowns.site_refused(url))
