"""The HTTP request parser gives the same result for any chunking and any offered upgrade."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.api.server.http.parsing import BadRequest, RequestParser
from tests.support.examples import examples

MAX_BYTES = 1000
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
BODIES = st.binary(max_size=40)
TRAILERS = st.sampled_from([b"", b"A: b\r\n", b"Host: evil\r\nAuthorization: x\r\n"])


class Events:
    """Writes down what a parser reports, pieces of one body together."""

    def __init__(self):
        self.parser = RequestParser(self, MAX_BYTES)
        self.requests = []

    def on_head(self):
        self.requests.append([self.parser.method, self.parser.target, self.parser.headers, b"", 0])

    def on_body(self, body):
        self.requests[-1][3] += body

    def on_end(self):
        self.requests[-1][4] += 1


def parsed(data, cuts=()):
    """The requests without upgrade headers, and the status with which the parser stopped."""
    events, status = Events(), None
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    try:
        for begin, end in pairwise(edges):
            events.parser.feed(data[begin:end])
    except BadRequest as refused:
        status = refused.problem.status
    for request in events.requests:
        request[2] = [pair for pair in request[2] if pair[0] not in (b"connection", b"upgrade")]
    return events.requests, status


@st.composite
def requests(draw):
    """A request as bytes, with a placeholder where an upgrade could be offered."""
    body, kind = draw(BODIES), draw(st.sampled_from(["none", "length", "chunked"]))
    head = b"POST /%d HTTP/1.1\r\nHost: a\r\n{}" % draw(st.integers(0, 9))
    if kind == "none":
        return head + b"\r\n"
    if kind == "length":
        return head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    parts = [body[:3], body[3:]]
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(part), part) for part in parts if part)
    return head + b"Transfer-Encoding: chunked\r\n\r\n%b0\r\n%b\r\n" % (chunks, draw(TRAILERS))


@given(
    st.lists(st.tuples(requests(), st.booleans()), min_size=1, max_size=4),
    st.lists(st.integers(0, 10_000), max_size=8),
    st.sampled_from([b"", b"GET", b"garbage\r\n\r\n"]),
)
@examples(300)
def test_chunking_and_offered_upgrades_change_nothing(made, cuts, rest):
    plain = b"".join(request.replace(b"{}", b"", 1) for request, _ in made) + rest
    offered = b"".join(r.replace(b"{}", UPGRADE if offers else b"", 1) for r, offers in made) + rest
    expected = parsed(plain)

    assert [request[4] for request in expected[0]] == [1] * len(made)
    assert parsed(offered, cuts) == expected
    assert parsed(plain, cuts) == expected


@pytest.mark.parametrize("name", [b"Upgrade", b"Plain"])
def test_trailers_received_at_once_are_counted_exactly(name):
    head = b"POST / HTTP/1.1\r\nConnection: upgrade\r\n%b: x\r\n" % name
    head += b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    line = b"A: bcdef\r\n"
    fitting, too_many = line * (MAX_BYTES // len(line)), line * (MAX_BYTES // len(line) + 1)

    assert parsed(head + fitting + b"\r\n")[1] is None
    assert parsed(head + too_many + b"\r\n")[1] == 431


def test_long_body_in_many_chunks_has_no_trailers():
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"1\r\na\r\n" * 5000 + b"0\r\n\r\n"
    requests_read, status = parsed(data, range(0, len(data), 2))

    assert status is None
    assert requests_read[0][3] == b"a" * 5000
