"""Decoding: every coding, truncated anywhere, with trailing junk, and within limits."""

from __future__ import annotations

import gzip
import random
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.body_limits import Bounds, DecodedBody, collect
from aragog.crawl.fetcher.faults import Fault, LimitExceeded, TransportError, UnsupportedContent
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.fetch_record.outcome import UnreachableKind
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
def test_every_coding_is_decoded_for_any_packet_size(coding, code, size):
    data = code(TEXT)

    body = decode(data, coding, size=size)

    assert body == DecodedBody(TEXT, None, len(data), is_drained=True)


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_truncated_stream_is_kept_and_marked(coding, code):
    data = code(bytes(range(256)) * 40 + TEXT)

    body = decode(data[: len(data) // 2], coding)

    assert body.truncated_why is not None
    assert "ended early" in body.truncated_why


CODINGS = ["gzip", "x-gzip", "deflate", "x-deflate", "br", "zstd"]
PLAIN = [
    b"User-agent: *\nDisallow: /private\n", b"<html>", b"<!doctype html><p>plain text" * 1000,
    "\ufeff<p>h\u00e9".encode() * 10, b'{"a": [1, 2, 3], "b": "some text"}', b"A" * 100_000,
    b"0123456789" * 10, b"\n\n   <html>", b"x", b"Px", b"OK", b"K,.", b"", b"c@", b"\x1b[0m red",
    "<p>Größe: 3 Äpfel".encode("latin-1") * 20, "日本語のページ".encode("shift_jis") * 30,
]  # fmt: skip


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize("size", [1, 7, 255, 100_000])
def test_plain_text_is_kept_under_any_declared_coding(coding, text, size):
    assert decode(text, coding, size=size) == DecodedBody(text, None, len(text), is_drained=True)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("first", [bytes([code]) for code in range(0x20, 0x7F)])
def test_text_that_starts_like_a_compressed_stream_is_not_decoded(coding, first):
    """Regression: text starting with `3` came out empty, and with `K` as garbage."""
    short = first + b" leeks are planted in spring.\n"
    for text in (short, short * 20, first * 300, first + "é".encode()):
        assert decode(text, coding).data == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.sampled_from(CODINGS))
def test_utf_8_text_is_never_changed_by_a_declared_coding(text, coding):
    data = text.encode()

    assert decode(data, coding).data == (b"" if (data, coding) == (b";", "br") else data)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("bounds", [Bounds(10, 99), Bounds(99, 10)])
@pytest.mark.parametrize("size", [1, 99])
def test_plain_text_with_a_declared_coding_has_the_usual_limits(coding, bounds, size):
    for text in (b"<p>plain, and longer than ten", b"<p>plain, " * 40):
        body = decode(text, coding, bounds=bounds, size=size)

        assert body.data == b"<p>plain, "
        assert "truncated" in body.truncated_why


@pytest.mark.parametrize("codings", [("gzip", "gzip"), ("br", "gzip"), ("gzip", "zstd")])
@pytest.mark.parametrize("text", [TEXT, b"<p>short"])
@pytest.mark.parametrize("size", [1, 99])
def test_page_compressed_once_and_declared_twice_is_decoded(codings, text, size):
    assert decode(CODERS[codings[1]](text), *codings, size=size).data == text


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    "data", [b"text \x01" * 9, b"ab" * 99 + b"\x1f", b"<p>text" * 2000 + b"\0"]
)
@pytest.mark.parametrize("size", [1, 99])
def test_data_with_a_binary_byte_is_not_mistaken_for_plain_text(coding, data, size):
    with pytest.raises(UnsupportedContent):
        decode(data, coding, size=size)


@pytest.mark.parametrize(("coding", "code"), [("deflate", gzip.compress), ("br", zlib.compress)])
def test_data_in_another_coding_than_declared_gives_no_page(coding, code):
    with pytest.raises(UnsupportedContent):
        decode(code(TEXT), coding)


@pytest.mark.parametrize(("coding", "code"), ALL)
@pytest.mark.parametrize("text", [TEXT, b"hello, crawler", bytes(range(32, 127)) * 9])
def test_truncated_stream_is_never_mistaken_for_plain_text(coding, code, text):
    packed = code(text)

    for end in range(min(len(packed), 300)):
        assert text.startswith(_cut(packed[:end], coding).data)


