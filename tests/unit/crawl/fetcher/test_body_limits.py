"""Response bodies from the wire: complete, or marked with what is missing."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.faults import TransportError
from aragog.crawl.fetcher.http1.head import Delimiter, Framing
from aragog.crawl.fetcher.http1.reader import read_content
from tests.support.byte_streams import channel_of

CHUNKED = Framing(Delimiter.LAST_CHUNK)


def read(data: bytes, framing: Framing, size: int = 65_536) -> bytes:
    return b"".join(read_content(channel_of(data, size), framing))


@pytest.mark.parametrize(
    "data",
    [
        b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
        b"5\nhello\n6\n world\n0\n\n",
        b'5 \r\nhello\r\n6;name=value;x="y"\r\n world\r\n0\r\n\r\n',
        b"0005\r\nhello\r\n0000000000000000000006\r\n world\r\n00000\r\n\r\n",
        b"B\r\nhello world\r\n0\r\nchunky-trailer: header data\r\nanother: yes\r\n\r\n",
        b"b\r\nhello world\r\n0\r\n\r\nleft over",
        b"b\r\nhello world\r\n0\r\n",
        b"b\r\nhello world\r\n0\r\ntrailer: cut",
        b"b\r\nhello world\r\n0\r\na: \0\r\n\r\n",
    ],
)
def test_chunks_are_joined_and_trailers_skipped(data):
    for size in (1, 2, 5, 1000):
        assert read(data, CHUNKED, size) == b"hello world"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "reset"),
        (b"5", "reset"),
        (b"5\r\nhel", "reset"),
        (b"5\r\nhello\r\n", "reset"),
        (b"5\r\nhello", "protocol"),
        (b"5\r\nhello world\r\n0\r\n\r\n", "protocol"),
        (b"\r\n", "protocol"),
        (b"g\r\n", "protocol"),
        (b"-5\r\nhello\r\n0\r\n\r\n", "protocol"),
        (b"0x5\r\nhello\r\n0\r\n\r\n", "protocol"),
        (b"5_0\r\nhello\r\n", "protocol"),
        (b"FFFFFFFFFFFFFFFFF\r\nhello\r\n", "protocol"),
        (b"5" + b";x" * 5000, "protocol"),
        (b"0\r\n" + b"a: b\r\n" * 9000, "protocol"),
    ],
)
def test_invalid_chunks_are_refused(data, kind):
    with pytest.raises(TransportError) as caught:
        read(data, CHUNKED, 100)

    assert caught.value.kind == kind


def test_too_many_tiny_chunks_are_refused():
    with pytest.raises(TransportError, match="10001 chunks of 1 bytes"):
        read(b"1\r\nx\r\n" * 10_001, CHUNKED)
    many = (b"40\r\n" + b"x" * 64 + b"\r\n") * 11_000 + b"0\r\n\r\n"
    assert len(read(many, CHUNKED)) == 64 * 11_000


def test_content_length_is_exact():
    assert read(b"hello world", Framing(Delimiter.LENGTH, 5)) == b"hello"
    with pytest.raises(TransportError, match="closed after 5 of the 9 bytes"):
        read(b"hello", Framing(Delimiter.LENGTH, 9))


def test_body_without_framing_ends_with_the_connection():
    assert read(b"hello", Framing(Delimiter.CLOSE), 2) == b"hello"
    assert read(b"hello", Framing(Delimiter.NO_BODY)) == b""


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.integers(1, 40))
def test_chunked_body_round_trips(chunks, size):
    wire = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"

    assert read(wire, CHUNKED, size) == b"".join(chunks)


@given(st.binary(max_size=200), st.integers(1, 20))
def test_any_bytes_are_chunks_or_a_transport_error(data, size):
    with contextlib.suppress(TransportError):
        assert len(read(data, CHUNKED, size)) <= len(data)
