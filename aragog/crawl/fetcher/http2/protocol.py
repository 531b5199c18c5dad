"""
HTTP/2 on one connection (RFC 9113), with the same limits as HTTP/1.1.

nghttp2 implements frames, HPACK and flow control. It also limits frames that only an attacker sends
in large numbers: CONTINUATION frames, SETTINGS entries, acknowledgements that the peer never reads,
and frames that do nothing. The connection's `receive` enforces the deadline. All received bytes are
counted, including padding and control frames. A connection carries one request at a time, and
server push is disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ngh2

from aragog.crawl.fetcher.faults import LimitExceeded, TransportError
from aragog.crawl.fetcher.http1.head import Delimiter, Framing, ResponseHead, parse_head
from aragog.crawl.fetcher.http1.reader import MAX_INTERIM_RESPONSES
from aragog.crawl.fetcher.request import PoliteRequest, Target
from aragog.fetch_record.outcome import UnreachableKind

# How much a server may send without a WINDOW_UPDATE. With HTTP/2's default, every 64 KiB would cost
# a round trip. A large window needs no memory: the socket is read on demand.
WINDOW_BYTES = 1 << 20

# Limit on control frames before a response, in bytes. An honest server sends about 100.
MAX_CONTROL_BYTES = 65_536

# A frame costs about 1 µs of CPU, so ten thousand nearly empty frames are treated as an attack.
MAX_SMALL_FRAMES = 10_000
MIN_MEAN_FRAME_BYTES = 32

MAX_FRAME_BYTES = 16_384
FIELD_OVERHEAD_BYTES = 32  # RFC 9113 section 6.5.2

# HTTP/2 forbids these headers (RFC 9113 section 8.2.2). Host is sent as :authority.
OMITTED_HEADERS = frozenset(
    {"connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"}
)
# Secrets, which HPACK must never store in its table (RFC 7541 section 7.1.3).
SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class Http2:
    """
    Implements `HttpProtocol`.

    Args:
        receive: returns the next bytes, at least one; b"" at the end.
        send: writes control frames, such as WINDOW_UPDATE.
        max_header_bytes: limit for one header block, as in HTTP/1.1.
    """

    version = "2"

    def __init__(
        self,
        receive: Callable[[], bytes],
        send: Callable[[bytes], None],
        max_header_bytes: int,
    ) -> None:
        self._receive = receive
        self._send = send
        self._http2 = ngh2.Connection(ngh2.Role.CLIENT, _configuration(max_header_bytes))
        self._http2.initiate_connection(
            {
                ngh2.Setting.ENABLE_PUSH: 0,
                ngh2.Setting.INITIAL_WINDOW_SIZE: WINDOW_BYTES,
                ngh2.Setting.MAX_HEADER_LIST_SIZE: max_header_bytes,
            }
        )
        self._http2.set_local_window_size(WINDOW_BYTES)
        self._is_closing = False
        self._can_send = True
        self._received_bytes = self._payload_bytes = 0
        self.can_retry = True
        self._start_stream(0)

    def _start_stream(self, stream: int) -> None:
        self._stream_id = stream
        self._head: ResponseHead | None = None
        self._interim_count = 0
        self._pieces: list[bytes] = []
        self._has_ended = stream == 0
        self._fault: TransportError | LimitExceeded | None = None
        self._head_bytes = 0
        self._frame_count = 0
        self._earlier_received_bytes = self._received_bytes
        self._earlier_payload_bytes = self._payload_bytes

    @property
    def framing_bytes(self) -> int:
        return self._received_bytes - self._payload_bytes

    @property
    def is_busy(self) -> bool:
        return self._is_closing or not self._has_ended or bool(self._pieces)

    def encode_request(self, request: PoliteRequest, target: Target) -> bytes:
        fields: list[tuple[bytes, bytes]] = [
            (b":method", _encode(request.method or "GET")),
            (b":scheme", target.scheme.encode()),
            (b":authority", _encode(target.host_header)),
            (b":path", _encode(target.path)),
        ]
        for name, value in request.headers.items():
            if (lower_name := name.lower()) not in OMITTED_HEADERS:
                field = _encode(lower_name), _encode(value.strip())
                fields.append(
                    ngh2.NeverIndexedHeader(*field) if lower_name in SECRET_HEADERS else field
                )
        body = request.body if isinstance(request.body, bytes) else b""
        try:
            self._start_stream(self._http2.send_request(fields, end_stream=not body))
            if body:
                self._http2.send_data(self._stream_id, body, end_stream=True)
            return self._http2.data_to_send()
        except (ngh2.NGH2Error, ValueError) as error:
            reason = f"the HTTP/2 connection accepts no request: {error}"
            raise TransportError(UnreachableKind.RESET, reason) from error

    def read_head(self, max_bytes: int) -> ResponseHead:
        self._handle_events()
        while self._head is None:
            if self._fault is not None:
                raise self._fault
            received_bytes = self._received_bytes - self._earlier_received_bytes
            if received_bytes > max_bytes + MAX_CONTROL_BYTES:
                reason = f"{received_bytes} bytes of frames without a response"
                raise TransportError(UnreachableKind.PROTOCOL, reason)
            self._receive_frames()
            if self._head_bytes > max_bytes:
                raise LimitExceeded(f"more than {max_bytes} bytes of headers")
        return self._head

    def framing(self, head: ResponseHead) -> Framing:
        persistent = not self._is_closing
        if head.status in (204, 304) or (self._has_ended and not self._pieces):
            return Framing(Delimiter.NO_BODY, persistent=persistent)
        lengths = head.values("content-length")
        if lengths:
            # nghttp2 has checked that this is a number, and compares it with the body's length.
            return Framing(Delimiter.LENGTH, int(lengths[0]), persistent=persistent)
        return Framing(Delimiter.END_STREAM, persistent=persistent)

    def body(self, framing: Framing) -> Iterator[bytes]:  # noqa: ARG002 - the port's signature
        while True:
            pieces, self._pieces = self._pieces, []
            yield from pieces
            if self._has_ended:
                return
            if self._fault is not None:
                raise self._fault
            self._receive_frames()
            if not self._pieces:
                yield b""  # lets the caller check its byte limit

    def receive_idle(self, data: bytes) -> bool:
        if data:
            self._feed(data)
        return bool(data) and not self.is_busy and self._fault is None

    def _receive_frames(self) -> None:
        """Receive once, and send nghttp2's replies, such as WINDOW_UPDATE."""
        data = self._receive()
        if data:
            self._feed(data)
        elif self._fault is None:
            self._is_closing = True
            what = "without a response" if self._head is None else "before the end of the body"
            self._fail(UnreachableKind.RESET, f"the connection was closed {what}")
        if self._fault is None and self._can_send and (output := self._pending_output()):
            try:
                self._send(output)
            except TransportError as error:
                if error.kind is UnreachableKind.TIMEOUT:
                    raise
                # The server closed its side, maybe after a whole response, so keep reading.
                self._can_send, self._is_closing = False, True

    def _feed(self, data: bytes) -> None:
        self._received_bytes += len(data)
        try:
            self._http2.receive_data(data)
        except ngh2.DenialOfServiceError as error:
            self._is_closing = True
            self._handle_events()
            if "header list" in str(error):
                self._fault = LimitExceeded(f"too many headers: {error}")
            else:
                self._fail(UnreachableKind.PROTOCOL, f"looks like an HTTP/2 attack: {error}")
        except ngh2.NGH2Error as error:
            self._is_closing = True
            self._handle_events()
            self._fail(UnreachableKind.PROTOCOL, f"not valid HTTP/2: {error}")
        else:
            self._handle_events()

    def _pending_output(self) -> bytes:
        try:
            output = self._http2.data_to_send()
        except ngh2.NGH2Error as error:
            self._is_closing = True
            self._fail(UnreachableKind.PROTOCOL, f"not valid HTTP/2: {error}")
            return b""
        self._handle_events()
        return output

    def _handle_events(self) -> None:
        for event in self._http2.events():
            self._frame_count += 1
            if type(event) is ngh2.DataReceived:  # most frequent; `match` takes twice as long
                if event.stream_id == self._stream_id:
                    self._payload_bytes += len(event.data)
                    self._pieces.append(event.data)
                    self._has_ended |= event.end_stream
            else:
                self._handle_event(event)
        payload_bytes = self._payload_bytes - self._earlier_payload_bytes
        min_payload_bytes = self._frame_count * MIN_MEAN_FRAME_BYTES
        if self._frame_count > MAX_SMALL_FRAMES and payload_bytes < min_payload_bytes:
            self._is_closing = True
            reason = f"{self._frame_count} frames with only {payload_bytes} bytes of the page"
            self._fail(UnreachableKind.PROTOCOL, reason)

    def _handle_event(self, event: ngh2.Event) -> None:
        match event:
            case ngh2.ResponseReceived(stream_id=self._stream_id):
                self._handle_head(event.headers, ended=event.end_stream)
            case ngh2.InformationalResponseReceived(stream_id=self._stream_id):
                self._handle_interim(event.headers)
            case ngh2.StreamReset(stream_id=self._stream_id):
                self._handle_reset(event.error_code)
            case ngh2.StreamClosed(stream_id=self._stream_id):
                self._handle_end(event.error_code)
            case ngh2.GoAwayReceived():
                self._handle_goaway(event.last_stream_id, event.error_code)
            case ngh2.ConnectionClosed():
                self._is_closing = True
                self._fail(UnreachableKind.PROTOCOL, f"not valid HTTP/2: {_close_reason(event)}")

    def _handle_head(self, fields: tuple[tuple[bytes, bytes], ...], *, ended: bool) -> None:
        block = b"HTTP/1.1 %b" % dict(fields)[b":status"]
        for name, value in fields:
            if name[:1] != b":":
                block += b"\n%b: %b" % (name, value)
        self._head_bytes += len(block)
        self._head = parse_head(block)
        self._has_ended |= ended

    def _handle_interim(self, fields: tuple[tuple[bytes, bytes], ...]) -> None:
        self._interim_count += 1
        self._head_bytes += sum(len(name) + len(value) + 3 for name, value in fields)
        if self._interim_count >= MAX_INTERIM_RESPONSES:
            reason = f"more than {MAX_INTERIM_RESPONSES} interim responses"
            self._fail(UnreachableKind.PROTOCOL, reason)

    def _handle_reset(self, code: int) -> None:
        if self._has_ended:
            return
        if code == ngh2.ErrorCode.HTTP_1_1_REQUIRED:
            self._fail(UnreachableKind.PROTOCOL, "the server requires HTTP/1.1 for this page")
        else:
            self.can_retry = code == ngh2.ErrorCode.REFUSED_STREAM
            self._fail(UnreachableKind.RESET, f"the stream was reset by peer: {_error_name(code)}")

    def _handle_end(self, code: int) -> None:
        """Handle the end of the stream: after the response, a reset or an invalid message."""
        if code == ngh2.ErrorCode.NO_ERROR:
            self._has_ended = True
        elif not self._has_ended:
            self._fail(
                UnreachableKind.PROTOCOL, f"not a valid HTTP/2 response: {_error_name(code)}"
            )

    def _handle_goaway(self, last_stream: int, code: int) -> None:
        self._is_closing = True
        if code == ngh2.ErrorCode.HTTP_1_1_REQUIRED:
            self._fail(UnreachableKind.PROTOCOL, "the server requires HTTP/1.1")
        elif last_stream < self._stream_id and not self._has_ended:
            reason = f"the server is closing the connection: {_error_name(code)}"
            self._fail(UnreachableKind.RESET, reason)

    def _fail(self, kind: UnreachableKind, reason: str) -> None:
        """Keep the first fault, to raise it after all data that arrived before it."""
        if self._fault is None:
            self._fault = TransportError(kind, reason)


def _configuration(max_header_bytes: int) -> ngh2.Configuration:
    return ngh2.Configuration(
        # nghttp2 counts an overhead per field, which `fetch.max_header_bytes` does not include.
        max_inbound_header_list_size=max_header_bytes + 1_024 * FIELD_OVERHEAD_BYTES,
        max_inbound_header_count=1_024,
        max_continuations=8 + max_header_bytes // MAX_FRAME_BYTES,
    )


def _encode(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _error_name(code: int) -> str:
    try:
        return ngh2.ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def _close_reason(event: ngh2.ConnectionClosed) -> str:
    return f"{_error_name(event.error_code)} {event.debug_data[:100].decode('latin-1')}".strip()
