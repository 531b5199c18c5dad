"""Private redis-servers that listen over TLS, or that a Sentinel watches."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aragog.standalone.redis_server import RedisServer, find_redis_server
from pinlater.redis.connect import connect
from tests.support import tls
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@contextmanager
def tls_redis(folder: Path) -> Iterator[tuple[str, Path]]:
    """
    Run a server behind TLS. Yields its URL, and the file of the authority to trust.

    TLS ends in this process, because not every build of Redis or Valkey supports it.
    """
    ca = folder / "ca.pem"
    tls.authority().cert_pem.write_to_path(str(ca))
    with RedisServer(folder, port=free_port()) as server, _tls_in_front_of(server.port) as port:
        yield f"rediss://localhost:{port}", ca


@contextmanager
def _tls_in_front_of(target_port: int | None) -> Iterator[int]:
    """Forward TLS connections to `target_port` without TLS. Yields the port."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", target_port)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    async def listen() -> asyncio.Server:
        context = tls.server_context("localhost")
        return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    server = loop.run_until_complete(listen())
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def sentinel(folder: Path, master_port: int, service: str = "main") -> Iterator[int]:
    """Run a Sentinel that watches a master on this machine and its replicas. Yields its port."""
    port = free_port()
    conf = folder / "sentinel.conf"
    conf.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor {service} 127.0.0.1 {master_port} 1\n"
        f"sentinel down-after-milliseconds {service} 500\n"
        f"sentinel failover-timeout {service} 5000\n"
    )
    process = subprocess.Popen(
        [str(find_redis_server().path), str(conf), "--sentinel"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: _listens(port))
        yield port
    finally:
        process.terminate()
        process.wait()


def replicas(sentinel_port: int, service: str = "main") -> int:
    """Return how many replicas of a service a Sentinel knows."""
    with connect(f"redis://127.0.0.1:{sentinel_port}") as client:
        return len(client.execute_command("SENTINEL", "REPLICAS", service))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
