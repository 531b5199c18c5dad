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
def test_every_coding_is_undone_however_it_arrives(coding, code, size):
    data = code(TEXT)

    body = decode(data, coding, size=size)

    assert body == DecodedBody(TEXT, None, len(data), is_drained=True)


@pytest.mark.parametrize(("coding", "code"), ALL)
def test_a_stream_that_ends_early_is_kept_and_marked(coding, code):
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
def test_plain_text_passes_under_the_label_of_any_coding(coding, text, size):
    assert decode(text, coding, size=size) == DecodedBody(text, None, len(text), is_drained=True)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("first", [bytes([code]) for code in range(0x20, 0x7F)])
def test_text_that_begins_like_a_coded_stream_is_not_decoded(coding, first):
    """What was seen: text that began with `3` came out empty, and with `K` as garbage."""
    short = first + b" leeks are planted in spring.\n"
    for text in (short, short * 20, first * 300, first + "é".encode()):
        assert decode(text, coding).data == text


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.sampled_from(CODINGS))
def test_no_text_in_utf_8_comes_out_as_another(text, coding):
    data = text.encode()

    assert decode(data, coding).data == (b"" if (data, coding) == (b";", "br") else data)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("bounds", [Bounds(10, 99), Bounds(99, 10)])
@pytest.mark.parametrize("size", [1, 99])
def test_plain_text_under_a_label_has_the_bounds_of_a_body(coding, bounds, size):
    for text in (b"<p>plain, and longer than ten", b"<p>plain, " * 40):
        body = decode(text, coding, bounds=bounds, size=size)

        assert body.data == b"<p>plain, "
        assert "truncated" in body.truncated_why


@pytest.mark.parametrize("codings", [("gzip", "gzip"), ("br", "gzip"), ("gzip", "zstd")])
@pytest.mark.parametrize("text", [TEXT, b"<p>short"])
@pytest.mark.parametrize("size", [1, 99])
def test_a_page_compressed_once_and_labelled_twice_is_read(codings, text, size):
    assert decode(CODERS[codings[1]](text), *codings, size=size).data == text


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize(
    "data", [b"text \x01" * 9, b"ab" * 99 + b"\x1f", b"<p>text" * 2000 + b"\0"]
)
@pytest.mark.parametrize("size", [1, 99])
def test_data_with_a_binary_byte_is_not_text_under_a_label(coding, data, size):
    with pytest.raises(UnsupportedContent):
        decode(data, coding, size=size)


@pytest.mark.parametrize(("coding", "code"), [("deflate", gzip.compress), ("br", zlib.compress)])
def test_data_in_another_coding_than_claimed_gives_no_page(coding, code):
    with pytest.raises(UnsupportedContent):
        decode(code(TEXT), coding)


@pytest.mark.parametrize(("coding", "code"), ALL)
@pytest.mark.parametrize("text", [TEXT, b"hello, crawler", bytes(range(32, 127)) * 9])
def test_a_stream_that_is_cut_never_comes_out_as_text_of_its_own(coding, code, text):
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
def test_bytes_after_the_end_are_ignored_whatever_the_packets(coding, code, junk):
    data = code(TEXT) + junk

    for size in (1, 7, len(data) - len(junk), 100_000):
        body = decode(data, coding, size=size)
        assert (body.data, body.truncated_why) == (TEXT, None)


def test_bytes_after_the_end_of_a_large_brotli_stream_are_ignored():
    text = random.Random(1).randbytes(300_000)

    for size in (1460, 65_536):
        assert decode(brotli.compress(text) + b"junk", "br", size=size).data == text


