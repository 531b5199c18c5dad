"""Files of plain rows: table columns, cell values and appending."""

import csv
import gzip
import resource
import signal
import sqlite3
from contextlib import closing
from decimal import Decimal

import orjson
import pyarrow.parquet as pq
import pytest

from aragog.errors import BadInput
from aragog.transfer.rows import append_rows, read_urls, write_rows
from aragog.transfer.rows.tables import MAX_COLUMNS

ROWS = [
    {
        "url": "http://a.example/",
        "price": Decimal("19.90"),
        "rating": {"value": Decimal("4.5"), "of": {"best": 5}},
        "tags": ["a", 'say "b", c'],
        "text": "two\nlines, Käse",
        "new": True,
    },
    {"url": "http://b.example/", "price": None, "rating": {"value": 3}, "more": [{"x": 1}]},
]
COLUMNS = ["url", "rating.value", "rating.of.best", "price", "tags", "text", "new", "more"]


def rows_of(rows=ROWS):
    return lambda: iter(rows)


def test_csv_has_a_column_for_each_member_of_a_record(tmp_path):
    file = tmp_path / "x.csv"

    assert write_rows(rows_of(), file, ("url", "rating")) == 2

    with file.open(newline="", encoding="utf-8") as stream:
        header, first, second = csv.reader(stream)
    assert header == COLUMNS
    tags = '["a","say \\"b\\", c"]'
    text = "two\nlines, Käse"
    assert first == ["http://a.example/", "4.5", "5", "19.90", tags, text, "true", ""]
    assert second == ["http://b.example/", "3", "", "", "", "", "", '[{"x":1}]']


def test_sqlite_has_the_same_columns_with_numbers(tmp_path):
    file = tmp_path / "x.sqlite"
    write_rows(rows_of(), file, ("url", "rating"))

    with closing(sqlite3.connect(file)) as database:
        cursor = database.execute("SELECT * FROM pages ORDER BY url")
        names = [each[0] for each in cursor.description]
        first, _ = map(dict, (zip(names, row, strict=True) for row in cursor))
    assert names == COLUMNS
    assert (first["price"], first["rating.of.best"], first["new"]) == (19.9, 5, 1)


def test_parquet_has_the_same_columns(tmp_path):
    file = tmp_path / "x.parquet"
    write_rows(rows_of(), file, ("url", "rating"))

    table = pq.read_table(file)
    assert table.column_names == COLUMNS
    assert table.column("tags").to_pylist() == [["a", 'say "b", c'], None]
    assert table.column("rating.value").to_pylist() == [4.5, 3.0]


def test_json_is_an_array_with_all_digits(tmp_path):
    file = tmp_path / "x.json.gz"
    write_rows(rows_of(), file)

    text = gzip.decompress(file.read_bytes())
    assert b'"price":19.90' in text
    assert orjson.loads(text)[1]["url"] == "http://b.example/"


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.csv", "x.parquet", "x.sqlite"])
def test_empty_file_can_be_read(tmp_path, name):
    assert write_rows(rows_of([]), tmp_path / name, ("url", "price")) == 0
    assert list(read_urls(tmp_path / name)) == []


def test_records_with_many_members_stay_in_one_cell(tmp_path):
    many = {f"n{number}": number for number in range(MAX_COLUMNS + 1)}
    write_rows(rows_of([{"url": "u", "many": many}]), tmp_path / "x.csv")

    with (tmp_path / "x.csv").open(newline="") as stream:
        header, row = csv.reader(stream)
    assert header == ["url", "many"]
    assert orjson.loads(row[1]) == many


def test_columns_that_differ_only_in_case_stay_separate_in_sqlite(tmp_path):
    write_rows(rows_of([{"url": "u", "Price": 1, "price": 2}]), tmp_path / "x.sqlite")

    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        cursor = database.execute("SELECT * FROM pages")
        assert [each[0] for each in cursor.description] == ["url", "Price", "price_2"]
        assert cursor.fetchall() == [("u", 1, 2)]


def test_name_with_a_quote_is_a_column(tmp_path):
    write_rows(rows_of([{'a"; DROP TABLE pages; --': 1}]), tmp_path / "x.sqlite")

    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as database:
        assert database.execute("SELECT * FROM pages").fetchall() == [(1,)]


def test_rows_are_appended_to_the_columns_of_a_csv_file(tmp_path):
    file = tmp_path / "x.csv"
    write_rows(rows_of([{"b": 1, "url": "u"}]), file)

    append_rows(rows_of([{"url": "v", "b": 2}]), file)
    with pytest.raises(BadInput, match="has no column 'c'"):
        append_rows(rows_of([{"url": "w", "c": 3}]), file)

    assert file.read_text() == "b,url\n1,u\n2,v\n"


def test_truncated_line_is_not_continued(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"url":"u"}\n{"url":"to')

    append_rows(rows_of([{"url": "v"}]), file)

    assert file.read_bytes() == b'{"url":"u"}\n{"url":"to\n{"url":"v"}\n'


@pytest.fixture
def limited_files():
    """Limits files of this process to 1,000 bytes; writing more is an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_file_is_unchanged_when_appending_fails(tmp_path, limited_files):
    file, line = tmp_path / "x.jsonl", b'{"url":"' + b"u" * 600 + b'"}\n'
    file.write_bytes(line)

    with pytest.raises(OSError, match="too large"):
        append_rows(rows_of([{"url": "v" * 600}]), file)

    assert file.read_bytes() == line
    assert [path.name for path in tmp_path.iterdir()] == ["x.jsonl"]


def test_new_columns_are_added_to_sqlite(tmp_path):
    file = tmp_path / "x.sqlite"
    write_rows(rows_of([{"url": "u"}]), file)
    append_rows(rows_of([{"url": "v", "price": Decimal("2.50")}]), file)

    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT * FROM pages").fetchall() == [("u", None), ("v", 2.5)]
