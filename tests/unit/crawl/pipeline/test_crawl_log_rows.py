"""The rows of the crawl log, and its files in a folder."""

import orjson
import pyarrow as pa
import pytest

from aragog.crawl.pipeline.crawl_log import COLUMNS, make_rows, to_arrow_table
from aragog.crawl.pipeline.crawl_log_files import FolderFiles
from aragog.crawl.pipeline.messages import UrlJob
from aragog.errors import ContentUnavailable
from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord, Hop, OutcomeKind
from aragog.urlstore.records import Written
from tests.support.stores import NOW_MS, page

A, B = "http://a.test/", "http://b.test/"


def stored(url, *, hops=(), **values):
    """A write with its fetch record."""
    values = {"outcome": OutcomeKind.FETCHED, "fetched_at_ms": NOW_MS, **values}
    record = FetchRecord(url=url, final_url=url, hops=hops, **values)
    return page(url, report=record, facts={"page_type": "recipe", "etag": "not a column"})


def test_stored_fetch_has_one_row_with_its_facts():
    job = UrlJob(url=A, depth=2, request_id="r1")
    hop = Hop(B, 301, A)

    (row,) = make_rows([stored(A, status=200, total_ms=12.5, hops=(hop,)), stored(B)], [job], {})

    read = orjson.loads(row)
    assert set(read) == set(COLUMNS) - {"logged_at"} | {"fetched_at"}
    assert (read["url"], read["status"], read["depth"], read["stored"]) == (A, 200, 2, False)
    assert (read["latency_ms"], read["redirects"], read["page_type"]) == (12.5, 1, "recipe")


def test_row_has_every_single_value_of_the_fetch_record():
    (row,) = make_rows(
        [stored(A, first_byte_ms=3.5, tls="TLSv1.3", truncated=True)], [UrlJob(url=A)], {}
    )

    read = orjson.loads(row)
    assert len(COLUMNS) == len(SCALAR_FIELDS) + 9
    assert (read["first_byte_ms"], read["tls"], read["truncated"]) == (3.5, "TLSv1.3", True)


def test_row_names_the_page_that_already_had_the_body():
    done = {A: Written(A, A, same_as=B)}

    rows = make_rows([stored(A), stored(B)], [UrlJob(url=A), UrlJob(url=B)], done)

    assert [orjson.loads(row)["same_as"] for row in rows] == [B, None]


def test_table_has_the_types_of_the_columns():
    (row,) = make_rows([stored(A, status=404)], [UrlJob(url=A)], {})

    table = to_arrow_table([(NOW_MS, row)], pa)

    assert table.column_names == list(COLUMNS)
    (read,) = table.to_pylist()
    assert read["logged_at"].timestamp() == read["fetched_at"].timestamp() == NOW_MS / 1000
    assert (read["status"], read["refresh"]) == (404, False)


def test_file_replaces_its_predecessor_and_leftovers_of_killed_writers(tmp_path):
    files, source = FolderFiles(tmp_path / "log"), tmp_path / "made"
    for text in (b"first", b"second"):
        source.write_bytes(text)
        files.put("2024/a.parquet", source)
        (tmp_path / "log" / "2024" / ".a.parquet.7").write_bytes(b"half")
    files.put("2024/a.parquet", source)

    (left,) = (tmp_path / "log" / "2024").iterdir()
    assert (left.name, left.read_bytes()) == ("a.parquet", b"second")


def test_log_path_must_be_a_folder(tmp_path):
    (tmp_path / "log").write_bytes(b"")

    with pytest.raises(ContentUnavailable):
        FolderFiles(tmp_path / "log").check()
