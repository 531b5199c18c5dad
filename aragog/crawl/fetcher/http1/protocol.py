"""HTTP/1.1 on one connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aragog.crawl.fetcher.http1.head import Framing, ResponseHead, get_framing
from aragog.crawl.fetcher.http1.reader import ResponseReader, read_content
from aragog.crawl.fetcher.request import PoliteRequest, Target


class Http1:
    """
    Implements `HttpProtocol`.

    Args:
        receive: returns the next bytes, or b"" at the end.
    """

    version = "1.1"
    can_retry = True

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._reader = ResponseReader(receive)

    @property
    def framing_bytes(self) -> int:
        return self._reader.line_bytes

    @property
    def is_busy(self) -> bool:
        # Data after the response does not belong to a request, so the connection cannot be reused.
        return self._reader.has_unread_bytes

    def encode_request(self, request: PoliteRequest, target: Target) -> bytes:
        lines = [f"{request.method} {target.path} HTTP/1.1", f"Host: {target.host_header}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        body = request.body if isinstance(request.body, bytes) else b""
        return "\r\n".join((*lines, "", "")).encode("latin-1", "replace") + body

    def read_head(self, max_bytes: int) -> ResponseHead:
        return self._reader.read_head(max_bytes)

    def framing(self, head: ResponseHead) -> Framing:
        return get_framing(head)

    def body(self, framing: Framing) -> Iterator[bytes]:
        return read_content(self._reader, framing)

    def receive_idle(self, data: bytes) -> bool:  # noqa: ARG002 - the port's signature
        return False
