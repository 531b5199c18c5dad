"""Response heads and framing: lenient where it is harmless, strict where parsers could differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.faults import Fault, LimitExceeded, TransportError
from aragog.crawl.fetcher.http1.head import Delimiter, Framing, get_framing, parse_head
from tests.support.byte_streams import channel_of

OK = b"HTTP/1.1 200 OK\r\n"


def head(lines: bytes, status: bytes = OK):
    return parse_head((status + lines).removesuffix(b"\r\n"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"HTTP/1.1 200 OK", (1, 200, "OK")),
        (b"HTTP/1.0 404 Not Found", (0, 404, "Not Found")),
        (b"HTTP/1.1 200", (1, 200, "")),
        (b"HTTP/1.1 200 ", (1, 200, "")),
        (b"HTTP/1.1 999 whatever", (1, 999, "whatever")),
        (b"HTTP/1.1 405 405", (1, 405, "405")),
    ],
)
def test_status_line_needs_no_reason(line, expected):
    parsed = parse_head(line)

    assert (parsed.minor_version, parsed.status, parsed.reason) == expected


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"HTTP",
        b"HTTP/1.1",
        b"HTTP/1.1 ",
        b"HTTP/1.1 20",
        b"HTTP/1.1 2 OK",
        b"HTTP/1.1 -12 OK",
        b"HTTP/1.1 2000 OK",
        b"HTTP/1.1 0123456789 OK",
        b"HTTP/1.1 099 OK",
        b"HTTP/1.01 200 OK",
        b"HTTP/1.2 200 OK",
        b"HTTP/2 200 OK",
        b"HTTP/2.0 200 OK",
        b"ICY 200 OK",
        b"<html>",
        b" HTTP/1.1 200 OK",
        b"HTTP/1.1 \xc2\xb2\xc2\xb2\xc2\xb2 OK",
    ],
)
def test_invalid_status_line_is_refused(line):
    with pytest.raises(TransportError, match="status line"):
        parse_head(line)


def test_header_names_are_kept_as_sent_and_found_in_any_case():
    parsed = head(b"LOCATION: /x\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n")

    assert parsed.headers == (("LOCATION", "/x"), ("set-cookie", "a=1"), ("Set-Cookie", "b=2"))
    assert parsed.values("set-cookie") == ["a=1", "b=2"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"A: is\r\n folding a    \r\n   line\r\n", ("A", "is folding a line")),
        (b"A:\t\r\n\t \r\n\tword\r\n", ("A", "word")),
        (b"A :  b \r\n", ("A", "b")),
        (b"A:\r\n", ("A", "")),
        (b"A: b: c\n", ("A", "b: c")),
        (b"\tA: first line may be folded\r\n", ("A", "first line may be folded")),
        (b"A: \xc3\xa9\r\n", ("A", "é")),
        (b"A: \xe9\r\n", ("A", "é")),
        (b"Location: /\xe9\r\n", ("Location", "/%E9")),
        (b"Location: /\xc3\xa9\r\n", ("Location", "/é")),
    ],
)
def test_header_lines_are_unfolded_and_trimmed(lines, expected):
    assert head(lines).headers == (expected,)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (b"A\0: b\r\n", "NUL"),
        (b"\0A: b\r\n", "NUL"),
        (b"Content-Length: 5\0\r\n", "NUL"),
        (b"Content-Length: 5\r\n \0\r\n", "NUL"),
        (b"transfer-encoding: chunked\0\r\n", "NUL"),
        (b"Connection: \0close\r\n", "NUL"),
        (b"Content-Encoding: gzip\0\r\n", "NUL"),
        (b"LOCATION: /a\0b\r\n", "NUL"),
        (b"Set-Cookie: a=b\0c\r\n", "NUL"),
        (b"A: b\rc\r\n", "carriage return"),
        (b"Content-Length: \r-6\r\n", "carriage return"),
        (b"A: b\r\nno colon here\r\n", "without a colon"),
        (b"no colon here\r\n", "without a colon"),
    ],
)
def test_ambiguous_headers_are_refused(lines, reason):
    with pytest.raises(TransportError, match=reason):
        head(lines)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"", Framing(Delimiter.CLOSE)),
        (b"Content-Length: 6\r\n", Framing(Delimiter.LENGTH, 6, persistent=True)),
        (b"Content-Length: 6     \r\n", Framing(Delimiter.LENGTH, 6, persistent=True)),
        (
            b"Content-Length: 6\r\nContent-Length: 6\r\n",
            Framing(Delimiter.LENGTH, 6, persistent=True),
        ),
        (
            b"Content-Length: 6,06,6\r\nContent-Length: 6,  6\r\n",
            Framing(Delimiter.LENGTH, 6, persistent=True),
        ),
        (b"Content-Length: 6\r\nConnection: foo, Close\r\n", Framing(Delimiter.LENGTH, 6)),
        (b"Content-Length: 36893488147419103232\r\n", Framing(Delimiter.CLOSE)),
        (b"Transfer-Encoding: chunked\r\n", Framing(Delimiter.LAST_CHUNK, persistent=True)),
        (b"Transfer-Encoding: Chunked\r\n", Framing(Delimiter.LAST_CHUNK, persistent=True)),
        (
            b"Transfer-Encoding: chunked, chunked\r\n",
            Framing(Delimiter.LAST_CHUNK, persistent=True),
        ),
        (
            b"Transfer-Encoding: identity, chunked\r\n",
            Framing(Delimiter.LAST_CHUNK, persistent=True),
        ),
        (b"Transfer-Encoding: identity, identity\r\n", Framing(Delimiter.CLOSE)),
        (b"Transfer-Encoding: gzip\r\n", Framing(Delimiter.CLOSE, codings=("gzip",))),
        (
            b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            Framing(Delimiter.LAST_CHUNK, codings=("gzip",), persistent=True),
        ),
    ],
)
def test_body_ends_according_to_rfc_9112(lines, expected):
    assert get_framing(head(lines)) == expected


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_responses_204_and_304_never_have_a_body(status):
    text = b"Content-Length: 677777\r\nTransfer-Encoding: chunked\r\n"

    framing = get_framing(head(text, b"HTTP/1.1 " + status + b"\r\n"))

    assert framing == Framing(Delimiter.NO_BODY, persistent=True)


def test_http_1_0_keeps_a_connection_only_on_request():
    plain = get_framing(head(b"Content-Length: 1\r\n", b"HTTP/1.0 200 OK\r\n"))
    kept = get_framing(
        head(b"Content-Length: 1\r\nConnection: Keep-Alive\r\n", b"HTTP/1.0 200 OK\r\n")
    )

    assert (plain.persistent, kept.persistent) == (False, True)


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 6\r\nContent-Length: 7\r\n",
        b"Content-Length: 6, 7\r\n",
        b"Content-Length: -6\r\n",
        b"Content-Length: +6\r\n",
        b"Content-Length: 6badness\r\n",
        b"Content-Length: crap\r\n",
        b"Content-Length: 6,\r\n",
        b"Content-Length: \xd9\xa6\r\n",
        b"Content-Length:\r\n",
        b"Transfer-Encoding: binary\r\nContent-Length: 6, 7\r\n",
        b"Transfer-Encoding: chunked, gzip\r\n",
        b"Transfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, chunked\r\n",
    ],
)
def test_contradictory_framing_is_refused(lines):
    with pytest.raises(TransportError):
        get_framing(head(lines))


CHUNKED, LENGTH = Framing(Delimiter.LAST_CHUNK), Framing(Delimiter.LENGTH, 7)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"Transfer-Encoding: chunked\r\nContent-Length: 7\r\n", CHUNKED),
        (b"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", CHUNKED),
        (b"Transfer-Encoding: chunked\r\nContent-Length: x\r\n", CHUNKED),
        (b"Transfer-Encoding: gzip\r\nContent-Length: 9\r\n",
         Framing(Delimiter.CLOSE, codings=("gzip",))),
        (b"Transfer-Encoding: identity\r\nContent-Length: 7\r\n", LENGTH),
        (b"Transfer-Encoding: binary\r\nContent-Length: 7\r\n", LENGTH),
    ],
)  # fmt: skip
def test_transfer_coding_overrides_a_length_and_closes_the_connection(lines, expected):
    assert get_framing(head(lines)) == expected


@pytest.mark.parametrize("name", [b"identity", b"binary", b"UTF-8", b"text/html", b"gobbledigook"])
def test_unknown_transfer_coding_counts_as_absent(name):
    chunked = Framing(Delimiter.LAST_CHUNK, persistent=True)

    assert get_framing(head(b"Transfer-Encoding: %b\r\n" % name)) == Framing(Delimiter.CLOSE)
    assert get_framing(head(b"Transfer-Encoding: %b, chunked\r\n" % name)) == chunked
    assert get_framing(head(b"Transfer-Encoding: chunked, %b\r\n" % name)) == chunked


@pytest.mark.parametrize("end", [b"\r\n\r\n", b"\n\n", b"\r\n\n", b"\n\r\n"])
def test_head_ends_at_the_first_empty_line_for_any_packet_size(end):
    data = b"HTTP/1.1 200 OK\r\nA: b" + end + b"body\r\n\r\nmore"

    for size in (1, 2, 3, 7, 1000):
        reader = channel_of(data, size)
        parsed = reader.read_head(1000)
        rest = b"".join(iter(lambda: reader.read_some(100), b""))  # noqa: B023 - used at once
        assert (parsed.headers, rest) == ((("A", "b"),), b"body\r\n\r\nmore")


def test_interim_responses_are_skipped():
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        + OK
        + b"\r\n"
    )

    assert channel_of(data).read_head(1000).status == 200


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", TransportError),
        (b"HTT", TransportError),
        (b"HTTPr", TransportError),
        (b"o", TransportError),
        (OK, TransportError),
        (OK + b"A: b\r\n", TransportError),
        (b"HTTP/1.1 100 Continue\r\nFoo: bar\r\n\r\nData\nData\n\n", TransportError),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", TransportError),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, TransportError),
        (OK + b"A: " + b"b" * 2000 + b"\r\n\r\n", LimitExceeded),
        (OK + b"A: b\r\n" * 2000, LimitExceeded),
    ],
)
def test_invalid_response_is_refused(data, fault):
    with pytest.raises(fault):
        channel_of(data, 100).read_head(1000)


def test_non_http_response_is_refused_at_its_first_byte():
    """The error must not wait for the header limit or the end of the stream."""

    def receive() -> bytes:
        received.append(1)
        return b"<"

    received: list[int] = []

    with pytest.raises(TransportError, match="not HTTP/1"):
        type(channel_of(b""))(receive).read_head(1_000_000)

    assert len(received) == 1


@given(st.binary(max_size=300), st.integers(1, 50))
def test_any_bytes_are_a_head_or_a_fault(data, size):
    for start in (b"", OK):
        try:
            parsed = channel_of(start + data, size).read_head(1000)
        except Fault:
            continue
        assert 200 <= parsed.status <= 999
        try:
            framing = get_framing(parsed)
        except Fault:
            continue
        assert framing.length >= 0


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,20}", fullmatch=True),
            st.from_regex(r"([!-~][ -~]{0,40}[!-~])?", fullmatch=True),
        ),
        max_size=8,
    )
)
def test_valid_headers_are_unchanged(headers):
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)

    assert head(lines.encode()).headers == tuple(headers)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"Pragma: no-cache\0\r\n", "no-cache"),
        (b"Server: \0\0a\0b\r\n", "a b"),
        (b"Content-Type: text/html\0\r\n", "text/html"),
        (b"X-Robots-Tag: noindex\r\n \0nofollow\r\n", "noindex  nofollow"),
        (b"ETag: \0\r\n", ""),
    ],
)
def test_nul_in_a_harmless_field_becomes_a_space(line, value):
    parsed = head(line + b"Content-Length: 5\r\n")

    assert parsed.headers[0][1] == value
    assert parsed.values("content-length") == ["5"]


@pytest.mark.parametrize("nul", [b"HTTP/1.1 200 O\0K", b"HTTP/1.1 20\0", b"\0HTTP/1.1 200 OK"])
def test_nul_in_the_status_line_is_refused(nul):
    with pytest.raises(TransportError):
        parse_head(nul)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("end", [b"\r\n", b"\n", b"\r\n\r"])
@pytest.mark.parametrize("status", [301, 302, 308, 404, 410, 503])
def test_head_ended_by_the_connection_is_accepted(status, end, size):
    data = b"HTTP/1.1 %d X\r\nLocation: /b" % status + end

    parsed = channel_of(data, size).read_head(1000)

    assert (parsed.status, parsed.headers) == (status, (("Location", "/b"),))


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 301 Moved\r\nLocation: /b",
        b"HTTP/1.1 301 Moved\r\nLocation: /b\r",
        b"HTTP/1.1 301",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 100 Continue\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_head_is_refused_if_cut_inside_a_line_or_before_its_page(data, size):
    with pytest.raises(TransportError, match="closed"):
        channel_of(data, size).read_head(1000)