FAULTY = {
    "gzip, a second member that breaks": ("gzip", gzip.compress(TEXT)
                                          + gzip.compress(TEXT)[:60] + b"\xff" * 99),
    "gzip, broken inside": ("gzip", gzip.compress(TEXT)[:50] + b"\xff" * 99),
    "deflate like zlib": ("deflate", b"\x78\x9c" + raw_deflate(TEXT)),
    "a bomb": ("gzip", gzip.compress(bytes(5_000_000))),
    "nearly a bomb": ("gzip", gzip.compress((b"<p>%d</p>" % 7) * 70_000)),
    "br, broken inside": ("br", brotli.compress(TEXT)[:40] + b"\xff" * 99),
    "zstd, cut": ("zstd", zstandard.compress(TEXT)[:-9]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_what_is_made_of_a_fault_does_not_depend_on_the_packets(name):
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
def test_a_stream_that_is_cut_anywhere_before_its_checksum_is_marked(text, coding, code, trailer):
    packed = code(text)

    for end in range(3 if coding == "deflate" else 11, len(packed) - trailer):
        body = decode(packed[:end], coding)
        assert body.truncated_why or not body.data, end


def test_gzip_without_its_trailer_is_whole():
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
def test_a_stream_of_countless_parts_is_refused(coding, code):
    with pytest.raises(UnsupportedContent, match="more than 1000"):
        decode(code(b"a") * 1001, coding, size=100_000)


def test_codings_on_top_of_each_other_are_undone_in_order():
    assert decode(gzip.compress(brotli.compress(TEXT)), "br", "gzip").data == TEXT
    assert decode(gzip.compress(gzip.compress(TEXT)), "gzip", "gzip").data == TEXT


@pytest.mark.parametrize("codings", [(), ("identity",), ("none",), ("identity", "identity")])
def test_no_coding_is_not_a_coding(codings):
    assert decode(TEXT, *codings).data == TEXT


@pytest.mark.parametrize(
    "codings",
    [("utf-8",), ("binary",), ("8bit",), ("text/html",), ("compress",), ("sdch", "utf-8")],
)
def test_a_coding_that_is_none_passes_the_body_through(codings):
    assert decode(TEXT, *codings).data == TEXT


def test_a_coding_is_undone_beside_a_name_that_is_none():
    assert decode(gzip.compress(TEXT), "gzip", "utf-8").data == TEXT
    assert decode(gzip.compress(TEXT), "utf-8", "gzip;q=1").data == TEXT


def test_the_start_of_a_body_of_any_size_is_enough_where_that_is_asked_for():
    bounds = Bounds(1_000_000, 10_000, start_is_enough=True)

    body = decode(gzip.compress(bytes(3_000_000)), "gzip", bounds=bounds)

    assert (len(body.data), body.truncated_why) == (10_000, "truncated at 10000 bytes")


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


def test_a_coding_under_another_that_is_past_the_cap_is_not_a_body():
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

    assert collect(broken(), [], ROOMY) == DecodedBody(b"some", "gone", 4, is_drained=False)


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
    st.binary(max_size=20),
)
def test_what_was_coded_comes_out_whole(data, codings, size, after):
    packed = data
    for coding in codings:
        packed = CODERS[coding](packed)
    # Brotli of nothing is one semicolon: with more behind it, it is text.
    junk = b"" if not codings or packed == b";" else after

    assert decode(packed + junk, *codings, size=size).data == data


def test_a_script_that_begins_with_the_brotli_of_nothing_is_a_script():
    assert brotli.compress(b"") == b";"
    assert decode(b";(function () {})()", "br").data == b";(function () {})()"
    assert decode(b";\t", "br").data == b";\t"
    assert decode(b";", "br").data == b""


@given(st.lists(st.binary(max_size=500), min_size=1, max_size=5), st.integers(1, 500))
def test_members_and_frames_are_one_body_whatever_the_packets(parts, size):
    for coding in ("gzip", "zstd"):
        packed = b"".join(map(CODERS[coding], parts))
        assert decode(packed, coding, size=size).data == b"".join(parts)


@given(st.binary(max_size=600), st.sampled_from(sorted(CODERS)), st.integers(1, 99))
def test_the_packets_of_any_bytes_do_not_matter(data, coding, size):
    def result(size: int) -> object:
        try:
            return decode(data, coding, bounds=Bounds(1000, 5000), size=size)
        except Fault as fault:
            return fault.reason

    assert result(size) == result(1000)
