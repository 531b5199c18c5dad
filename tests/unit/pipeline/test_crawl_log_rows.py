"""The rows of the crawl log, and its files in a folder."""

import orjson
import pyarrow as pa
import pytest

from aragog.errors import ContentUnavailable
from aragog.pipeline.crawl_log.files import FolderFiles
from aragog.pipeline.crawl_log.rows import COLUMNS, rows_of, table_of
from aragog.pipeline.messages import UrlJob
from tests.support.stores import NOW_MS, page

A, B = "http://a.test/", "http://b.test/"


def test_a_stored_fetch_has_one_row_with_its_facts():
    facts = {"outcome": "Fetched", "status": 200, "latency_ms": 12.5, "etag": "not a column"}
    job = UrlJob(url=A, depth=2, request_id="r1")

    (row,) = rows_of([page(A, facts=facts), page(B)], [job])

    read = orjson.loads(row)
    assert set(read) == set(COLUMNS) - {"logged_at"}
    assert (read["url"], read["status"], read["depth"], read["stored"]) == (A, 200, 2, False)


def test_a_table_has_the_types_of_the_columns():
    (row,) = rows_of([page(A, facts={"status": 404})], [UrlJob(url=A)])

    table = table_of([(NOW_MS, row)], pa)

    assert table.column_names == list(COLUMNS)
    (read,) = table.to_pylist()
    assert read["logged_at"].timestamp() == NOW_MS / 1000
    assert (read["status"], read["refresh"]) == (404, False)


def test_a_file_replaces_one_of_its_name_and_what_killed_writers_left(tmp_path):
    files, source = FolderFiles(tmp_path / "log"), tmp_path / "made"
    for text in (b"first", b"second"):
        source.write_bytes(text)
        files.put("2024/a.parquet", source)
        (tmp_path / "log" / "2024" / ".a.parquet.7").write_bytes(b"half")
    files.put("2024/a.parquet", source)

    (left,) = (tmp_path / "log" / "2024").iterdir()
    assert (left.name, left.read_bytes()) == ("a.parquet", b"second")


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "log").write_bytes(b"")

    with pytest.raises(ContentUnavailable):
        FolderFiles(tmp_path / "log").check()
