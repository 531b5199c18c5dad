"""
Group puts and deletes into batches for HBase's Thrift gateway.

A batch has one timestamp and contains only puts or only deletes (see `table`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from zengraph.errors import InvalidArgument
from zengraph.tables import Deletion
from zengraph.tables.hbase.connection import thrift_api

MAX_BATCH_ROWS = 500
MAX_BATCH_BYTES = 4 << 20

Cells = Mapping[bytes, bytes]
Mutations = list[thrift_api.Mutation]
Group = tuple[int, Mapping[bytes, Mutations]]
"""A timestamp and its mutations by row. All of them are puts, or all are deletes."""


def put_mutations(cells: Cells) -> Mutations:
    """Return the mutations that put cells; raises InvalidArgument for a column without a family."""
    for column in cells:
        if b":" not in column:
            raise InvalidArgument(f"column {column!r}: must be family:qualifier")
    return [thrift_api.Mutation(column=column, value=value) for column, value in cells.items()]


def group_puts(items: Iterable[tuple[bytes, Cells, int]]) -> Iterator[Group]:
    """
    Group puts by timestamp.

    If a cell is put twice with the same timestamp, the later put wins. HBase does not guarantee
    that within a batch, so each row's dict does.
    """
    by_time: dict[int, dict[bytes, dict[bytes, bytes]]] = {}
    for row, cells, at_ms in items:
        by_time.setdefault(at_ms, {}).setdefault(row, {}).update(cells)
    for at_ms, rows in by_time.items():
        yield at_ms, {row: put_mutations(cells) for row, cells in rows.items() if cells}


def group_deletions(
    items: Iterable[Deletion], delete_mutations: Callable[[Sequence[bytes] | None], Mutations]
) -> Iterator[Group]:
    """Group deletions by timestamp. `delete_mutations` returns a row's mutations."""
    by_time: dict[int, dict[bytes, Mutations]] = {}
    for row, columns, at_ms in items:
        mutations = delete_mutations(columns)
        if mutations:
            by_time.setdefault(at_ms, {}).setdefault(row, []).extend(mutations)
    yield from by_time.items()


def split_batches(
    rows: Mapping[bytes, Mutations],
) -> Iterator[tuple[list[thrift_api.BatchMutation], int]]:
    """Split rows into batches of bounded size. Yields each batch and its size in bytes."""
    batch: list[thrift_api.BatchMutation] = []
    batch_bytes = 0
    for row, mutations in rows.items():
        row_bytes = sum(len(mutation.value or b"") for mutation in mutations)
        is_full = len(batch) == MAX_BATCH_ROWS or batch_bytes + row_bytes > MAX_BATCH_BYTES
        if batch and is_full:
            yield batch, batch_bytes
            batch, batch_bytes = [], 0
        batch.append(thrift_api.BatchMutation(row=row, mutations=mutations))
        batch_bytes += row_bytes
    if batch:
        yield batch, batch_bytes
