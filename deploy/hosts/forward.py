"""
Forward TCP connections: `python -m deploy.hosts.forward FROM TO`, each `host:port`.

The servers of deploy/ listen on 127.0.0.1 only; this makes one reachable from the other host.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(listen: tuple[str, int], target: tuple[str, int]) -> None:
    """Accept connections until cancelled."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection(*target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))

    async with await asyncio.start_server(connected, *listen) as server:
        await server.serve_forever()


def address(text: str) -> tuple[str, int]:
    """Return `host:port` as a pair."""
    host, _, port = text.rpartition(":")
    return host, int(port)


if __name__ == "__main__":
    asyncio.run(serve(address(sys.argv[1]), address(sys.argv[2])))
