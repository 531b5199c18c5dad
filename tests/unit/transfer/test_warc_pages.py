"""Pages of WARC files of other programs, written with warcio."""

import gzip
import io

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from aragog.transfer.json_lines import BadRecord
from aragog.transfer.warc_pages import read_warc

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


def read(data, most=1_000, **options):
    return list(read_warc(io.BytesIO(data), max_body_bytes=most, **options))


@pytest.mark.parametrize("gzipped", [True, False])
def test_a_response_is_a_page_as_it_was_fetched_then(gzipped):
    ((number, page),) = read(warc(response(), gzipped=gzipped))

    assert number == 1
    assert page.body == PAGE
    assert page.fetch.url == page.fetch.final_url == "http://a.example/"
    assert (page.fetch.fetched_at_ms, page.fetch.status) == (AT_MS, 200)
    assert (page.fetch.content_type, page.fetch.address) == ("text/html", "192.0.2.1")


def test_the_encodings_of_the_wire_are_undone():
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PAGE), PAGE)
    pages = read(
        warc(
            response(headers=[("Content-Encoding", "gzip")], body=gzip.compress(PAGE)),
            response(headers=[("Transfer-Encoding", "chunked")], body=chunked),
        )
    )

    assert [page.body for _, page in pages] == [PAGE, PAGE]


def test_a_large_page_is_read_whole():
    body = b"<p>many paragraphs</p>" * 50_000

    ((_, page),) = read(warc(response(body=body)), most=len(body))
    assert (page.body, page.fetch.truncated) == (body, False)


def test_other_records_are_left_out():
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


def test_a_long_body_is_cut_and_marked():
    ((_, page),) = read(warc(response(body=b"x" * 50)), most=10)

    assert (page.body, page.fetch.truncated, page.fetch.body_bytes) == (b"x" * 10, True, 10)


def test_what_cannot_be_read_is_reported_and_the_rest_is_read():
    data = warc(
        response(url="http://[no-host"),
        response(headers=[("Content-Encoding", "gzip")], body=b"\x1f\x8b no gzip"),
        response(),
    )

    bad = [number for number, page in read(data) if isinstance(page, BadRecord)]
    assert bad[:1] == [1]
    assert read(data)[-1][0] == 3


def test_a_file_that_is_cut_off_ends_with_a_report():
    whole = warc(response(), response(url="http://a.example/2", body=bytes(range(256)) * 40))

    *_, (number, bad) = read(whole[: len(whole) - 60], most=20_000)
    assert number >= 2
    assert isinstance(bad, BadRecord)


def test_an_import_continues_after_a_record():
    assert [number for number, _ in read(warc(response(), response()), after=1)] == [2]
