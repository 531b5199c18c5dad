"""HTTP/2 messages do not depend on packet sizes, and random bytes are a fault."""

from __future__ import annotations

import contextlib

import ngh2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import Fault
from aragog.crawl.fetcher.http2.protocol import Http2
from aragog.crawl.fetcher.request import PoliteRequest, Target
from aragog.runtime.clock import SystemClock
from tests.support.byte_streams import pieces_of
from tests.support.examples import examples

URL = "https://shop.test/a?b=c"
FIELDS = [(b":status", b"200"), (b"content-type", b"text/html"), (b"x-city", "Köln".encode())]
HEADERS = {"Host": "shop.test", "Connection": "close", "User-Agent": "bot", "Cookie": "a=b"}


class Exchange:
    """A request, and the nghttp2 server that answers it."""

    def __init__(self, size: int = 65_536) -> None:
        self.server = ngh2.Connection(ngh2.Role.SERVER)
        self.server.initiate_connection()
        self.arriving = iter(())
        self.size = size
        self.client = Http2(lambda: next(self.arriving, b""), self.server.receive_data, 65_536)
        deadline = Deadline(SystemClock(), deadline_s=9, connect_timeout_s=9, read_timeout_s=9)
        self.server.receive_data(
            self.client.encode_request(PoliteRequest(URL, HEADERS, deadline), Target(URL))
        )
        events = self.server.events()
        (self.request,) = (e for e in events if isinstance(e, ngh2.RequestReceived))

    def answer(self, body: bytes) -> None:
        stream = self.request.stream_id
        self.server.send_response(stream, FIELDS)
        self.server.send_data(stream, body, end_stream=True)
        self.arriving = pieces_of(self.server.data_to_send(), self.size)


def test_request_has_pseudo_headers_and_no_connection_fields():
    assert Exchange().request.headers == (
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":authority", b"shop.test"),
        (b":path", b"/a?b=c"),
        (b"user-agent", b"bot"),
        (b"cookie", b"a=b"),
    )


@pytest.mark.parametrize("size", [1, 7, 9, 100, 65_536])
def test_response_does_not_depend_on_packet_sizes(size):
    exchange = Exchange(size)
    exchange.answer(b"x" * 40_000)

    head = exchange.client.read_head(65_536)
    body = b"".join(exchange.client.body(exchange.client.framing(head)))

    assert (head.status, head.headers) == (
        200, (("content-type", "text/html"), ("x-city", "Köln")),
    )  # fmt: skip
    assert (body, exchange.client.is_busy) == (b"x" * 40_000, False)


def test_framing_overhead_is_counted():
    exchange = Exchange()
    exchange.answer(b"x" * 40_000)
    list(exchange.client.body(exchange.client.framing(exchange.client.read_head(65_536))))

    # Settings and fields, then a 9-byte header per frame of at most 16 KiB.
    assert 3 * 9 < exchange.client.framing_bytes < 300


@examples(200)
@given(st.data())
def test_corrupted_bytes_give_a_response_or_a_fault(data):
    exchange = Exchange()
    exchange.answer(b"x" * 100)
    sent = bytearray(b"".join(exchange.arriving))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    exchange.arriving = pieces_of(bytes(sent), data.draw(st.integers(1, 300)))

    with contextlib.suppress(Fault):
        body = b"".join(
            exchange.client.body(exchange.client.framing(exchange.client.read_head(65_536)))
        )
        assert len(body) <= 16_384 + 100
