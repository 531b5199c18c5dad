"""The benchmark's origin: `python -m bench.crawl.origin PORT`; HTTP/1.1, keep-alive, loopback."""

from __future__ import annotations

import asyncio
import sys

from bench.crawl.pages import page, paths
from bench.crawl.protocol import OriginProtocol

ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /search?*session=\nAllow: /\n"


def answers(port: int) -> dict[tuple[bytes, bytes], bytes]:
    """Everything it can say, whole, by host and path."""
    found = {}
    for host, path in paths():
        found[host.encode(), path.encode()] = answer(
            "text/html; charset=utf-8", page(host, path, port)
        )
        found[host.encode(), b"/robots.txt"] = answer("text/plain", ROBOTS)
    return found


def answer(kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(OriginProtocol):
    """One connection; requests have no bodies."""

    known: dict[tuple[bytes, bytes], bytes]

    def response(self, host: bytes, path: bytes) -> bytes:
        missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        return self.known.get((host, path), missing)


async def main(port: int) -> None:
    Connection.known = answers(port)
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
