"""One answer: its head, its body not yet read, the connection that goes back when it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import requests
from requests.structures import CaseInsensitiveDict

from aragog.fetcher.deadline import Deadline
from aragog.fetcher.faults import Fault, TransportError
from aragog.fetcher.http1.body import Body, Bounds, collect
from aragog.fetcher.http1.connection import HttpConnection
from aragog.fetcher.http1.decoders import decoders_for
from aragog.fetcher.http1.framing import Framing, framing_of
from aragog.fetcher.http1.head import ResponseHead
from aragog.fetcher.http1.reader import content
from aragog.fetcher.requests_errors import as_requests_says

# The body of an answer that is not wanted is read to its end when it is this short, because that
# is cheaper than a new connection.
DRAIN_BYTES = 16_384
DRAIN_S = 0.25


class HttpResponse:
    """
    What `requests.Response.raw` is here. Either `read_body` or `discard` ends it.

    Attributes:
        dns_ms: None when nothing was resolved.
        connect_ms: None on a kept connection.
        first_byte_ms: from the request to the end of the head.
        bodiless: the response to a HEAD request: no body, whatever its head says.
    """

    dns_ms: float | None = None
    connect_ms: float | None = None
    first_byte_ms: float | None = None
    bodiless = False

    def __init__(
        self,
        connection: HttpConnection,
        head: ResponseHead,
        deadline: Deadline,
        give_back: Callable[[HttpConnection], None],
    ) -> None:
        self.head = head
        self.address = connection.address
        self.tls = connection.tls
        self._connection: HttpConnection | None = connection
        self._pace = deadline
        self._give_back = give_back
        self._framing: Framing | None = None
        self._request: requests.PreparedRequest | None = None
        self._bounds = Bounds(0, 0)

    @property
    def framing(self) -> Framing:
        """Where the body ends; raises TransportError or UnsupportedContent, see `framing_of`."""
        if self._framing is None:
            found = framing_of(self.head)
            self._framing = Framing("none", persistent=found.persistent) if self.bodiless else found
        return self._framing

    def read_body(self, bounds: Bounds, look: Callable[[bytes], None] = lambda _: None) -> Body:
        """
        The decoded body; the connection is let go whatever happens.

        Raises:
            Fault: see `body.collect`.
        """
        connection = self._connection
        if connection is None:
            raise TransportError("protocol", "the body was read before")
        reusable = False
        try:
            framing = self.framing
            decoders = decoders_for(self.head.tokens("content-encoding"), framing.codings)
            self._pace.body_begins()
            body = collect(content(connection.reader, framing), decoders, bounds, look)
            reusable = body.drained and framing.persistent
            return body
        finally:
            self._pace.body_ends()
            self._let_go(reusable=reusable)

    def discard(self) -> None:
        """Let the body go unread, unless it is short; never raises Fault."""
        connection = self._connection
        if connection is None:
            return
        reusable = False
        try:
            framing = self.framing
            if framing.persistent and framing.length <= DRAIN_BYTES:
                left = DRAIN_BYTES
                with self._pace.hurried(DRAIN_S):
                    for piece in content(connection.reader, framing):
                        left -= len(piece)
                        if left < 0:
                            return
                reusable = True
        except Fault:
            pass
        finally:
            self._let_go(reusable=reusable)

    def _let_go(self, *, reusable: bool) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        # More than the answer is an answer to nothing: such a connection is not to be trusted.
        if reusable and not connection.reader.pending:
            self._give_back(connection)
        else:
            connection.close()

    def as_response(self, request: requests.PreparedRequest, bounds: Bounds) -> requests.Response:
        """The same as requests' own value; a body beyond `bounds`, or cut, raises when read."""
        response = requests.Response()
        response.status_code = self.head.status
        response.reason = self.head.reason
        response.url = request.url or ""
        response.request = request
        response.raw = self
        self._request, self._bounds = request, bounds
        response.headers = CaseInsensitiveDict(
            (name, ", ".join(values)) for name, values in self.head.fields.items()
        )
        return response

    # What requests.Response calls on its `raw`.

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:
        """The decoded body in one piece, for `Response.content` and `iter_content`."""
        del amt, decode_content
        if self._connection is not None:
            with as_requests_says(self._request):
                body = self.read_body(self._bounds)
                if body.truncated_why:
                    raise TransportError("reset", body.truncated_why)
            yield body.data

    def close(self) -> None:
        self._let_go(reusable=False)

    def release_conn(self) -> None:
        self._let_go(reusable=False)
