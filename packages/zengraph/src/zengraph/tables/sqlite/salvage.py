"""
Salvage: copy readable rows from damaged SQLite files into new ones.

A damaged file is copied with its write-ahead log. The copy is read row by row from both ends of
each table, and rows between two unreadable locations are found by bisecting the keys. If the first
page is lost, it is replaced with that of an empty file. This works because a format's files are
created with the same tables in the same order, so their root pages have the same numbers. The
damaged file is kept.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import islice
from pathlib import Path
from struct import error as BadStruct  # noqa: N812 - it is an exception

from zengraph.errors import StoreUnavailable
from zengraph.tables import TABLES, Salvaged
from zengraph.tables._packed import unpack
from zengraph.tables.sqlite import replacements
from zengraph.tables.sqlite.file_locks import lock_file
from zengraph.tables.sqlite.files import StoreFiles, open_file
from zengraph.tables.sqlite.layouts import (
    LARGE_PAGE_BYTES,
    LAYOUTS,
    SMALL_PAGE_BYTES,
    is_by_number,
)
from zengraph.tables.sqlite.packed_layout import Packed

log = logging.getLogger(__name__)

MAX_RANGES = 20_000
"""Maximum number of ranges to try per table. That takes a few seconds at most."""
MAX_EMPTY_BISECTIONS = 10
"""A range is skipped after this many consecutive bisections without a row."""
_ROWS = 1000
_WAIT_S = 30.0
_OTHER_REPAIR_S = 1.0
LOCK = "repairing"
"""A process locks this file while it replaces damaged files."""
_KEY_BYTES = 64
_ROOTS = 13
"""A new file's number of B-trees. Their root pages follow the first page."""
_TREE_KINDS = (2, 5, 10, 13)
"""First bytes of B-tree pages; see section 1.6 of sqlite.org/fileformat2.html."""

SqlRow = tuple[object, ...]


def salvage_damaged(files: StoreFiles, report: Callable[[str], None]) -> list[Salvaged]:
    """
    Check every file and replace damaged ones. Each damaged file needs disk space for two copies.

    Returns these replacements, and earlier ones that were not passed to `replacements.forget` yet.
    `report` gets a line before each long step. Safe to kill and to repeat, because a new file is
    used only after it is complete and its replacement is recorded.

    Raises:
        StoreUnavailable: the disk is full or not writable, or another process is salvaging.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_file(files.folder / LOCK, wait_s=_OTHER_REPAIR_S))
        except sqlite3.OperationalError as error:
            raise StoreUnavailable(str(files.folder), f"cannot be repaired: {error}") from error
        _salvage_all(files, report)
    return replacements.unfinished(files.folder)


def _salvage_all(files: StoreFiles, report: Callable[[str], None]) -> None:
    health = files.health
    report(f"reading {files.count} files to find damage")
    for number in range(files.count):
        if number not in health.damaged():
            _check(files, number)
    for number in health.damaged():
        old = health.path(number)
        report(f"{old} is damaged: saving its rows; waits up to {_WAIT_S:g} s for its writers")
        _salvage_file(files, number)
        report(f"{health.path(number)} is in use")


def _check(files: StoreFiles, number: int) -> None:
    """Set the file aside if SQLite's own check finds damage."""
    try:
        ((first, *_),) = files.connection(number).execute("PRAGMA integrity_check(1)").fetchall()
    except sqlite3.Error as error:
        translated = files.translate(error, number)  # this also sets a damaged file aside
        if number not in files.health.damaged():
            raise translated from error
        return
    if first != "ok":
        files.health.set_aside(number, files.health.generation(number), str(first))


def _salvage_file(files: StoreFiles, number: int) -> None:
    health = files.health
    old, new = health.path(number), health.path(number, health.generation(number) + 1)
    copy = old.with_name(f"{number:02x}.copy")
    try:
        _remove(copy)
        _remove(new)
        with _exclude_writers(old):
            # Copy the log first, so that frames that a checkpoint moves now are in both copies.
            for suffix in ("-wal", ""):
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{old}{suffix}", f"{copy}{suffix}")
        with closing(open_file(new, files.form)) as target:
            saved, unreadable, gaps = _copy_rows(copy, target, files.form)
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        mine = frozenset(range(number, 256, files.count))
        replacements.note(Salvaged(str(old), str(new), saved, unreadable, gaps, mine))
    except (OSError, sqlite3.Error) as error:
        raise StoreUnavailable(f"sqlite ({new})", f"{error}; repair again") from error
    finally:
        _remove(copy)
    health.replace(number)
    log.warning("%s is replaced by %s: %d cells and nodes saved, %d gaps", old, new, saved, gaps)


