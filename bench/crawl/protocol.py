"""HTTP/1.1 as the benchmarks' origins speak it: keep-alive, requests without bodies."""

from __future__ import annotations

import asyncio
from abc import abstractmethod


class OriginProtocol(asyncio.Protocol):
    """One connection; `response` is called for each request, in order."""

    def connection_made(self, transport):
        self.transport = transport
        self.buffer = b""

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            lines = head.split(b"\r\n")
            path = lines[0].split(b" ")[1]
            host = next((x[5:].strip() for x in lines if x[:5].lower() == b"host:"), b"")
            self.transport.write(self.response(host.split(b":")[0], path))

    @abstractmethod
    def response(self, host: bytes, path: bytes) -> bytes:
        """The bytes of the whole response."""
