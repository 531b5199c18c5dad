"""
Fuzz the response reader: any bytes from an origin give a response within limits, or a `Fault`.

    python -m tests.fuzz.fuzz_http [inputs]     number of mutations

If atheris is installed, fuzzing is coverage-guided and takes libFuzzer's arguments.
"""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator

import brotli
import zstandard

from aragog.crawl.fetcher.body_limits import Bounds, collect
from aragog.crawl.fetcher.content_types import content_refusal, effective_content_type
from aragog.crawl.fetcher.faults import Fault
from aragog.crawl.fetcher.headers import redirect_location, redirect_target, retry_at_ms
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.crawl.fetcher.http1.head import get_framing
from aragog.crawl.fetcher.http1.reader import read_content
from tests.fuzz.engine import edited, fuzz
from tests.support.byte_streams import channel_of

MAX_BODY_BYTES = 10_000
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_TEXT = b"<p>hello</p>" * 40

SEEDS = (
    _OK + b"Content-Length: 480\r\n\r\n" + _TEXT,
    _OK + b"Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
    _OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(_TEXT, mtime=0),
    _OK + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(_TEXT),
    _OK + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(_TEXT)[2:-4],
    _OK + b"Content-Encoding: br\r\n\r\n" + brotli.compress(_TEXT),
    _OK + b"Content-Encoding: zstd\r\n\r\n" + zstandard.compress(_TEXT),
    _OK + b"Content-Encoding: gzip, br\r\n\r\n" + brotli.compress(gzip.compress(_TEXT, mtime=0)),
    b"HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\nHTTP/1.0 302 Found\r\nLocation: ../x y?\xe9#f\r\n folded\r\n\r\n",
    b"HTTP/1.1 503 Busy\r\nRetry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
    _OK + b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 6, 6\r\n\r\n",
)

TOKENS = (
    b"\r\n", b"\n", b"\r", b"\0", b"\r\n\r\n", b":", b";", b",", b" ", b"\t", b"-1", b"0", b"ffffffffffffffff",
    b"chunked", b"gzip", b"identity", b"Content-Length: 9\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Location: //[::1\r\n", b"HTTP/1.1 100 x\r\n\r\n", b"\x1f\x8b", b"\xff" * 8,
)  # fmt: skip


def one_input(data: bytes) -> str:
    """Return `answer` or `fault`; any exception is a bug."""
    size = 1 + (data[0] if data else 0)
    reader = channel_of(data[1:], size)
    try:
        head = reader.read_head(4096)
        retry_at_ms(next(iter(head.values("retry-after")), None), 0)
        location = redirect_location(head)
        if location is not None:
            assert redirect_target(location, "http://a.test/b?c").startswith("http")
        framing = get_framing(head)
        decoders = decoders_for(head.tokens("content-encoding"), framing.codings)
        kind = effective_content_type(head.values("content-type"))
        body = collect(
            read_content(reader, framing),
            decoders,
            Bounds(MAX_BODY_BYTES, MAX_BODY_BYTES),
            lambda first: content_refusal(first, kind, ("text/html",)) and None,
        )
        assert len(body.data) <= MAX_BODY_BYTES
        assert body.wire_bytes <= len(data)
    except Fault:
        return "fault"
    return "answer"


def mutations(seed: int, count: int) -> Iterator[bytes]:
    """`count` inputs made from the seeds, each preceded by the size in which it is received."""
    rng = random.Random(seed)
    for _ in range(count):
        yield bytes([rng.choice((0, 1, 2, 7, 63, 255))]) + edited(rng, SEEDS, TOKENS)


if __name__ == "__main__":
    fuzz(one_input, mutations)