def _cut(data: bytes, coding: str) -> DecodedBody:
    def pieces():
        yield from pieces_of(data, 99)
        raise TransportError(UnreachableKind.RESET, "gone")

    try:
        return collect(pieces(), decoders_for((coding,), ()), ROOMY)
    except TransportError:
        return DecodedBody(b"", "gone", 0, is_drained=False)


ZSTD_MAGIC = zstandard.compress(b"")[:4]
JUNK = [
    b"\0", b"\0" * 50, b"junk", b"\n<!-- 12 queries -->", b"\x1f", b"\x1f\x8b-junk",
    ZSTD_MAGIC[:3], ZSTD_MAGIC + b"-junk", b"\x50\x2a\x4d", bytes(range(256)) * 100,
]  # fmt: skip


@pytest.mark.parametrize(("coding", "code"), ALL)
@pytest.mark.parametrize("junk", JUNK)
def test_trailing_bytes_are_ignored_for_any_packet_size(coding, code, junk):
    data = code(TEXT) + junk

    for size in (1, 7, len(data) - len(junk), 100_000):
        body = decode(data, coding, size=size)
        assert (body.data, body.truncated_why) == (TEXT, None)


def test_trailing_bytes_of_a_large_brotli_stream_are_ignored():
    text = random.Random(1).randbytes(300_000)

    for size in (1460, 65_536):
        assert decode(brotli.compress(text) + b"junk", "br", size=size).data == text


