"""The origin of the benchmark: `python -m bench.crawl.origin PORT`; HTTP/1.1, keep-alive, 127.0.0.1."""

from __future__ import annotations

import asyncio
import sys

from bench.crawl.pages import page, paths

ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /search?*session=\nAllow: /\n"


def answers(port: int) -> dict[tuple[bytes, bytes], bytes]:
    """Everything it can say, whole, by host and path."""
    found = {}
    for host, path in paths():
        body = page(host, path, port)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        found[host.encode(), path.encode()] = head.encode() + body
        robots = (
            f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(ROBOTS)}\r\n\r\n"
        )
        found[host.encode(), b"/robots.txt"] = robots.encode() + ROBOTS
    return found


class Connection(asyncio.Protocol):
    """One connection; requests have no bodies."""

    known: dict[tuple[bytes, bytes], bytes]

    def connection_made(self, transport):
        self.transport = transport
        self.buffer = b""

    def data_received(self, data):
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            lines = head.split(b"\r\n")
            path = lines[0].split(b" ")[1]
            host = next((l[5:].strip() for l in lines if l[:5].lower() == b"host:"), b"")
            missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
            self.transport.write(self.known.get((host.split(b":")[0], path), missing))


async def main(port: int) -> None:
    Connection.known = answers(port)
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
