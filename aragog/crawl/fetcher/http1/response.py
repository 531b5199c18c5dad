"""
A response with an unread body. Once the body has been read, the connection returns to the pool.

A `requests.Response` uses such a response as its `raw`. Faults then become exceptions of requests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import requests
from requests.structures import CaseInsensitiveDict

from aragog.crawl.fetcher.body_limits import Bounds, DecodedBody, collect
from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import (
    Fault,
    LimitExceeded,
    TargetBlocked,
    TransportError,
    UnsupportedContent,
)
from aragog.crawl.fetcher.http1.connection import HttpConnection
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.crawl.fetcher.http1.head import Delimiter, Framing, ResponseHead
from aragog.fetch_record.outcome import UnreachableKind

# Unneeded bodies up to this size are read, which is cheaper than a new connection.
DRAIN_BYTES = 16_384
DRAIN_TIMEOUT_S = 0.25


class HttpResponse:
    """
    One response, the `raw` of a `requests.Response`. Call either `read_body` or `discard`, once.

    Attributes:
        timings: measured durations in milliseconds, by their names in `FetchRecord`.
        has_no_body: True for the response to a HEAD request.
    """

    has_no_body = False

    def __init__(
        self,
        connection: HttpConnection,
        head: ResponseHead,
        deadline: Deadline,
        put_back: Callable[[HttpConnection], None],
    ) -> None:
        self.head = head
        self.timings: dict[str, float] = {}
        self.address = connection.address
        self.tls = connection.tls
        self.http_version = connection.protocol.version
        self._protocol = connection.protocol
        self._connection: HttpConnection | None = connection
        self._deadline = deadline
        self._put_back = put_back
        self._framing: Framing | None = None
        self._request: requests.PreparedRequest | None = None
        self._bounds = Bounds(0, 0)

    @property
    def framing(self) -> Framing:
        """What ends the body. Raises the same errors as `get_framing`."""
        if self._framing is None:
            framing = self._protocol.framing(self.head)
            if self.has_no_body:
                framing = Framing(Delimiter.NO_BODY, persistent=framing.persistent)
            self._framing = framing
        return self._framing

    def read_body(
        self, bounds: Bounds, sniff: Callable[[bytes], None] = lambda _: None
    ) -> DecodedBody:
        """
        Read and decode the body. Always releases the connection.

        Raises:
            Fault: see `body_limits.collect`.
        """
        connection = self._connection
        if connection is None:
            raise TransportError(UnreachableKind.PROTOCOL, "the body was already read")
        is_reusable = False
        try:
            framing = self.framing
            decoders = decoders_for(self.head.tokens("content-encoding"), framing.codings)
            self._deadline.start_body()
            protocol = self._protocol
            earlier_framing_bytes = protocol.framing_bytes

            def framing_bytes() -> int:
                return protocol.framing_bytes - earlier_framing_bytes

            body = collect(protocol.body(framing), decoders, bounds, sniff, framing_bytes)
            is_reusable = body.is_drained and framing.persistent
            return body
        finally:
            self._deadline.end_body()
            self._release(is_reusable=is_reusable)

    def discard(self) -> None:
        """Skip the body: read it if short, otherwise close the connection. Raises no Fault."""
        connection = self._connection
        if connection is None:
            return
        is_reusable = False
        try:
            framing = self.framing
            if framing.persistent and framing.length <= DRAIN_BYTES:
                remaining_bytes = DRAIN_BYTES
                with self._deadline.shorten(DRAIN_TIMEOUT_S):
                    for piece in self._protocol.body(framing):
                        remaining_bytes -= len(piece)
                        if remaining_bytes < 0:
                            return
                is_reusable = True
        except Fault:
            pass
        finally:
            self._release(is_reusable=is_reusable)

    def _release(self, *, is_reusable: bool) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if is_reusable and not connection.protocol.is_busy:
            self._put_back(connection)
        else:
            connection.close()

    def as_response(self, request: requests.PreparedRequest, bounds: Bounds) -> requests.Response:
        """Return a `requests.Response`. Reading its body raises if the body is truncated."""
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

    # requests.Response calls the methods below.

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:
        """Yield the decoded body in one piece, for `Response.content` and `iter_content`."""
        del amt, decode_content
        if self._connection is not None:
            with convert_faults(self._request):
                body = self.read_body(self._bounds)
                if body.truncated_why:
                    raise TransportError(UnreachableKind.RESET, body.truncated_why)
            yield body.data

    def close(self) -> None:
        self._release(is_reusable=False)

    def release_conn(self) -> None:
        self._release(is_reusable=False)


@contextlib.contextmanager
def convert_faults(request: requests.PreparedRequest | None) -> Iterator[None]:
    """Convert a `Fault` raised in the block into the closest exception of requests."""
    try:
        yield
    except Fault as fault:
        raise _requests_error_class(fault)(fault.reason, request=request) from fault


def _requests_error_class(fault: Fault) -> type[requests.RequestException]:
    if isinstance(fault, TargetBlocked):
        return requests.exceptions.InvalidURL
    if isinstance(fault, LimitExceeded):
        return requests.exceptions.InvalidHeader
    if isinstance(fault, UnsupportedContent):
        return requests.exceptions.ContentDecodingError
    kind = fault.kind if isinstance(fault, TransportError) else None
    if kind is UnreachableKind.TIMEOUT:
        return requests.exceptions.Timeout
    if kind is UnreachableKind.TLS:
        return requests.exceptions.SSLError
    return requests.exceptions.ConnectionError
