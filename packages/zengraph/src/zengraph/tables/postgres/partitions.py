"""Names of a table's partitions, and batches small enough for one statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from zengraph.tables.postgres.connection import Statement

MAX_BATCH_ROWS = 5000
MAX_BATCH_BYTES = 16 << 20

T = TypeVar("T")


class Partitions:
    """
    One table's name, and the partition for each row.

    A read of one row names its partition, because a statement on the whole table locks all
    partitions.

    Args:
        schema: the schema's name.
        name: one of `TABLES`.
        count: returns the number of partitions; None if the table is not partitioned.
    """

    def __init__(self, schema: str, name: str, count: Callable[[], int] | None) -> None:
        self.name = name
        self.qualified_name = f"{schema}.{name}"
        self._count = count
        self._statements: dict[tuple[int, bytes], Statement] = {}

    @cached_property
    def count(self) -> int:
        """The number of partitions; 0 if the table is not partitioned."""
        return self._count() if self._count else 0

    def statement(self, row: bytes, kind: bytes, text: bytes, types: tuple[int, ...]) -> Statement:
        """Return a statement on the partition of `row`. In `text`, `%s` stands for the table."""
        number = (row[0] * self.count >> 8) if self.count else -1
        found = self._statements.get((number, kind))
        if found is None:
            table = f"{self.qualified_name}_{number}" if number >= 0 else self.qualified_name
            name = table.encode().rpartition(b".")[2] + b"_" + kind
            found = self._statements[number, kind] = Statement(name, text % table.encode(), types)
        return found


def in_batches(items: Sequence[T], size_of: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """Split the items into batches small enough for one statement."""
    first, size = 0, 0
    for at, item in enumerate(items):
        weight = size_of(item)
        if at > first and (at - first == MAX_BATCH_ROWS or size + weight > MAX_BATCH_BYTES):
            yield items[first:at]
            first, size = at, 0
        size += weight
    if first < len(items):
        yield items[first:]
