"""
`CellTable`: the interface of storage engines, modeled on HBase. Engines: memory, sqlite, postgres,
hbase.

Row keys and values are bytes. A row maps cells `b"family:qualifier"` to values, each with a
timestamp in milliseconds. The put with the larger timestamp is kept, no matter which arrives first;
if timestamps are equal, the later put is kept. A delete at a timestamp removes cells up to and
including it. A row without cells does not exist. No operation is transactional across rows.

A put that is not newer than an earlier delete of its cell may be lost, because HBase masks it until
a major compaction. So to write a value again after a delete, use a later timestamp. `check_and_put`
and `incr` use the engine's own clock, so `put` must never write their cells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from typing import NamedTuple, Protocol

from zengraph.errors import InvalidArgument


class Cell(NamedTuple):
    """A value, and the time at which it was written (ms since the epoch)."""

    value: bytes
    at_ms: int


Row = dict[bytes, Cell]

Unneeded = Callable[[bytes, bytes], Container[bytes]]  # see CellTable.get_many_needed

Deletion = tuple[bytes, Sequence[bytes] | None, int]
"""(row, columns, at_ms), as `CellTable.delete` accepts them."""


class CellSize(NamedTuple):
    """A cell without its value."""

    size_bytes: int
    at_ms: int


RowSizes = dict[bytes, CellSize]


class RowExtent(NamedTuple):
    """Upper bounds for a row's size."""

    size_bytes: int
    """The size of all values together."""
    cells: int


def newest_ms(row: Row) -> int:
    """Return the time of a row's newest cell. A deletion of the row at that time removes it all."""
    return max(cell.at_ms for cell in row.values())


# Every table and its column families.
TABLES: Mapping[str, tuple[str, ...]] = {
    "n": ("m", "s", "c"),  # nodes: properties, the caller's own cells, counts
    "e": ("p",),  # edges with properties
    "o": ("l",),  # outlinks, packed
    "j": ("l",),  # link journal
    "l": ("l",),  # inlinks, posting lists
    "u": ("i",),  # unique index
    "i": ("i",),  # non-unique index
    "d": ("i",),  # nodes by number
    "h": ("i",),  # nodes by ordering key
    "f": ("l",),  # time log
}


TOGETHER = 2
"""The first format that may store a group's nodes together (`links.Naming`)."""
PARTS = 3
"""The first format in which a group may have parts."""
FORMAT = 3
"""The format of new data. Existing data keeps its original format; see `Tables.format`."""

OWN_ROWS = (b"\0store-identity", b"\0store-format")
"""Rows of `u` that describe an engine's data. A copy of the data omits them."""


Scan = Generator[tuple[bytes, Row], None, None]


def sum_sizes(sizes: Mapping[bytes, RowSizes]) -> dict[bytes, RowExtent]:
    """Return rows' extents, given their cells' sizes."""
    return {
        row: RowExtent(sum(cell.size_bytes for cell in cells.values()), len(cells))
        for row, cells in sizes.items()
    }


class RowRange(NamedTuple):
    """The arguments of a scan."""

    start: bytes
    stop: bytes | None
    columns: Sequence[bytes] | None
    limit: int | None
    reverse: bool