class _exclude_writers:  # noqa: N801 - used as a function
    """Hold a damaged file's write lock, so that the copy includes earlier writes."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)

    def __enter__(self) -> None:
        # A file that is no longer a database can be neither locked nor written.
        with suppress(sqlite3.DatabaseError):
            self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        with suppress(sqlite3.Error):
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        self._db.close()


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _copy_rows(copy: Path, target: sqlite3.Connection, form: int) -> tuple[int, int, int]:
    source = _open_copy(copy, form)
    saved = unreadable = gaps = 0
    with closing(source):
        for name in TABLES:
            walk = _Walk(source, name, form)
            columns = 2 if walk.packed else 4
            sql = f"INSERT OR REPLACE INTO {name} VALUES ({','.join('?' * columns)})"  # noqa: S608
            rows = (row[-columns:] for row in walk.rows())
            while some := list(islice(rows, _ROWS)):
                good = [row for row in some if _is_good(name, row, packed=walk.packed)]
                target.execute("BEGIN IMMEDIATE")
                target.executemany(sql, good)
                target.execute("COMMIT")
                unreadable += len(some) - len(good)
            saved += target.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
            gaps += walk.gaps
    return saved, unreadable, gaps


def _open_copy(copy: Path, form: int) -> sqlite3.Connection:
    for attempt in range(2):
        db = sqlite3.connect(copy, isolation_level=None)
        try:
            names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
            if names >= TABLES.keys():
                return db
        except sqlite3.DatabaseError:
            pass
        db.close()
        if not attempt:
            _replace_first_page(copy, form)
    return sqlite3.connect(":memory:")  # the copy is unreadable: use an empty database


def _replace_first_page(copy: Path, form: int) -> None:
    """Overwrite the copy's first page with that of an empty file and the copy's page count."""
    empty = copy.with_name(f"{copy.name}.empty")
    size = _page_bytes(copy)
    try:
        # Closing the last connection moves the log into the file, where the page can be read.
        open_file(empty, form, new_page_bytes=size).close()
        with empty.open("rb") as file:
            first = bytearray(file.read(size))
    finally:
        _remove(empty)
    first[28:32] = (copy.stat().st_size // size).to_bytes(4)
    with copy.open("r+b") as file:
        file.write(first)


def _page_bytes(copy: Path) -> int:
    """
    Guess a file's page size if its first page is lost.

    A format's files may have either size (see `page_bytes`). The pages after the first are the
    tables' root pages, and a B-tree page begins with its type. So with pages of 2 KB, most odd
    multiples of 2 KB have such a byte; with pages of 4 KB, few do.
    """
    with copy.open("rb") as file:
        start = file.read(SMALL_PAGE_BYTES * _ROOTS)
    odd = start[SMALL_PAGE_BYTES :: 2 * SMALL_PAGE_BYTES]
    trees = sum(kind in _TREE_KINDS for kind in odd)
    return SMALL_PAGE_BYTES if 2 * trees > len(odd) else LARGE_PAGE_BYTES


def _is_good(name: str, row: SqlRow, *, packed: bool) -> bool:
    families = tuple(f"{family}:".encode() for family in TABLES[name])
    try:
        if packed:
            key, data = row
            cells = unpack(data)  # type: ignore[arg-type]
            return isinstance(key, bytes) and all(column.startswith(families) for column in cells)
        key, column, at_ms, value = row
        return (
            isinstance(key, bytes)
            and isinstance(column, bytes)
            and column.startswith(families)
            and isinstance(at_ms, int)
            and isinstance(value, bytes)
        )
    except (BadStruct, TypeError, ValueError, AttributeError, IndexError):
        return False


class _Walk:
    """Reads all readable rows of a table, some of them twice."""

    def __init__(self, db: sqlite3.Connection, name: str, form: int) -> None:
        self.packed = isinstance(LAYOUTS[name], Packed)
        # Read by row number if the table has them, because the key index may be damaged too.
        self._by_number = is_by_number(name, form)
        key = "rowid" if self._by_number else "row"
        what = f"{key}, row, data" if self.packed else f"{key}, row, col, at, value"
        hint = " NOT INDEXED" if self._by_number else ""
        self._sql = f"SELECT {what} FROM {name}{hint} WHERE {key}>=? AND {key}<=? ORDER BY {key}"  # noqa: S608
        self._db = db
        self._lost: list[tuple[int, int]] = []

    @property
    def gaps(self) -> int:
        count, end = 0, None
        for low, high in sorted(self._lost):
            count += end is None or low > end + 1
            end = high if end is None else max(end, high)
        return count

    def rows(self) -> Iterator[SqlRow]:
        """Search breadth first, so that every gap is sampled before any is searched completely."""
        low, high = (-(2**63), 2**63 - 1) if self._by_number else (0, 256**_KEY_BYTES - 1)
        left = deque([(low, high, 0)])
        probes = 0
        while left:
            low, high, barren = left.popleft()
            probes += 1
            if low > high:
                continue
            if probes > MAX_RANGES or barren > MAX_EMPTY_BISECTIONS:
                self._lost.append((low, high))
                continue
            up = yield from self._read(low, high, "")
            down = None if up is None else (yield from self._read(up, high, " DESC"))
            if up is None or down is None:
                continue
            barren = barren + 1 if (up, down) == (low, high) else 0
            if up > down:  # a damaged page returned keys outside the range
                up, down = low, high
            if up == down:
                self._lost.append((up, down))
                continue
            middle = (up + down) // 2
            left.append((up, middle, barren))
            left.append((middle + 1, down, barren))

    def _read(self, low: int, high: int, order: str) -> Generator[SqlRow, None, int | None]:
        """Yield rows from one end. Returns where reading failed, or None after the last row."""
        last = high if order else low
        try:
            for row in self._db.execute(self._sql + order, (self._key(low), self._key(high))):
                yield row
                last = self._place(row[0])
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            return last
        return None

    def _key(self, place: int) -> int | bytes:
        return place if self._by_number else place.to_bytes(_KEY_BYTES).rstrip(b"\0")

    @staticmethod
    def _place(key: object) -> int:
        if isinstance(key, bytes):
            return int.from_bytes(key[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0"))
        return key if isinstance(key, int) else 0
