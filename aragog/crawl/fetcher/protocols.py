"""
The interface of each HTTP version, for requests on an open connection.

`http1.protocol.Http1` and `http2.protocol.Http2` implement it. Connections, TLS, deadlines,
decoding and outcomes do not depend on the version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from aragog.crawl.fetcher.http1.head import Framing, ResponseHead
from aragog.crawl.fetcher.request import PoliteRequest, Target


class HttpProtocol(Protocol):
    """One version of HTTP on one connection. Carries one request at a time."""

    version: str
    """The version, `1.1` or `2`, as stored in the fetch record."""

    @property
    def framing_bytes(self) -> int:
        """Bytes received on the connection, without bodies. HTTP/1.1 does not count headers."""

    @property
    def is_busy(self) -> bool:
        """True if the connection cannot be reused, because it has unread data or is closing."""

    @property
    def can_retry(self) -> bool:
        """True if a failed GET can be retried on another connection."""

    def encode_request(self, request: PoliteRequest, target: Target) -> bytes:
        """
        Encode a request. The bytes must be written immediately.

        Raises:
            TransportError: the connection accepts no more requests.
        """

    def read_head(self, max_bytes: int) -> ResponseHead:
        """
        Read the final response's status and headers. Skips interim responses (100, 103, …).

        Raises:
            TransportError: the response is invalid, or did not arrive.
            LimitExceeded: the headers of all responses together exceed `max_bytes`.
        """

    def framing(self, head: ResponseHead) -> Framing:
        """
        Return what ends the response's body.

        Raises:
            TransportError, UnsupportedContent: see `http1.head.get_framing`.
        """

    def body(self, framing: Framing) -> Iterator[bytes]:
        """
        Yield the body in pieces. HTTP/2 also yields b"" after other data, such as control frames.

        Raises:
            TransportError: the body ended early or is invalid. Pieces yielded before are valid.
        """

    def receive_idle(self, data: bytes) -> bool:
        """Process data received between requests. Returns False if the connection is unusable."""