class CellTable(Protocol):
    """
    One table. Engines implement the abstract methods.

    Every method raises `StoreUnavailable` if the engine does not answer.
    """

    @abstractmethod
    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        """Return the row's cells, or only those of `columns`."""

    @abstractmethod
    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        """Return the existing rows that have any of `columns`, in one round trip if possible."""

    def get_many_needed(
        self, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        """
        Like `get_many`, for rows whose cell `guide` shows which other cells a reader needs.

        `unneeded` gets a row's key and that cell's value, and returns the columns to leave out.
        Engines that support this do not read these columns, and return empty values (time 0)
        instead.
        """
        del guide, unneeded
        return self.get_many(rows)

    def get_many_names(self, rows: Sequence[bytes], column: bytes) -> dict[bytes, Row]:
        """
        Return the existing rows with the names of all cells and the value of `column`.

        Engines that support this do not read the other values, and leave them empty. The others
        return the rows as `get_many` does. Times are 0 or correct.
        """
        del column
        return self.get_many(rows)

    def get_each(self, rows: Sequence[bytes], columns: Sequence[bytes]) -> list[Row]:
        """
        `get` a few rows in the given order; one round trip if the engine supports it.

        Finds a cell that another process moves to a later row, if that process writes the later row
        first.
        """
        return [self.get(row, columns) for row in rows]

    def values_many(
        self, rows: Sequence[bytes], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """
        Return the values of `columns` (None if absent) for each row that has any.

        On SQLite, this takes half the time of `get_many`, because it reads no timestamps.
        """
        return {
            row: tuple([cell.value if (cell := cells.get(c)) else None for c in columns])
            for row, cells in self.get_many(rows, columns).items()
        }

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        """
        Return the size and time of each cell of the existing rows, if possible without reading
        the values.
        """
        return {
            row: {column: CellSize(len(cell.value), cell.at_ms) for column, cell in cells.items()}
            for row, cells in self.get_many(rows).items()
        }

    def extents_many(self, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        """
        Return upper bounds for existing rows' sizes; exact for large rows.

        On some engines, this takes a tenth of the CPU time of `sizes_many`.
        """
        return sum_sizes(self.sizes_many(rows))

    def get_prefix(self, row: bytes, prefix: bytes, limit: int, start_after: bytes = b"") -> Row:
        """
        Return up to `limit` cells of a row whose columns begin with `prefix`, sorted by column.

        Returns only columns after `start_after`. `prefix` begins with a family and a colon. Some
        engines do not read other values.
        """
        sizes = self.sizes_many([row]).get(row, {})
        columns = sorted(c for c in sizes if c.startswith(prefix) and c > start_after)[:limit]
        found = self.get(row, columns) if columns else {}
        return {column: found[column] for column in columns if column in found}

    @abstractmethod
    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Write cells of one row, atomically."""

    @abstractmethod
    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        """Write many (row, cells, at_ms). A row is atomic, the batch is not. Safe to repeat."""

    @abstractmethod
    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        """
        Remove cells that are not newer than `at_ms`. None for `columns` means all of the row's
        cells.
        """

    @abstractmethod
    def delete_many(self, items: Sequence[Deletion]) -> None:
        """Remove many (row, columns, at_ms). The batch is not atomic. Safe to repeat."""

    def put_and_delete_many(
        self,
        puts: Sequence[tuple[bytes, Mapping[bytes, bytes], int]],
        deletions: Sequence[Deletion],
    ) -> None:
        """
        `put_many` and `delete_many` for different rows, in one round trip if possible.

        The order is undefined: a failed call may have done parts of both. Safe to repeat.
        """
        if puts:
            self.put_many(puts)
        self.delete_many(deletions)

    def scan(
        self,
        start: bytes,
        stop: bytes | None,
        *,
        columns: Sequence[bytes] | None = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Scan:
        """
        Yield rows from `start` (inclusive) to `stop` (exclusive; None for the end), in key order.

        `reverse` yields the same range in descending order. Not a snapshot. Close the generator if
        you stop early: `with closing(table.scan(…)) as rows`.
        """
        return self._scan(RowRange(start, stop, columns, limit, reverse))

    def get_then_scan(
        self,
        row: bytes,
        columns: Sequence[bytes],
        start: bytes,
        stop: bytes,
        *,
        limit: int,
        reverse: bool = False,
    ) -> tuple[Row, Scan]:
        """
        `get` a row, then `scan` a range. Close the scan.

        Saves a round trip on engines that support it.
        """
        return self.get(row, columns), self.scan(start, stop, limit=limit, reverse=reverse)

    @abstractmethod
    def _scan(self, rows: RowRange) -> Scan:
        """Implement `scan` for an engine."""

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        """
        Put `value` if the cell contains `expected` (None: if it is absent); return True if it was
        put.

        Atomic. Raises InvalidArgument if `expected` or `value` is empty, because HBase does not
        distinguish empty from absent. Delete such a cell at its own `at_ms`, not the current time:
        on HBase, a delete at the current time often hides the next check_and_put of the same
        millisecond, although that call returns True.
        """
        return self.check_and_put_many([(row, column, expected, value)])[0]

    @abstractmethod
    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        """`check_and_put` for many (row, column, expected, value). The batch is not atomic."""

    @abstractmethod
    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        """Add to a counter (64-bit, big-endian) and return the result. Not safe to repeat."""


def refuse_empty(column: bytes, expected: bytes | None, value: bytes) -> None:
    """Raise InvalidArgument if a value for `check_and_put` is empty."""
    if expected == b"" or value == b"":
        raise InvalidArgument(f"check_and_put of {column!r}: values must not be empty")


def open_bucket(tables: Tables, bucket: int, buckets: int) -> int:
    """Return the first writable bucket from `bucket` on, or `bucket` itself if none is writable."""
    bucket %= buckets
    if tables.serves(bucket):  # almost always the case
        return bucket
    ring = ((bucket + step) % buckets for step in range(buckets))
    return next((bucket for bucket in ring if tables.serves(bucket)), bucket)


Put = tuple[str, bytes, Mapping[bytes, bytes], int]
"""(table, row, cells, at_ms)."""


class Salvaged(NamedTuple):
    """The result of salvaging one damaged file."""

    old: str
    """The damaged file, which is kept unchanged."""
    new: str
    saved: int
    """The number of saved nodes plus the number of saved cells of other tables."""
    unreadable: int
    """The number of rows that were found but could not be decoded."""
    gaps: int
    """The number of unreadable key ranges. Each is at least one page of the file."""
    first_bytes: frozenset[int]
    """The file contains the keys that begin with one of these bytes."""


class Tables(Protocol):
    """All tables of one engine."""

    @abstractmethod
    def __getitem__(self, name: str) -> CellTable:
        """Return the table with that name, one of `TABLES`."""

    def write(self, puts: Sequence[Put]) -> None:
        """
        Put rows of several tables. Safe to repeat. A row is atomic, the batch is not.

        Tables are written in the order of their first rows in `puts`, but an engine may write rows
        with the same first key byte in one transaction.
        """
        by_table: dict[str, list[tuple[bytes, Mapping[bytes, bytes], int]]] = {}
        for name, row, cells, at_ms in puts:
            by_table.setdefault(name, []).append((row, cells, at_ms))
        for name, items in by_table.items():
            self[name].put_many(items)

    def create(self) -> None:
        """Create missing tables; never drop any."""
        return

    def identity(self) -> str:
        """Return this data's random id, created if missing; empty if not supported."""
        return ""

    def format(self) -> int:
        """
        Return the format in which this data was created, 1 to `FORMAT`. It never changes.

        It determines how ids are derived. Engines that do not store it have format 1.

        Raises:
            StoreUnavailable: the engine does not answer.
        """
        return 1

    def serves(self, first_byte: int) -> bool:  # noqa: ARG002 - the port's signature
        """
        Return True if rows whose keys begin with that byte can be written.

        Returns False while the file that contains them is damaged. Writing them then raises
        `StoreDamaged`.
        """
        return True

    def check(self) -> list[str]:
        """Return the tables' problems, one line each with the remedy; empty if there are none."""
        return []

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:  # noqa: ARG002
        """
        Replace damaged files with new ones that contain all readable rows, and return the results.

        The caller must restore rows that the new files lack. Because the caller may be killed
        first, every call, in any process, returns the results again until they are passed to
        `salvage_finished`. `report` is called with a line of text before each long step.
        """
        return []

    def salvage_finished(self, done: Sequence[Salvaged]) -> None:  # noqa: ARG002
        """Discard results of `salvage` after restoring the lost rows. Safe to repeat."""
        return

    def scrub(self) -> None:
        """Erase deleted data from the disk, if the engine can. Safe to repeat."""
        return

    def close(self) -> None:
        """Close files and connections."""
        return