FAULTY = {
    "gzip, broken second member": ("gzip", gzip.compress(TEXT)
                                          + gzip.compress(TEXT)[:60] + b"\xff" * 99),
    "gzip, damaged": ("gzip", gzip.compress(TEXT)[:50] + b"\xff" * 99),
    "deflate with a zlib header": ("deflate", b"\x78\x9c" + raw_deflate(TEXT)),
    "a bomb": ("gzip", gzip.compress(bytes(5_000_000))),
    "just below a bomb": ("gzip", gzip.compress((b"<p>%d</p>" % 7) * 70_000)),
    "br, damaged": ("br", brotli.compress(TEXT)[:40] + b"\xff" * 99),
    "zstd, truncated": ("zstd", zstandard.compress(TEXT)[:-9]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_result_of_faulty_data_does_not_depend_on_packet_sizes(name):
    coding, data = FAULTY[name]
    bounds = Bounds(1_000_000, 400_000)

    def result(size: int) -> object:
        try:
            return decode(data, coding, bounds=bounds, size=size).data
        except Fault as fault:
            return type(fault)

    assert len({result(size) for size in (1, 100, 1460, 8191, 8192, 65_536, 10**6)}) == 1


@pytest.mark.parametrize(
    "text", [b"Disallow: /a\n" * 9, b"", b"a", TEXT, bytes(range(256)) * 4, b"hello, crawler"]
)
@pytest.mark.parametrize(
    ("coding", "code", "trailer"), [("gzip", gzip.compress, 8), ("deflate", zlib.compress, 4)]
)
def test_stream_truncated_before_its_checksum_is_marked(text, coding, code, trailer):
    packed = code(text)

    for end in range(3 if coding == "deflate" else 11, len(packed) - trailer):
        body = decode(packed[:end], coding)
        assert body.truncated_why or not body.data, end


def test_gzip_without_its_trailer_is_complete():
    packed = gzip.compress(TEXT)

    for cut in range(1, 9):
        assert decode(packed[:-cut], "gzip") == DecodedBody(
            TEXT, None, len(packed) - cut, is_drained=True
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
def test_stream_with_too_many_parts_is_refused(coding, code):
    with pytest.raises(UnsupportedContent, match="more than 1000"):
        decode(code(b"a") * 1001, coding, size=100_000)


def test_nested_codings_are_decoded_in_order():
    assert decode(gzip.compress(brotli.compress(TEXT)), "br", "gzip").data == TEXT
    assert decode(gzip.compress(gzip.compress(TEXT)), "gzip", "gzip").data == TEXT


@pytest.mark.parametrize("codings", [(), ("identity",), ("none",), ("identity", "identity")])
def test_identity_is_not_a_coding(codings):
    assert decode(TEXT, *codings).data == TEXT


@pytest.mark.parametrize(
    "codings",
    [("utf-8",), ("binary",), ("8bit",), ("text/html",), ("compress",), ("sdch", "utf-8")],
)
def test_unknown_coding_passes_the_body_through(codings):
    assert decode(TEXT, *codings).data == TEXT


def test_coding_is_decoded_next_to_an_unknown_name():
    assert decode(gzip.compress(TEXT), "gzip", "utf-8").data == TEXT
    assert decode(gzip.compress(TEXT), "utf-8", "gzip;q=1").data == TEXT


def test_start_of_a_body_of_any_size_is_accepted_on_request():
    bounds = Bounds(1_000_000, 10_000, truncate_oversized=True)

    body = decode(gzip.compress(bytes(3_000_000)), "gzip", bounds=bounds)

    assert (len(body.data), body.truncated_why) == (10_000, "truncated at 10000 bytes")


def test_six_codings_are_refused():
    with pytest.raises(TransportError):
        decoders_for(["gzip"] * 6, ())


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_decompression_bomb_is_refused_without_unpacking_it(coding, code):
    with pytest.raises(LimitExceeded, match="bomb"):
        decode(code(bytes(3_000_000)), coding, bounds=Bounds(1_000_000, 1_000_000))


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_large_page_is_cut_at_its_limit(coding, code):
    text = b"".join(b"<p>%d</p>" % n for n in range(20_000))

    body = decode(code(text), coding, bounds=Bounds(1_000_000, 100_000))

    assert body.data == text[:100_000]
    assert body.truncated_why == "truncated at 100000 bytes"


def test_inner_coding_beyond_the_limit_is_refused():
    noise = random.Random(1).randbytes(50_000)

    with pytest.raises(LimitExceeded):
        decode(gzip.compress(gzip.compress(noise)), "gzip", "gzip", bounds=Bounds(10**6, 10_000))


def test_body_is_cut_at_its_wire_limit():
    body = decode(TEXT, bounds=Bounds(1234, 10_000), size=100)

    assert (body.data, body.wire_bytes) == (TEXT[:1234], 1234)
    assert body.truncated_why == "truncated at 1234 bytes on the wire"


def test_data_received_before_a_reset_is_kept():
    def broken():
        yield b"some"
        raise TransportError(UnreachableKind.RESET, "gone")

    assert collect(broken(), [], ROOMY) == DecodedBody(b"some", "gone", 4, is_drained=False)


@pytest.mark.parametrize("kind", ["reset", "timeout"])
def test_empty_body_of_a_broken_connection_is_an_error(kind):
    def broken():
        raise TransportError(kind, "gone")
        yield b""

    with pytest.raises(TransportError):
        collect(broken(), [], ROOMY)


def test_callback_sees_the_first_decoded_bytes_once():
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
    st.binary(max_size=20),
)
def test_codings_round_trip(data, codings, size, after):
    packed = data
    for coding in codings:
        packed = CODERS[coding](packed)
    # An empty Brotli stream is a single semicolon, which followed by other bytes is text.
    junk = b"" if not codings or packed == b";" else after

    assert decode(packed + junk, *codings, size=size).data == data


def test_script_starting_with_an_empty_brotli_stream_is_kept():
    assert brotli.compress(b"") == b";"
    assert decode(b";(function () {})()", "br").data == b";(function () {})()"
    assert decode(b";\t", "br").data == b";\t"
    assert decode(b";", "br").data == b""


@given(st.lists(st.binary(max_size=500), min_size=1, max_size=5), st.integers(1, 500))
def test_members_and_frames_are_joined_for_any_packet_size(parts, size):
    for coding in ("gzip", "zstd"):
        packed = b"".join(map(CODERS[coding], parts))
        assert decode(packed, coding, size=size).data == b"".join(parts)


@given(st.binary(max_size=600), st.sampled_from(sorted(CODERS)), st.integers(1, 99))
def test_packet_sizes_of_any_bytes_do_not_matter(data, coding, size):
    def result(size: int) -> object:
        try:
            return decode(data, coding, bounds=Bounds(1000, 5000), size=size)
        except Fault as fault:
            return fault.reason

    assert result(size) == result(1000)
