"""A table whose rows begin with the number of a bucket."""

from __future__ import annotations

from typing import ClassVar

from aragog.zen.codec import BUCKETS
from aragog.zen.tables import Tables


class Bucketed:
    """The common part of the time log and the index of due times."""

    name: ClassVar[str]
    """Of the table."""
    buckets = range(BUCKETS)

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables[self.name]

    def serves(self, bucket: int) -> bool:
        """False while the file that holds the bucket is damaged."""
        return self._tables.serves(bucket)
