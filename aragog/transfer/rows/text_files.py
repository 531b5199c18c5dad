"""Write and read rows in text files: JSON Lines, a JSON array or CSV, optionally compressed."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import BadInput
from aragog.transfer.json_lines import open_to_read, open_to_write
from aragog.transfer.rows.tables import Row, Rows, build_table, cell_text, exact_json

COMPRESSED = (".gz", ".zst")
MAX_LINE_BYTES = 1 << 26
csv.field_size_limit(MAX_LINE_BYTES)  # a page's text can exceed the default of 128 KB


def write_lines(rows: Rows, file: Path, _names: Sequence[str]) -> int:
    """Write one row per line."""
    count = 0
    with closing(open_to_write(file)) as sink:
        for count, row in enumerate(rows(), 1):  # noqa: B007 - the number of rows
            sink.write(orjson.dumps(row, default=exact_json, option=orjson.OPT_APPEND_NEWLINE))
    return count


def write_json(rows: Rows, file: Path, _names: Sequence[str]) -> int:
    """Write one array, with one row per line."""
    count = 0
    with closing(open_to_write(file)) as sink:
        for count, row in enumerate(rows(), 1):
            sink.write(b"[\n" if count == 1 else b",\n")
            sink.write(orjson.dumps(row, default=exact_json))
        sink.write(b"\n]\n" if count else b"[]\n")
    return count


def write_csv(rows: Rows, file: Path, names: Sequence[str]) -> int:
    """Write a header and the rows, in UTF-8."""
    columns, rows = build_table(rows, names)
    with closing(open_to_write(file)) as sink:
        sink.write(_csv_line(columns))
        return _write_csv_rows(rows(), columns, sink)


def _write_csv_rows(rows: Iterable[Row], columns: Iterable[str], sink: Any) -> int:
    names, count = tuple(columns), 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the number of rows
        sink.write(_csv_line(cell_text(row.get(name)) for name in names))
    return count


def _csv_line(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue().encode()


class CsvFile:
    """A CSV file with a header."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def rows(self) -> Iterator[dict[str, str]]:
        with closing(open_to_read(self._file)) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
            yield from csv.DictReader(text)

    def header(self) -> list[str]:
        with closing(open_to_read(self._file)) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            return next(csv.reader(text), [])

    def add(self, rows: Rows, part: Path) -> int:
        header = self.header()
        columns, rows = build_table(rows, header)
        missing = [name for name in columns if name not in header]
        if missing:
            raise BadInput(
                f"{self._file} has no column {missing[0]!r}; choose its columns with --fields, "
                "or write another file"
            )
        with closing(open_to_write(part)) as sink:
            return _write_csv_rows(rows(), header, sink)


def line_urls(file: Path, column: str) -> Iterator[str | None]:
    """Yield the URL of each line."""
    with closing(open_to_read(file)) as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            yield _row_url(orjson.loads(line), column)


def array_urls(file: Path, column: str) -> Iterator[str | None]:
    """Yield the URL of each row of a JSON array, loaded into memory."""
    with closing(open_to_read(file)) as stream:
        rows = orjson.loads(stream.read())
    if not isinstance(rows, list):
        raise ValueError("not a list")  # noqa: TRY004 - bad file, not bad type
    yield from (_row_url(row, column) for row in rows)


def _row_url(row: Any, column: str) -> str | None:
    url = row.get(column) if isinstance(row, dict) else None
    return url if isinstance(url, str) else None


def csv_urls(file: Path, column: str) -> Iterator[str | None]:
    """Yield the URL of each row."""
    if not CsvFile(file).header():
        raise ValueError("no header")
    yield from (row.get(column) or None for row in CsvFile(file).rows())


def append_bytes(part: Path, file: Path) -> None:
    """Append one file's bytes to another. If that fails, the target is restored."""
    size = file.stat().st_size
    try:
        with part.open("rb") as source, file.open("ab") as sink:
            if file.suffix not in COMPRESSED and not _ends_with_newline(file):
                sink.write(b"\n")
            shutil.copyfileobj(source, sink)
    except OSError:
        os.truncate(file, size)  # truncate after closing, which writes buffered bytes
        raise


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(-1, io.SEEK_END)
        return stream.read(1) == b"\n"
