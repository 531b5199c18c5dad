"""Pages in WARC files of other programs, written with warcio."""

import gzip
import io
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from aragog.addons.nutch.crawldb import read_nutch
from aragog.crawl.fetcher.recorded import RecordedLimits
from aragog.transfer.captures import read_captures
from aragog.transfer.json_lines import BadRecord, read_json_lines
from aragog.transfer.warc_import import read_warc

PAGE = b"<title>A page</title>"
AT = "2026-01-01T00:00:00Z"
AT_MS = 1_767_225_600_000


def warc(*records, gzipped=True):
    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=gzipped)
    for url, kind, status, headers, body in records:
        http = StatusAndHeaders(status, headers, "HTTP/1.1") if status else None
        record = writer.create_warc_record(
            url, kind, payload=io.BytesIO(body), length=len(body), http_headers=http,
            warc_headers_dict={"WARC-Date": AT, "WARC-IP-Address": "192.0.2.1"},
            warc_content_type="" if status else "text/html",
        )  # fmt: skip
        writer.write_record(record)
    return stream.getvalue()


def response(url="http://A.example/", status="200 OK", headers=(), body=PAGE):
    return url, "response", status, [("Content-Type", "text/html"), *headers], body


def read(data, max_bytes=1_000, **options):
    return list(
        read_warc(io.BytesIO(data), RecordedLimits(65_536, 10_000_000, max_bytes), **options)
    )


@pytest.mark.parametrize("gzipped", [True, False])
def test_response_becomes_a_fetched_page(gzipped):
    ((number, page),) = read(warc(response(), gzipped=gzipped))

    assert number == 1
    assert page.body == PAGE
    assert page.fetch.url == page.fetch.final_url == "http://a.example/"
    assert (page.fetch.fetched_at_ms, page.fetch.status) == (AT_MS, 200)
    assert (page.fetch.content_type, page.fetch.address) == ("text/html", "192.0.2.1")


def test_content_and_transfer_encodings_are_decoded():
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    pages = read(
        warc(
            response(headers=[("Content-Encoding", "gzip")], body=gzip.compress(PAGE)),
            response(headers=[("Transfer-Encoding", "chunked")], body=chunked),
        )
    )

    assert [page.body for _, page in pages] == [PAGE, PAGE]


def test_large_page_is_read_whole():
    body = b"<p>many paragraphs</p>" * 50_000

    ((_, page),) = read(warc(response(body=body)), max_bytes=len(body))
    assert (page.body, page.fetch.truncated) == (body, False)


def test_other_records_are_skipped():
    data = warc(
        response(status="301 Moved"),
        response(status="404 Not Found"),
        ("http://a.example/", "metadata", "", [], b"x: y"),
        ("dns:a.example", "resource", "", [], b"a.example. IN A"),
        ("http://a.example/r", "resource", "", [], PAGE),
    )

    ((number, page),) = read(data)
    assert (number, page.fetch.url, page.fetch.content_type) == (
        5,
        "http://a.example/r",
        "text/html",
    )


def test_long_body_is_truncated_and_marked():
    ((_, page),) = read(warc(response(body=b"x" * 50)), max_bytes=10)

    assert (page.body, page.fetch.truncated, page.fetch.body_bytes) == (b"x" * 10, True, 10)


def test_unreadable_records_are_reported_and_the_rest_is_read():
    data = warc(
        response(url="http://[no-host"),
        response(headers=[("Content-Encoding", "gzip")], body=b"\x1f\x8b no gzip"),
        response(),
    )

    bad = [number for number, page in read(data) if isinstance(page, BadRecord)]
    assert bad[:1] == [1]
    assert read(data)[-1][0] == 3


def test_truncated_file_ends_with_an_error():
    whole = warc(response(), response(url="http://a.example/2", body=bytes(range(256)) * 40))

    *_, (number, bad) = read(whole[: len(whole) - 60], max_bytes=20_000)
    assert number >= 2
    assert isinstance(bad, BadRecord)


def test_import_continues_after_a_record():
    assert [number for number, _ in read(warc(response(), response()), after=1)] == [2]


def gz(data):
    return gzip.compress(data)


def two_members(data):
    return gz(data[:9]) + gz(data[9:])


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
        ("x-gzip", gz),
        ("gzip, gzip", lambda data: gz(gz(data))),
        ("gzip", two_members),
        ("deflate", zlib.compress),
    ],
    ids=["br", "zstd", "x-gzip", "twice", "two members", "deflate"],
)
def test_every_content_encoding_of_the_fetcher_is_decoded(coding, encode):
    """Regression: Brotli raised AttributeError; others stored compressed or truncated pages."""
    record = response(headers=[("Content-Encoding", coding)], body=encode(PAGE))

    ((_, page),) = read(warc(record))

    assert (page.body, page.fetch.truncated) == (PAGE, False)


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_encoding_already_decoded_by_the_archive_is_accepted(coding):
    record = response(headers=[("Content-Encoding", coding), ("Transfer-Encoding", "chunked")])

    ((_, page),) = read(warc(record))

    assert page.body == PAGE


