"""
The port of the HTTP versions: what a connection speaks, once it is open.

`http1.protocol.Http1` and `http2.protocol.Http2` implement it. Both get the same bytes of the same
socket and the same limits; connections, TLS, deadlines, decoding and outcomes are above the port.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from aragog.crawl.fetcher.http1.head import Framing, ResponseHead
from aragog.crawl.fetcher.request import PoliteRequest, Target


class HttpProtocol(Protocol):
    """One version of HTTP on one connection. Carries one request at a time."""

    version: str
    """`1.1` or `2`, as the record of a fetch has it."""

    @property
    def framing_bytes(self) -> int:
        """The size of all that was received beside heads and bodies, since the connection began."""

    @property
    def busy(self) -> bool:
        """True when the connection cannot carry another request: it has more data, or ends."""

    @property
    def repeatable(self) -> bool:
        """True when a GET that failed on this connection may be sent once more on another one."""

    def request(self, request: PoliteRequest, target: Target) -> bytes:
        """
        Return the bytes of a request; they are written in one piece.

        Raises:
            TransportError: the connection takes no more requests.
        """

    def head(self, max_bytes: int) -> ResponseHead:
        """
        Read the head of the final response; interim ones (100, 103, …) are skipped.

        Raises:
            TransportError: the response must not be used, or did not arrive.
            LimitExceeded: all heads together exceed `max_bytes`.
        """

    def framing(self, head: ResponseHead) -> Framing:
        """
        Return how the body of that response ends.

        Raises:
            TransportError, UnsupportedContent: see `http1.head.framing_of`.
        """

    def body(self, framing: Framing) -> Iterator[bytes]:
        """
        Yield the pieces of the body until it is complete; b"" after data that is none of it.

        Raises:
            TransportError: the body ended early or is invalid; the pieces so far are valid.
        """

    def received_idle(self, data: bytes) -> bool:
        """Take data that arrived between two requests; False if the connection cannot be used."""
