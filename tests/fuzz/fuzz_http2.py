"""
Fuzz HTTP/2: any bytes from an origin give a response within limits, or a `Fault`.

    python -m tests.fuzz.fuzz_http2 [inputs]     number of mutations

If atheris is installed, fuzzing is coverage-guided and takes libFuzzer's arguments.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import hpack

from aragog.crawl.fetcher.body_limits import Bounds, collect
from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import Fault
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.crawl.fetcher.http2.protocol import Http2
from aragog.crawl.fetcher.request import PoliteRequest, Target
from aragog.runtime.clock import ManualClock
from tests.fuzz.engine import edited, fuzz
from tests.support.byte_streams import pieces_of

URL = "https://shop.test/a?b=c"
MAX_BODY_BYTES = 10_000
MAX_HEADER_BYTES = 4096


def frame(kind: int, flags: int, payload: bytes = b"", stream: int = 1) -> bytes:
    """One frame in wire format (RFC 9113 section 4.1)."""
    return (
        struct.pack(">I", len(payload))[1:]
        + bytes((kind, flags))
        + struct.pack(">I", stream)
        + payload
    )


def answer_of(*fields: tuple[str, str], body: bytes = b"") -> bytes:
    """SETTINGS and one complete response."""
    block = hpack.Encoder().encode([(":status", "200"), *fields])
    return frame(4, 0, b"", 0) + frame(1, 4, block) + frame(0, 1, body)


SEEDS = (
    answer_of(("content-type", "text/html"), body=b"<p>hello</p>" * 40),
    answer_of(("content-length", "5"), ("x-long", "a" * 300), body=b"hello"),
    frame(4, 0, struct.pack(">HI", 4, 65_535), 0) + frame(1, 4, hpack.Encoder().encode([(":status", "103")])),
    answer_of(("location", "/b"))[:60] + frame(9, 4, b"\x88"),
    frame(4, 1, b"", 0) + frame(8, 0, struct.pack(">I", 1000), 0) + frame(6, 0, bytes(8), 0),
    frame(3, 0, struct.pack(">I", 7)) + frame(7, 0, struct.pack(">II", 0, 13), 0),
    frame(5, 4, struct.pack(">I", 2) + b"\x82\x84") + frame(0, 8, b"\x05hello" + bytes(5)),
)  # fmt: skip

TOKENS = (
    *(frame(kind, flags) for kind in range(11) for flags in (0, 1, 4, 5)),
    frame(0, 0, b"x" * 30), frame(0, 1), frame(9, 4), b"\0", b"\xff" * 4, b"\0\0\0\1", b"\x88", b"\xbe", b"\x3f\xe1\x1f",
)  # fmt: skip


def one_input(data: bytes) -> str:
    """Return `answer` or `fault`; any exception is a bug."""
    size = 1 + (data[0] if data else 0)
    arriving = pieces_of(data[1:], size)
    client = Http2(lambda: next(arriving, b""), lambda _: None, MAX_HEADER_BYTES)
    deadline = Deadline(ManualClock(), deadline_s=9, connect_timeout_s=9, read_timeout_s=9)
    try:
        client.encode_request(PoliteRequest(URL, {}, deadline), Target(URL))
        head = client.read_head(MAX_HEADER_BYTES)
        assert sum(len(name) + len(value) for name, value in head.headers) <= 2 * MAX_HEADER_BYTES
        body = collect(
            client.body(client.framing(head)),
            decoders_for(head.tokens("content-encoding"), ()),
            Bounds(MAX_BODY_BYTES, MAX_BODY_BYTES),
            framing_bytes=lambda: client.framing_bytes,
        )
        assert body.wire_bytes + client.framing_bytes <= len(data)
        client.receive_idle(data[:20])
    except Fault:
        return "fault"
    return "answer"


def mutations(seed: int, count: int) -> Iterator[bytes]:
    """`count` inputs made from the seeds, each preceded by the size in which it is received."""
    rng = random.Random(seed)
    for _ in range(count):
        yield bytes([rng.choice((0, 1, 8, 63, 255))]) + edited(rng, SEEDS, TOKENS)


if __name__ == "__main__":
    fuzz(one_input, mutations)