def test_decompression_bomb_is_reported_and_the_next_record_is_read():
    bomb = response(headers=[("Content-Encoding", "gzip, gzip")], body=gz(gz(bytes(50_000_000))))

    (_, bad), (_, page) = read(warc(bomb, response()), max_bytes=20_000)

    assert "decompression bomb" in str(bad)
    assert page.body == PAGE


def raw(*fields, block=b"", version=b"WARC/1.1"):
    length = b"Content-Length: %d" % len(block)
    return b"\r\n".join((version, *fields, length, b"", block)) + b"\r\n\r\n"


OF_A_PAGE = (b"WARC-Type: response", b"WARC-Date: 2026-01-01T00:00:00Z")


@pytest.mark.parametrize("packed", [gz, bytes], ids=["gzip", "plain"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (raw(*OF_A_PAGE, block=b"HTTP/1.1 200 OK\r\n\r\nx"), "has no WARC-Target-URI"),
        (raw(*OF_A_PAGE).replace(b"Content-Length", b"Length"), "has no valid Content-Length"),
        (raw(*OF_A_PAGE, b"WARC-Target-URI: http://a.example/" + b"x" * 70_000), "has headers of"),
        (raw(*OF_A_PAGE, b"WARC-Target-URI: http://a.example/"), "status line"),
        (raw(b"WARC-Type: response", b"WARC-Target-URI: http://a.example/"), "WARC-Date"),
        (b"x" * 100_000 + b"\r\n\r\n", "is not a record"),
    ],
    ids=["no target", "no length", "long header", "no response", "no date", "no record"],
)
def test_invalid_record_does_not_affect_the_others(packed, bad, message):
    """Regression: a record without a target ended the import, and all records after it were lost."""
    data = (
        packed(warc(response(), gzipped=False))
        + packed(bad)
        + packed(warc(response(url="http://a.example/2"), gzipped=False))
    )

    (_, first), (_, problem), (_, last) = read(data)

    assert (first.fetch.url, last.fetch.url) == ("http://a.example/", "http://a.example/2")
    assert message in str(problem)


def test_targets_in_angle_brackets_and_http_2_heads_are_read():
    """Wget writes the former, and browser recorders the latter."""
    target = b"WARC-Target-URI: <http://a.example/>"
    block = b"HTTP/2 200\r\ncontent-type: text/html\r\n\r\n" + PAGE

    ((_, page),) = read(raw(*OF_A_PAGE, target, block=block))

    assert (page.fetch.url, page.body) == ("http://a.example/", PAGE)


class Endless(io.RawIOBase):
    """A stream of the given bytes followed by 300 MB of `x`."""

    def __init__(self, begin):
        self._begin, self._left = begin, 300 << 20

    def readable(self):
        return True

    def readinto(self, buffer):
        if self._begin:
            size = min(len(buffer), len(self._begin))
            buffer[:size], self._begin = self._begin[:size], self._begin[size:]
            return size
        size = min(len(buffer), self._left)
        buffer[:size] = b"x" * size
        self._left -= size
        return size


@pytest.mark.parametrize(
    ("begin", "reader"),
    [
        (b"WARC/1.1\r\nWARC-Target-URI: ", lambda s: read_warc(s, RecordedLimits(1, 1, 1))),
        (b"WARC/1.1\r\nContent-Length: 9\r\n\r\n", lambda s: read_warc(s, RecordedLimits(1, 1, 1))),
        (b"http://a.example/\tVersion: 7\nStatus: ", read_nutch),
        (b"Url,Status code,Status name,Fetch Time,", read_nutch),
        (b" CDX N b a m s k r V g\n", read_captures),
        (b"{", read_json_lines),
    ],
    ids=["warc header", "between records", "nutch", "nutch csv", "cdx", "json lines"],
)
def test_endless_line_uses_little_memory(begin, reader):
    """Regression: a 4 MB header took 4.4 GB, a line of Nutch 4.2 GB, and an index line 1.1 GB."""
    stream = io.BufferedReader(Endless(begin))
    tracemalloc.start()
    try:
        found = list(reader(stream))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert all(isinstance(record, BadRecord) for _, record in found)
    assert len(found) <= 3
    # A JSON line may have 64 MiB and is joined from its pieces.
    assert peak < (210_000_000 if reader is read_json_lines else 20_000_000)
