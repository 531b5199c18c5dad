"""
`CellTable`: the port under Zen, shaped like HBase. Adapters: memory, sqlite, postgres, hbase.

Rows are bytes; a row holds cells `b"family:qualifier"` to bytes, each with a timestamp in
milliseconds. The last write wins: of two puts the one with the larger timestamp stays, in any order
of arrival, and of equal timestamps the later call. A delete at a timestamp removes cells up to and
including it. A row without cells does not exist. No operation is transactional across rows.

A put that is not newer than an earlier delete of its cell may be lost (HBase masks it until a major
compaction), so callers must not depend on it: a value that is written again after a delete has a
later timestamp. `check_and_put` and `incr` use the engine's own clock; a cell that they write is
never written by `put`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import NamedTuple, Protocol

from zengraph.errors import InvalidArgument


class Cell(NamedTuple):
    """A value and when it was written (ms since the epoch)."""

    value: bytes
    at_ms: int


Row = dict[bytes, Cell]

Deletion = tuple[bytes, Sequence[bytes] | None, int]
"""(row, columns, at_ms), as `CellTable.delete` takes them."""


class CellSize(NamedTuple):
    """A cell without its value."""

    size_bytes: int
    at_ms: int


RowSizes = dict[bytes, CellSize]


class RowExtent(NamedTuple):
    """What a row has at most."""

    size_bytes: int
    """Of all values together."""
    cells: int


def newest_ms(row: Row) -> int:
    """
    The timestamp for a delete of a row that was read.

    Not the present time: another machine whose clock is ahead may have written the row.
    """
    return max(cell.at_ms for cell in row.values())


# Every table and its column families.
TABLES: Mapping[str, tuple[str, ...]] = {
    "n": ("m", "s", "c"),  # nodes: properties, those of a layer above, counts
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
"""The first form of data in which ids may keep the nodes of a group together (`links.Naming`)."""
FORMAT = 2
"""The form of new data. Data keep the form in which they were begun: see `Tables.format`."""

OWN_ROWS = (b"\0store-identity", b"\0store-format")
"""Rows of `u` that say what the data of an engine are; a copy leaves them out."""


Scan = Generator[tuple[bytes, Row], None, None]


def extents_of(sizes: Mapping[bytes, RowSizes]) -> dict[bytes, RowExtent]:
    """The extents of rows whose cells were measured."""
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
    One table. Engines inherit the methods that have a body and define the abstract ones.

    Every method raises `StoreUnavailable` if the engine does not answer.
    """

    @abstractmethod
    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        """The row's cells, or those of `columns`; empty if there are none."""

    @abstractmethod
    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        """Existing rows with at least one of `columns`; one round trip if possible."""

    def get_each(self, rows: Sequence[bytes], columns: Sequence[bytes]) -> list[Row]:
        """
        `get` of each of a few rows, each after the one before it; a round trip on engines that can.

        So what was moved from the first row to the second one, first written there and then
        removed here, is found.
        """
        return [self.get(row, columns) for row in rows]

    def values_many(
        self, rows: Sequence[bytes], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """
        The values of `columns`, in that order, for each row that has one of them; None: no cell.

        What serving reads: without timestamps, at half the cost of `get_many` on SQLite.
        """
        return {
            row: tuple([cell.value if (cell := cells.get(c)) else None for c in columns])
            for row, cells in self.get_many(rows, columns).items()
        }

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        """
        The size and the time of each cell of the existing rows.

        Engines that can, find them without reading the values.
        """
        return {
            row: {column: CellSize(len(cell.value), cell.at_ms) for column, cell in cells.items()}
            for row, cells in self.get_many(rows).items()
        }

    def extents_many(self, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        """
        What the existing rows have at most; exact for large rows.

        Engines that can, find it without looking at each cell: a tenth of the CPU of `sizes_many`.
        """
        return extents_of(self.sizes_many(rows))

    def get_prefix(self, row: bytes, prefix: bytes, limit: int, beyond: bytes = b"") -> Row:
        """
        Up to `limit` cells of a row whose columns begin with `prefix`, in the order of columns.

        Only those after the column `beyond`. `prefix` begins with a family and its colon. Engines
        that can, read no other values.
        """
        sizes = self.sizes_many([row]).get(row, {})
        columns = sorted(c for c in sizes if c.startswith(prefix) and c > beyond)[:limit]
        found = self.get(row, columns) if columns else {}
        return {column: found[column] for column in columns if column in found}

    @abstractmethod
    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Write cells of one row, atomically."""

    @abstractmethod
    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        """Write (row, cells, at_ms) each; a row is atomic, the batch is not; safe to repeat."""

    @abstractmethod
    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        """Remove cells not newer than `at_ms`; all of the row's cells if `columns` is None."""

    @abstractmethod
    def delete_many(self, items: Sequence[Deletion]) -> None:
        """Remove (row, columns, at_ms) each; the batch is not atomic; safe to repeat."""

    def put_and_delete_many(
        self,
        puts: Sequence[tuple[bytes, Mapping[bytes, bytes], int]],
        deletions: Sequence[Deletion],
    ) -> None:
        """
        `put_many` and `delete_many` of other rows; one round trip on engines that can.

        In any order: a call that fails may have done either without the other. Safe to repeat.
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
        Rows from `start` (inclusive) to `stop` (exclusive; None: the end), in key order.

        `reverse` returns the same range from its end. Not a snapshot. If you do not read it to its
        end, close it: `with closing(table.scan(…)) as rows`.
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
        `get` of a row, and `scan` of what is there after that; close the scan, too.

        A round trip less on engines that can.
        """
        return self.get(row, columns), self.scan(start, stop, limit=limit, reverse=reverse)

    @abstractmethod
    def _scan(self, rows: RowRange) -> Scan:
        """`scan`, as each engine does it."""

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        """
        Put `value` if the cell holds `expected` (None: if it is absent). Atomic. True: written.

        Neither may be empty, which HBase does not distinguish from absent (InvalidArgument). Delete
        a cell that was written here at its own `at_ms`, not at the present time: observed on HBase,
        a delete at "now" hid the next check_and_put of the same millisecond, 23 times of 200,
        although that returned True.
        """
        return self.check_and_put_many([(row, column, expected, value)])[0]

    @abstractmethod
    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        """`check_and_put` of (row, column, expected, value) each; the batch is not atomic."""

    @abstractmethod
    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        """Add to a counter (64-bit, big-endian) and return it. Not safe to repeat."""


def refuse_empty(column: bytes, expected: bytes | None, value: bytes) -> None:
    """Raise InvalidArgument for a `check_and_put` of empty values."""
    if expected == b"" or value == b"":
        raise InvalidArgument(f"check_and_put of {column!r}: an empty value counts as none")


def open_bucket(tables: Tables, bucket: int, buckets: int) -> int:
    """The first writable bucket from `bucket` on; `bucket` itself if none is writable."""
    bucket %= buckets
    if tables.serves(bucket):  # nearly always
        return bucket
    ring = ((bucket + step) % buckets for step in range(buckets))
    return next((bucket for bucket in ring if tables.serves(bucket)), bucket)


Put = tuple[str, bytes, Mapping[bytes, bytes], int]
"""(table, row, cells, at_ms)."""


class Salvaged(NamedTuple):
    """The result of the repair of one damaged file."""

    old: str
    """The damaged file, which is kept unchanged."""
    new: str
    saved: int
    """Nodes, and cells of other tables, in the new file."""
    unreadable: int
    """Rows that were found but could not be decoded."""
    gaps: int
    """Ranges of keys that could not be read; each lost at least one page of the file."""
    first_bytes: frozenset[int]
    """Keys that begin with one of these are in the file."""


class Tables(Protocol):
    """All tables of one engine. Adapters inherit the methods that have a body."""

    @abstractmethod
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
        """Create missing tables; never drops anything."""
        return

    def identity(self) -> str:
        """A random word that identifies these data, created if missing; "" if not supported."""
        return ""

    def format(self) -> int:
        """
        The form in which these data were begun, 1 to `FORMAT`; it never changes.

        Callers make ids by it. An engine that does not keep it has data of the first form.

        Raises:
            StoreUnavailable: the engine does not answer.
        """
        return 1

    def serves(self, first_byte: int) -> bool:  # noqa: ARG002 - the port's signature
        """
        True if rows whose keys begin with that byte can be written.

        False while the file that holds them is damaged: writing them raises `StoreDamaged`.
        """
        return True

    def check(self) -> list[str]:
        """Problems of the tables, one line each with the remedy; empty if there are none."""
        return []

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:  # noqa: ARG002
        """
        Replace damaged files by new ones with all readable rows; returns the results.

        Each call returns them again, in any process, until `salvage_finished` gets them: what a
        new file lacks is made up for by a walk that may be killed. `report` gets a line before each
        step that may take long.
        """
        return []

    def salvage_finished(self, done: Sequence[Salvaged]) -> None:  # noqa: ARG002
        """Forget these results: what the new files lack has been made up for. Safe to repeat."""
        return

    def scrub(self) -> None:
        """Erase deleted data from the disk, if the engine can; safe to repeat."""
        return

    def close(self) -> None:
        """Close files and connections."""
        return
