"""Decoding: every coding, cut anywhere, with junk after it, and never more than asked for."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from aragog.fetcher.faults import Fault, LimitExceeded, TransportError, UnsupportedContent
from aragog.fetcher.http1.body import Bounds, DecodedBody, collect
from aragog.fetcher.http1.decoders import decoders_for
from aragog.fetcher.outcome import UnreachableKind
from tests.support.byte_streams import pieces_of

TEXT = b"<p>hello, crawler</p>" * 500
ROOMY = Bounds(10_000_000, 10_000_000)


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


CODERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
}
ALL = [*CODERS.items(), ("deflate", raw_deflate)]


def decode(data: bytes, *codings: str, bounds: Bounds = ROOMY, size: int = 1000) -> DecodedBody:
    return collect(pieces_of(data, size), decoders_for(codings, ()), bounds)


@pytest.mark.parametrize(("coding", "code"), ALL)
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_every_coding_is_undone_however_it_arrives(coding, code, size):
    data = code(TEXT)

    body = decode(data, coding, size=size)

    assert body == DecodedBody(TEXT, None, len(data), drained=True)


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_a_stream_that_ends_early_is_kept_and_marked(coding, code):
    data = code(bytes(range(256)) * 40 + TEXT)

    body = decode(data[: len(data) // 2], coding)

    assert body.truncated_why is not None
    assert "ended early" in body.truncated_why


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_data_in_another_coding_than_claimed_gives_no_page(coding):
    with pytest.raises(UnsupportedContent):
        decode(b"<!doctype html><p>plain text, not compressed at all" * 10, coding)


@pytest.mark.parametrize(("coding", "code"), [("gzip", gzip.compress), ("deflate", raw_deflate)])
def test_junk_after_the_end_is_skipped(coding, code):
    for junk in (b"\0" * 50, b"junk", b"\x1f", b"\x1f\x8b-junk"):
        for size in (1, 10_000):
            body = decode(code(TEXT) + junk, coding, size=size)
            assert (body.data, body.truncated_why) == (TEXT, None)


def test_gzip_without_its_trailer_is_whole():
    packed = gzip.compress(TEXT)

    for cut in range(1, 9):
        assert decode(packed[:-cut], "gzip") == DecodedBody(
            TEXT, None, len(packed) - cut, drained=True
        )


def test_gzip_with_a_wrong_checksum_gives_no_page():
    packed = gzip.compress(TEXT)

    with pytest.raises(UnsupportedContent, match="incorrect data check"):
        decode(packed[:-8] + b"12345678", "gzip")


def test_several_members_and_frames_are_joined():
    assert decode(gzip.compress(b"a") + gzip.compress(b"b"), "gzip").data == b"ab"
    assert decode(zstandard.compress(b"a") + zstandard.compress(b"b"), "zstd").data == b"ab"


@pytest.mark.parametrize(
    ("coding", "code"), [("gzip", gzip.compress), ("zstd", zstandard.compress)]
)
def test_a_stream_of_countless_parts_is_refused(coding, code):
    with pytest.raises(UnsupportedContent, match="more than 1000"):
        decode(code(b"a") * 1001, coding, size=100_000)


def test_codings_on_top_of_each_other_are_undone_in_order():
    assert decode(gzip.compress(brotli.compress(TEXT)), "br", "gzip").data == TEXT
    assert decode(gzip.compress(gzip.compress(TEXT)), "gzip", "gzip").data == TEXT


@pytest.mark.parametrize("codings", [(), ("identity",), ("none",), ("identity", "identity")])
def test_no_coding_is_no_coding(codings):
    assert decode(TEXT, *codings).data == TEXT


@pytest.mark.parametrize("coding", ["compress", "sdch", "aes128gcm", "utf-8", "gzip;q=1"])
def test_an_unknown_coding_gives_no_page(coding):
    with pytest.raises(UnsupportedContent, match="unknown"):
        decoders_for([coding], ())


def test_six_codings_are_refused():
    with pytest.raises(TransportError):
        decoders_for(["gzip"] * 6, ())


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_a_bomb_is_refused_without_unpacking_it(coding, code):
    with pytest.raises(LimitExceeded, match="bomb"):
        decode(code(bytes(3_000_000)), coding, bounds=Bounds(1_000_000, 1_000_000))


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_a_large_page_is_cut_at_its_cap(coding, code):
    text = b"".join(b"<p>%d</p>" % n for n in range(20_000))

    body = decode(code(text), coding, bounds=Bounds(1_000_000, 100_000))

    assert body.data == text[:100_000]
    assert body.truncated_why == "truncated at 100000 bytes"
    assert not body.drained


def test_a_coding_under_another_that_is_past_the_cap_is_no_body():
    noise = random.Random(1).randbytes(50_000)

    with pytest.raises(LimitExceeded):
        decode(gzip.compress(gzip.compress(noise)), "gzip", "gzip", bounds=Bounds(10**6, 10_000))


def test_a_body_is_cut_at_its_cap_on_the_wire():
    body = decode(TEXT, bounds=Bounds(1234, 10_000), size=100)

    assert (body.data, body.wire_bytes) == (TEXT[:1234], 1234)
    assert body.truncated_why == "truncated at 1234 bytes on the wire"


def test_what_arrived_before_a_reset_stands():
    def broken():
        yield b"some"
        raise TransportError(UnreachableKind.RESET, "gone")

    assert collect(broken(), [], ROOMY) == DecodedBody(b"some", "gone", 4, drained=False)


@pytest.mark.parametrize("kind", ["reset", "timeout"])
def test_a_body_of_which_nothing_arrived_is_broken(kind):
    def broken():
        raise TransportError(kind, "gone")
        yield b""

    with pytest.raises(TransportError):
        collect(broken(), [], ROOMY)


def test_the_look_sees_the_first_decoded_bytes_once():
    looks: list[bytes] = []

    collect(pieces_of(gzip.compress(TEXT), 10), decoders_for(["gzip"], ()), ROOMY, looks.append)
    collect(iter([b"short"]), [], ROOMY, looks.append)

    assert looks == [TEXT[:1445], b"short"]


@given(
    st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.integers(1, 99)
)
def test_any_bytes_decode_or_give_no_page(data, coding, size):
    try:
        body = decode(data, coding, bounds=Bounds(1000, 5000), size=size)
    except Fault:
        return
    assert len(body.data) <= 5000


@given(
    st.binary(max_size=2000),
    st.lists(st.sampled_from(sorted(CODERS)), max_size=4),
    st.integers(1, 500),
)
def test_what_was_coded_comes_out_whole(data, codings, size):
    packed = data
    for coding in codings:
        packed = CODERS[coding](packed)

    assert decode(packed, *codings, size=size).data == data
