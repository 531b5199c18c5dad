"""Bodies with wrong headers are read as browsers do, with one result per response."""

from __future__ import annotations

import gzip

import brotli
import pytest
import zstandard

from aragog.fetch_record import outcome as o
from tests.support.http2_origin import BOTH_VERSIONS
from tests.support.origin import HELLO, Origin, answer, page

pytestmark = BOTH_VERSIONS


@pytest.mark.parametrize("coding", ["UTF-8", "binary", "8bit", "text/html", "none", "gzip, UTF-8"])
def test_unknown_content_encoding_does_not_hide_a_page(origin_with, fetcher, coding):
    body = gzip.compress(HELLO) if "gzip" in coding else HELLO
    with origin_with({"/": page(body, headers={"Content-Encoding": coding})}) as origin:
        outcome = fetcher.fetch(origin.url("/"))

    assert isinstance(outcome, o.Fetched)
    assert (outcome.body, outcome.truncated) == (HELLO, False)


def test_page_with_an_undecodable_coding_is_unreadable(origin_with, fetcher):
    body = b"\x1f\x9d\x90" + bytes(range(256)) * 4
    with origin_with({"/": page(body, headers={"Content-Encoding": "compress"})}) as origin:
        outcome = fetcher.fetch(origin.url("/"))

    assert isinstance(outcome, o.Unreadable)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(HELLO)),
        ("br", brotli.compress(HELLO)),
        ("zstd", zstandard.compress(HELLO)),
    ],
    ids=["gzip", "br", "zstd"],  # a gzip stream contains the time
)
@pytest.mark.parametrize("split", [0, 1, 10, -4])
def test_bytes_after_a_stream_are_ignored(origin_with, fetcher, coding, body, split):
    data = page(body + b"<!-- cached -->", headers={"Content-Encoding": coding})
    at = len(data) - len(b"<!-- cached -->") + split

    def handler(_, wire):
        wire.send(data[:at])
        wire.pause(0.02)
        return data[at:]

    with origin_with({"/": data if split == 0 else handler}) as origin:
        outcome = fetcher.fetch(origin.url("/"))

    assert isinstance(outcome, o.Fetched), outcome
    assert (outcome.body, outcome.truncated) == (HELLO, False)


PART = {
    "bytes 0-19/5000": ("Fetched", "206 with the first 20 of 5000 bytes"),
    f"bytes 0-{len(HELLO) - 1}/{len(HELLO)}": ("Fetched", None),
    "": ("Fetched", "206 without Content-Range"),
    "bytes 20-39/5000": ("Unreachable", "206, although no Range was requested: bytes 20-39/5000"),
}


@pytest.mark.parametrize("content_range", PART)
def test_unrequested_206_is_not_a_complete_page(origin_with, fetcher, content_range):
    kind, reason = PART[content_range]
    headers = {"Content-Range": content_range} if content_range else {}
    with origin_with({"/": answer(206, HELLO, headers=headers)}) as origin:
        outcome = fetcher.fetch(origin.url("/"))

    assert (outcome.outcome, outcome.reason) == (kind, reason)
    assert outcome.truncated == (kind == "Fetched" and reason is not None)


def test_unrequested_ranges_are_not_a_page(origin_with, fetcher_with):
    body = b"--b\r\nContent-Range: bytes 0-4/9\r\n\r\nhello\r\n--b--"
    part = answer(206, body, content_type="multipart/byteranges; boundary=b")
    with origin_with({"/": part}) as origin:
        outcome = fetcher_with(content_types=("*/*",)).fetch(origin.url("/"))

    assert isinstance(outcome, o.Unreachable)


def test_requested_206_is_complete(origin_with, fetcher):
    headers = {"Content-Range": "bytes 20-39/5000"}
    with origin_with({"/": answer(206, HELLO, headers=headers)}) as origin:
        outcome = fetcher.fetch(origin.url("/"), headers={"range": "bytes=20-39"})

    assert isinstance(outcome, o.Fetched)
    assert not outcome.truncated


def test_chunked_page_with_a_length_is_read_and_its_connection_closed(fetcher):
    data = answer(
        body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(HELLO), HELLO),
        headers={"Transfer-Encoding": "chunked"},
        keep_alive=True,
    )
    with Origin({"/": data}) as origin:  # HTTP/2 has no equivalent
        outcomes = [fetcher.fetch(origin.url("/")) for _ in range(2)]

        assert [outcome.body for outcome in outcomes] == [HELLO, HELLO]
        assert origin.connections == 2


@pytest.mark.parametrize("content_type", ["html", "text/", "unknown/unknown", "charset=utf-8"])
def test_invalid_type_is_sniffed(origin_with, fetcher, content_type):
    handlers = {
        "/page": answer(body=HELLO, content_type=content_type),
        "/image": answer(body=b"\x89PNG\r\n\x1a\n" + bytes(99), content_type=content_type),
    }
    with origin_with(handlers) as origin:
        read, image = fetcher.fetch(origin.url("/page")), fetcher.fetch(origin.url("/image"))

    assert isinstance(read, o.Fetched), read
    assert isinstance(image, o.Unreadable)
