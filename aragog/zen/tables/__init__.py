"""
`CellTable`: the port under Zen, shaped like HBase. Adapters: memory, sqlite, hbase.

Rows are bytes; a row holds cells `b"family:qualifier"` to bytes, each with a timestamp in
milliseconds. The last write wins: of two puts the one with the larger timestamp stays, whatever
order they come in, and of equal ones the later call. A delete at a timestamp removes cells up to
and including it. A row without cells does not exist. Nothing is transactional across rows.

A put that is not newer than an earlier delete of its cell may be lost (HBase masks it until a major
compaction), so nobody may depend on it: what is written again after a delete carries a later
timestamp. `check_and_put` and `incr` stamp with the engine's own clock; a cell that they touch is
never written by `put`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, Protocol

from aragog.errors import BadInput


class Cell(NamedTuple):
    """A value and when it was written (ms since the epoch)."""

    value: bytes
    at_ms: int


Row = dict[bytes, Cell]


def newest_ms(row: Row) -> int:
    """
    The timestamp that a delete of what was read needs.

    Not the time: rows may be stamped by another machine, whose clock is ahead of this one.
    """
    return max(cell.at_ms for cell in row.values())


# Every table, and the families it has.
TABLES: Mapping[str, tuple[str, ...]] = {
    "n": ("m", "s", "c"),  # nodes: fields, system, counts
    "e": ("p",),  # edges with properties
    "o": ("l",),  # outlinks, packed
    "j": ("l",),  # link journal
    "l": ("l",),  # inlinks, posting lists
    "u": ("i",),  # unique index
    "i": ("i",),  # non-unique index
    "d": ("i",),  # due
    "h": ("i",),  # hosts
    "f": ("l",),  # change feed
}


class CellTable(Protocol):
    """One table. Every method raises `StoreUnavailable` when the engine does not answer."""

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        """The row's cells, or those of `columns`; empty when there is none."""

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        """Rows that exist and hold one of `columns` at least; one round trip where it can be."""

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Write cells of one row, atomically."""

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        """Write (row, cells, at_ms) each; a row is atomic, the batch is not; safe to repeat."""

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        """Remove cells not newer than `at_ms`; all of the row's when `columns` is None."""

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        """Remove (row, columns, at_ms) each; the batch is not atomic; safe to repeat."""

    def scan(
        self,
        start: bytes,
        stop: bytes | None,
        *,
        columns: Sequence[bytes] | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Generator[tuple[bytes, Row], None, None]:
        """
        Rows from `start` (inclusive) to `stop` (exclusive; None: the end), in key order.

        `reverse` gives the same range from its end. No snapshot is promised. Close it if you
        leave it early: `with closing(table.scan(…)) as rows`.
        """

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        """
        Put `value` if the cell holds `expected` (None: if it is absent). Atomic. True: done.

        Neither may be empty, which HBase cannot tell from absent (BadInput). A cell written here
        is deleted at its own `at_ms`, not at the clock's: seen on HBase, a delete at "now" hid the
        next check_and_put of the same millisecond, 23 times of 200, though it answered True.
        """

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        """`check_and_put` of (row, column, expected, value) each; the batch is not atomic."""
        return [self.check_and_put(*item) for item in items]

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        """Add to a counter (64-bit, big-endian) and return it. Not safe to repeat."""


def refuse_empty(column: bytes, expected: bytes | None, value: bytes) -> None:
    """BadInput for a `check_and_put` of empty values."""
    if expected == b"" or value == b"":
        raise BadInput(f"check_and_put of {column!r}: an empty value cannot be told from none")


def open_bucket(tables: Tables, wanted: int, buckets: int) -> int:
    """The first bucket from `wanted` on that can be written; `wanted` itself when none can."""
    ring = ((wanted + step) % buckets for step in range(buckets))
    return next((bucket for bucket in ring if tables.serves(bucket)), wanted % buckets)


Put = tuple[str, bytes, Mapping[bytes, bytes], int]
"""(table, row, cells, at_ms)."""


class Salvaged(NamedTuple):
    """What a repair saved of one damaged file."""

    old: str
    """The damaged file, which is kept as it is."""
    new: str
    saved: int
    """Nodes, and cells of other tables, in the new file."""
    unreadable: int
    """Rows that were found but could not be decoded."""
    gaps: int
    """Ranges of keys that could not be read; each lost at least a page of the file."""
    first_bytes: frozenset[int]
    """Keys beginning with one of these lie in the file."""


class Tables(Protocol):
    """All tables of one engine. Methods with a body are for adapters to inherit."""

    def __getitem__(self, name: str) -> CellTable:
        """The table of that name, one of `TABLES`."""

    def write(self, puts: Sequence[Put]) -> None:
        """
        Put rows of several tables. Safe to repeat; a row is atomic, the batch is not.

        Tables are written in the order of their first row in `puts`, except that an engine with
        transactions may write rows whose keys begin with the same byte together, in one.
        """
        by_table: dict[str, list[tuple[bytes, Mapping[bytes, bytes], int]]] = {}
        for name, row, cells, at_ms in puts:
            by_table.setdefault(name, []).append((row, cells, at_ms))
        for name, items in by_table.items():
            self[name].put_many(items)

    def create(self) -> None:
        """Make what is missing; never drops anything."""

    def identity(self) -> str:
        """A random word that these data have and no others, made when missing; "" for none."""
        return ""

    def serves(self, first_byte: int) -> bool:  # noqa: ARG002 - the port's signature
        """
        Whether rows whose keys begin with that byte can be written.

        False while the file that holds them is damaged: writing them raises `StoreDamaged`.
        """
        return True

    def check(self) -> list[str]:
        """What is wrong with the tables, a line each with the remedy; empty: nothing is."""
        return []

    def salvage(self) -> list[Salvaged]:
        """Replace damaged files by new ones with all rows that can be read; what was done."""
        return []

    def scrub(self) -> None:
        """Let nothing of what was deleted stay on disk, where the engine can; safe to repeat."""
        return

    def close(self) -> None:
        """Let go of files and connections."""
