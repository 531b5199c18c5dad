"""UrlStore exports and imports on every engine."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace

import orjson
import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio

from aragog.errors import ConfigError, StoreUnavailable
from aragog.fetch_record.outcome import FetchRecord
from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.copy import copy_content, copy_packs, copy_tables
from aragog.transfer.import_export import (
    EVERYTHING,
    NodeSelection,
    export_urls,
    import_urls,
    read_nodes,
)
from aragog.transfer.json_lines import (
    BadRecord,
    JsonLinesSink,
    UrlRecord,
    from_json,
    open_to_read,
    open_to_write,
    read_json_lines,
)
from aragog.transfer.parquet import GROUP_ROWS, ParquetSink, read_parquet
from aragog.transfer.typed_fields import TypedFields
from aragog.transfer.warc_export import export_warc
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.records import ContentWrite, OutLink
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, Harness, page, store_harness
from zengraph.tables import TABLES
from zengraph.tables.memory import MemoryTables

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def writer(its: Harness) -> BulkWriter:
    return BulkWriter(its.store, its.store.zen, StoreSettings(), its.clock)


def import_lines(its: Harness, *lines: bytes, after=0, batch=500):
    problems = []
    report = import_urls(
        read_json_lines(io.BytesIO(b"\n".join(lines)), after=after),
        writer(its),
        on_problem=lambda number, reason: problems.append((number, reason)),
        batch=batch,
    )
    return report, problems


def exported(its: Harness, selection: NodeSelection = EVERYTHING, **options):
    stream = io.BytesIO()
    report = export_urls(its.store.zen, JsonLinesSink(stream), selection, **options)
    return report, [orjson.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def filled(harness):
    """A store with a page that has everything, an alias, and a taken-down URL."""
    store = harness.store
    store.put(A, {"title": b"A page", "raw": b"\xff\x00"}, at_ms=5000, provenance={"title": "team"})
    store.put(B, {"title": "Grüße".encode()}, at_ms=6000)
    store.links.add(A, [OutLink(B, "to B", "nofollow"), OutLink(C)])
    store.schedule.plan(B, NOW_MS + 1000)
    store.aliases.merge(C, A, at_ms=7000, provisional=True)
    return harness


def test_import_is_read_back(harness):
    report, problems = import_lines(
        harness,
        b'{"url": "HTTP://A.example:80/", "fields": {"title": "t"}, "at_ms": 5000, "provenance": {"title": "team"}}',
        b'{"url": "http://b.example/", "due_at_ms": %d}' % (NOW_MS + 5),
        b'{"url": "http://c.example/", "canonical_url": "http://a.example/", "fields": {"note": "n"}}',
    )

    assert problems == []
    assert (report.last_number, report.written, report.problems) == (3, 3, 0)
    record = harness.store.get(A, info=True)
    assert record.fields == {"title": b"t", "note": b"n"}
    assert (record.info["title"].at_ms, record.info["title"].provenance) == (5000, "team")
    assert harness.store.get(C).canonical_url == A
    assert harness.store.get(B).due_at_ms == NOW_MS + 5
    assert [due.url for due in harness.store.schedule.claim_due(NOW_MS + 5, 10, 60)] == [B]
    assert harness.store.pages.urls_of_host("b.example").items == [B]


def test_importing_twice_or_in_another_order_changes_nothing(harness):
    lines = [
        b'{"url": "http://a.example/", "fields": {"title": "new"}, "at_ms": 6000}',
        b'{"url": "http://a.example/", "fields": {"title": "old"}, "at_ms": 5000}',
        b'{"url": "http://c.example/", "canonical_url": "http://a.example/", "canonical_at_ms": 6500}',
    ]
    import_lines(harness, *lines)
    import_lines(harness, *lines[::-1], batch=1)

    assert harness.store.get(A).fields == {"title": b"new"}
    assert harness.store.aliases.of(A) == [C]


def test_bad_lines_are_reported_by_number_and_the_rest_is_imported(harness):
    report, problems = import_lines(
        harness,
        b'{"url": "http://a.example/", "fields": {"title": "t"}}',
        b"{nonsense",
        b"",
        b'{"url": "mailto:x@y"}',
        b'{"url": "http://b.example/", "fields": {"_": "t"}}',
        b'{"url": "http://b.example/", "links": ["not a url"]}',
        b'{"url": "http://b.example/"}',
        batch=2,
    )

    assert [number for number, _ in problems] == [2, 4, 5, 6]
    assert (report.last_number, report.written, report.problems) == (7, 2, 4)
    assert harness.store.get(B) is not None


def test_import_continues_after_the_reported_line(harness):
    lines = [b'{"url": "http://a.example/%d"}' % n for n in range(10)]

    report, _ = import_lines(harness, *lines, after=7)

    assert (report.last_number, report.written) == (10, 3)
    assert harness.store.get("http://a.example/6") is None


def test_taken_down_page_is_not_imported(harness):
    harness.store.put(A, {"title": b"t"})
    harness.store.takedowns.take_down(url=A)

    report, problems = import_lines(harness, b'{"url": "http://a.example/", "fields": {"x": "1"}}')

    assert report.written == 0
    assert problems == [(1, "http://a.example/ was taken down")]


def test_import_lists_a_page_under_its_host_even_if_its_node_existed(harness):
    store, watched = harness.store, "http://a.example/watched"
    store.put(A, {"title": b"t"})
    store.remove(A)
    store.schedule.watch(watched, "shop")
    harness.clock.advance_ms(5)

    import_lines(
        harness, *(b'{"url": "%s", "fields": {"x": "1"}}' % u.encode() for u in (A, watched))
    )

    assert sorted(store.pages.urls_of_host("a.example").items) == [A, watched]
    assert store.takedowns.take_down(host="a.example") == 2
    assert store.get(A) is None


def test_history_of_a_field_grows_within_one_batch(harness):
    import_lines(
        harness,
        *(
            b'{"url": "http://a.example/", "fields": {"product.price": "%d"}, "at_ms": %d}' % (n, n)
            for n in range(1, 5)
        ),
    )

    assert harness.store.pages.history(A, "product.price") == [
        (b"%d" % n, n) for n in range(4, 0, -1)
    ]


def test_import_stops_at_a_known_line_when_the_store_fails():
    done = []

    class Failing(BulkWriter):
        def write(self, records, on_problem):
            if records[0][0] > 4:
                raise StoreUnavailable("there", "away")
            return super().write(records, on_problem)

    its = store_harness(MemoryTables(ManualClock()))
    lines = b"\n".join(b'{"url": "http://a.example/%d"}' % n for n in range(10))
    with pytest.raises(StoreUnavailable):
        import_urls(
            read_json_lines(io.BytesIO(lines)),
            Failing(its.store, its.store.zen, StoreSettings(), its.clock),
            on_problem=lambda *_: None,
            on_progress=done.append,
            batch=2,
        )
    assert done == [2, 4]


def test_export_contains_everything(filled):
    report, lines = exported(filled, link_store=filled.store)

    by_url = {line["url"]: line for line in lines}
    assert (report.records, report.cursor) == (3, None)
    assert by_url[A]["fields"] == {"title": "A page"}
    assert by_url[A]["fields_base64"] == {"raw": "/wA="}
    assert by_url[A]["at_ms"] == {"title": 5000, "raw": 5000}
    assert by_url[A]["provenance"] == {"title": "team"}
    assert sorted(by_url[A]["links"]) == [[B, "to B", "nofollow"], [C, "", ""]]
    assert by_url[B]["due_at_ms"] == NOW_MS + 1000
    assert by_url[C] == {
        "url": C, "canonical_url": A, "canonical_at_ms": 7000, "provisional": True,
    }  # fmt: skip


def test_imported_export_is_the_same_store(filled):
    _, lines = exported(filled, link_store=filled.store)
    other = store_harness(MemoryTables(ManualClock()))

    _, problems = import_lines(other, *map(orjson.dumps, lines))

    assert problems == []
    assert sorted(
        exported(other, link_store=other.store)[1], key=lambda line: line["url"]
    ) == sorted(lines, key=lambda line: line["url"])


def test_export_continues_at_its_cursor(harness):
    import_lines(harness, *(b'{"url": "http://a.example/%d"}' % n for n in range(25)))
    urls, cursor = [], None

    while True:
        report, lines = exported(harness, NodeSelection(limit=4, cursor=cursor))
        urls += [line["url"] for line in lines]
        cursor = report.cursor
        if cursor is None:
            break

    assert sorted(urls) == sorted(f"http://a.example/{n}" for n in range(25))


def test_export_omits_a_taken_down_page_and_its_aliases(filled):
    filled.store.takedowns.take_down(url=A)

    _, lines = exported(filled)

    assert [line["url"] for line in lines] == [B]


def test_running_export_omits_pages_taken_down_meanwhile(filled):
    def read_slowly():
        yield from read_nodes(filled.store.zen, None)
        filled.store.takedowns.take_down(url=A)

    _, lines = exported(filled, NodeSelection(nodes=read_slowly()))

    assert [line["url"] for line in lines] == [B]


def test_export_can_be_limited_to_urls_and_fields(filled):
    _, lines = exported(filled, NodeSelection(urls=[B, A]), fields=["title"], aliases=False)

    assert [(line["url"], line["fields"]) for line in lines] == [
        (B, {"title": "Grüße"}), (A, {"title": "A page"}),
    ]  # fmt: skip


def test_parquet_import_and_export_match_json(filled, tmp_path):
    path = tmp_path / "urls.parquet"
    sink = ParquetSink(path)
    export_urls(filled.store.zen, sink, link_store=filled.store)
    sink.close()
    _, lines = exported(filled, link_store=filled.store)

    assert [record for _, record in read_parquet(path)] == [
        from_json(orjson.dumps(x), TypedFields()) for x in lines
    ]
    assert [number for number, _ in read_parquet(path, after=1)] == [2, 3]


def test_plain_parquet_columns_become_fields(harness, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "plain.parquet"
    columns = {
        "url": [A, B, "nonsense", None],
        "title": ["one", None, "x", "y"],
        "price": [9.5, 10.0, None, None],
        "in_stock": [True, None, None, None],
    }
    parquet.write_table(pa.table(columns), path)
    problems = []

    report = import_urls(
        read_parquet(path),
        writer(harness),
        on_problem=lambda number, reason: problems.append(number),
    )

    assert (report.written, problems) == (2, [3, 4])
    assert harness.store.get(A).fields == {"title": b"one", "price": b"9.5", "in_stock": b"true"}
    assert harness.store.get(B).fields == {"price": b"10.0"}


def test_invalid_parquet_file_is_a_config_error(tmp_path):
    (tmp_path / "x.parquet").write_text("no")

    with pytest.raises(ConfigError, match="cannot be read as Parquet"):
        list(read_parquet(tmp_path / "x.parquet"))
    with pytest.raises(ConfigError, match="cannot be read"):
        list(read_parquet(tmp_path / "absent.parquet"))


def test_error_without_pyarrow_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\n"
        "from aragog.transfer.parquet import ParquetSink\n"
        "ParquetSink(Path('x'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "pip install 'aragog-crawler[parquet]'" in done.stderr


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst"])
def test_compression_follows_the_file_name_and_files_can_be_appended_to(tmp_path, name):
    path = tmp_path / name
    for part in (b'{"url": "http://a.example/"}\n', b'{"url": "http://b.example/"}\n'):
        file = open_to_write(path, append=True)
        file.write(part)
        file.close()

    with open_to_read(path) as file:
        urls = [record.url for _, record in read_json_lines(file)]
    assert urls == [A, B]
    unpacked = {"": lambda x: x, "l": lambda x: x, "z": gzip.decompress, "t": lambda x: zstandard.ZstdDecompressor().decompressobj().decompress(x)}  # fmt: skip
    assert unpacked[name[-1]](path.read_bytes()).startswith(b'{"url"')


def test_readable_lines_of_a_truncated_file_are_imported(tmp_path):
    its, path, reported = store_harness(MemoryTables(ManualClock())), tmp_path / "x.jsonl.gz", []
    lines = [b'{"url": "http://a.example/%d"}\n' % number**3 for number in range(20_000)]
    path.write_bytes(gzip.compress(b"".join(lines))[:-9_000])

    with open_to_read(path) as file:
        report = import_urls(
            read_json_lines(file),
            writer(its),
            on_problem=lambda number, reason: reported.append((number, reason)),
        )

    assert 0 < report.written < len(lines)
    ((number, reason),) = reported
    assert number == report.written + 1
    assert "cannot be read from here on" in reason


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst"])
def test_file_not_compressed_as_its_name_says_is_reported(tmp_path, name):
    (tmp_path / name).write_bytes(b'{"url": "http://a.example/"}\n')

    with open_to_read(tmp_path / name) as file:
        ((number, problem),) = read_json_lines(file)

    assert number == 1
    assert "cannot be read from here on" in str(problem)


def test_rows_before_the_damage_in_a_parquet_file_are_read(tmp_path):
    path = tmp_path / "x.parquet"
    sink = ParquetSink(path)
    for number in range(4):
        sink.write([UrlRecord(url=f"http://a.example/{number}/{n}") for n in range(GROUP_ROWS)])
    sink.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 2000] = bytes(2000)
    path.write_bytes(data)

    *rows, (number, problem) = read_parquet(path)

    assert number == len(rows) + 1 > GROUP_ROWS
    assert "cannot be read from here on" in str(problem)


def test_endless_line_is_reported_and_skipped():
    stream = io.BytesIO(b'{"url": "' + b"x" * (3 << 20) + b'"}\n{"url": "http://a.example/"}')

    (first, problem), (second, record) = read_json_lines(stream, max_line_bytes=1 << 20)

    assert (first, second, record.url) == (1, 2, A)
    assert isinstance(problem, BadRecord)
    assert "longer than 1 MiB" in str(problem)


def test_large_export_and_import_use_little_memory():
    its, other = (store_harness(MemoryTables(ManualClock())) for _ in "12")
    lines = (
        b'{"url": "http://a.example/%d", "fields": {"t": "%s"}}\n' % (n, b"x" * 1000)
        for n in range(5000)
    )
    import_urls(read_json_lines(io.BytesIO(b"".join(lines))), writer(its), on_problem=print)

    class Nowhere(io.RawIOBase):
        def write(self, data):
            return len(data)

    tracemalloc.start()
    export_urls(its.store.zen, JsonLinesSink(Nowhere()))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 15_000_000
    assert other.store.get(A) is None


def test_copy_of_all_tables_and_content_is_the_same_store(filled):
    filled.store.put_content(A, b"<html>", {"content_type": "text/html"}, at_ms=5000)
    filled.compact()
    tables, content, packs = MemoryTables(ManualClock()), MemoryContent(), MemoryPacks()
    reported = []

    copied = copy_tables(filled.tables, tables, on_progress=lambda *at: reported.append(at))
    copy_content(filled.content, content)
    copy_packs(filled.packs or MemoryPacks(), packs)

    copy = UrlStore(tables, content, StoreSettings(), filled.clock, packs=packs)
    assert exported(Harness(copy, tables, content, filled.clock))[1] == exported(filled)[1]
    assert copy.content(A).body == b"<html>"
    assert [link.url for link in copy.links.inlinks(B).items] == [A]
    assert (
        copied
        == reported[-1][2]
        == sum(len(list(filled.tables[n].scan(b"", None))) for n in TABLES)
    )
    assert copy_tables(filled.tables, tables, after=reported[-1][:2]) == 0


def test_exported_warc_passes_the_check_and_is_read_back(harness, tmp_path, capsys):
    headers = [["Content-Type", "text/html"], ["Content-Encoding", "gzip"], ["ETag", '"x"']]
    meta = {
        "status": "200", "fetched_at_ms": str(NOW_MS), "content_type": "text/html",
        "headers": json.dumps(headers),
    }  # fmt: skip
    harness.store.put_content(A, b"<html>same", meta)
    harness.store.put_content(B, b"<html>same", meta)
    harness.store.put_content(C, b"plain", {"content_type": "text/plain"})

    report = export_warc(harness.store.zen, harness.store.bodies, tmp_path / "crawl")

    assert (report.records, report.problems, report.cursor) == (3, 0, None)
    assert [path.name for path in report.files] == ["crawl-00000.warc.gz"]
    with pytest.raises(SystemExit) as ended:
        warcio(["check", "-v", str(report.files[0])])
    assert ended.value.code == 0
    assert capsys.readouterr().out.count("digest pass") == 3
    records = {}
    with report.files[0].open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type != "warcinfo":
                body = record.content_stream().read()
                records[record.rec_headers["WARC-Target-URI"]] = (record.rec_type, body, record)
    assert sorted((records[A][0], records[B][0])) == ["response", "revisit"]
    whole = records[A] if records[A][0] == "response" else records[B]
    again = records[B] if whole is records[A] else records[A]
    assert whole[1] == b"<html>same"
    assert whole[2].http_headers["X-Crawler-Content-Encoding"] == "gzip"
    assert whole[2].http_headers["Content-Length"] == "10"
    assert whole[2].rec_headers["WARC-Date"] == "2023-11-14T22:13:20Z"
    assert (
        again[2].rec_headers["WARC-Refers-To-Target-URI"] == whole[2].rec_headers["WARC-Target-URI"]
    )
    assert again[2].http_headers["ETag"] == '"x"'
    assert records[C][:2] == ("resource", b"plain")


def test_check_without_a_change_is_a_revisit(tmp_path):
    its = store_harness(MemoryTables(ManualClock()))
    meta = {"status": "200", "fetched_at_ms": "5000", "headers": '[["ETag", "x"], ["Server", "s"]]'}
    its.store.put_content(A, b"body", meta, at_ms=5000)
    facts = {"outcome": "NotModified", "fetched_at_ms": 5000, "attempted_at_ms": 9000}
    key = next(iter(its.tables["n"].scan(b"", None)))[0]
    its.tables["n"].put(key, {b"s:facts": orjson.dumps(facts)}, at_ms=9000)

    report = export_warc(its.store.zen, its.store.bodies, tmp_path / "x")

    with pytest.raises(SystemExit) as ended:
        warcio(["check", str(report.files[0])])
    assert ended.value.code == 0
    with report.files[0].open("rb") as file:
        *_, last = (
            (r.rec_type, r.rec_headers["WARC-Profile"], r.rec_headers["WARC-Date"], r.http_headers and r.http_headers.to_str())
            for r in ArchiveIterator(file)
        )  # fmt: skip
    assert last[0] == "revisit"
    assert last[1].endswith("/server-not-modified")
    assert last[2] == "1970-01-01T00:00:09Z"
    assert last[3] == "HTTP/1.1 304 Not Modified\r\nETag: x\r\n"


def test_fetched_page_is_exported_with_the_headers_of_its_report(tmp_path):
    its = store_harness(MemoryTables(ManualClock()))
    fetch = FetchRecord(url=B, outcome="Fetched", status=200, headers=(("Server", "x"),))
    meta = {"status": "200", "fetched_at_ms": str(NOW_MS)}
    its.store.write_pages([
        page(B, final_url=A, fields={"t": b"1"}, report=replace(fetch, fetched_at_ms=NOW_MS),
             content=ContentWrite(compress(b"body"), length_bytes=4, meta=meta))
    ])  # fmt: skip

    report = export_warc(its.store.zen, its.store.bodies, tmp_path / "x")

    with report.files[0].open("rb") as file:
        *_, last = ((r.rec_type, r.http_headers and r.http_headers["Server"]) for r in ArchiveIterator(file))  # fmt: skip
    assert last == ("response", "x")


def test_warc_files_have_a_limited_size_and_continue(tmp_path):
    its = store_harness(MemoryTables(ManualClock()))
    for n in range(12):
        its.store.put_content(f"http://a.example/{n}", bytes([n]) * 100, {})

    first = export_warc(
        its.store.zen, its.store.bodies, tmp_path / "x", NodeSelection(limit=7), max_file_bytes=1500
    )
    second = export_warc(
        its.store.zen,
        its.store.bodies,
        tmp_path / "x",
        NodeSelection(cursor=first.cursor),
        first_file=len(first.files),
    )

    assert len(first.files) > 1
    assert (first.records, second.records, second.cursor) == (7, 5, None)
    with pytest.raises(ConfigError, match="cannot be written: File exists"):
        export_warc(its.store.zen, its.store.bodies, tmp_path / "x")


def test_missing_or_damaged_content_is_reported_and_skipped(tmp_path):
    its, reported = store_harness(MemoryTables(ManualClock())), []
    for url in (A, B, C):
        its.store.put_content(url, url.encode(), {})
    keys = {url: its.store.get(url).content_key for url in (A, B)}
    its.content.delete(keys[A])
    its.content.put(keys[B], b"else", {})

    report = export_warc(
        its.store.zen,
        its.store.bodies,
        tmp_path / "x",
        on_problem=lambda url, reason: reported.append(url),
    )

    assert (report.records, report.problems) == (1, 2)
    assert sorted(reported) == [A, B]
