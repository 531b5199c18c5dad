"""
Serve a store in a folder with one of the servers: `python -m bench.serving_peers.serve NAME FOLDER
FD`.

Each answers `GET /v1/urls?url=…&fields=…` with the same four fields, read in a thread because store
calls block, except `hand-written-loop`, which reads on the event loop as aragog once did.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

import orjson
import uvicorn
import uvloop
from thriftpy2.protocol import TCyBinaryProtocolFactory
from thriftpy2.rpc import make_server
from thriftpy2.transport import TCyFramedTransportFactory

from aragog.api.operations.operation import Parts
from aragog.api.record_json import record_json
from aragog.api.server.http.app import Api
from aragog.api.server.http.server import run
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.handlers import services
from aragog.api.server.thrift.server import ThriftServer
from aragog.settings import ServingSettings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from bench.serving_peers.hand_written import HttpProtocol, Request, Response
from zengraph.tables.sqlite import SqliteTables

THREADS = 16


def open_store(folder: str) -> UrlStore:
    """Open the store that bench.serving filled."""
    return UrlStore(SqliteTables(Path(folder), shards=16), MemoryContent(), StoreSettings())


def read(store: UrlStore, query: dict[str, str]) -> bytes:
    """Return the response body of every server."""
    record = store.get(query["url"], query["fields"].split(","))
    return orjson.dumps(None if record is None else record_json(record, store.formats))


def hand_written(store: UrlStore, sock: socket.socket, *, threads: bool) -> None:
    pool = ThreadPoolExecutor(THREADS)

    async def handle(request: Request) -> Response:
        if not threads:
            return Response(200, read(store, request.query))
        loop = asyncio.get_running_loop()
        return Response(200, await loop.run_in_executor(pool, partial(read, store, request.query)))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(lambda: HttpProtocol(handle, set()), sock=sock)
        await asyncio.Event().wait()

    uvloop.run(serve())


def bare_asgi(store: UrlStore, sock: socket.socket, http: str) -> None:
    """uvicorn with an application of ten lines, to show the cost of Starlette and of aragog's checks."""
    pool = ThreadPoolExecutor(THREADS)

    async def app(scope, receive, send) -> None:
        query = dict(parse_qsl(scope["query_string"].decode()))
        loop = asyncio.get_running_loop()
        body = await loop.run_in_executor(pool, partial(read, store, query))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(app, http=http, lifespan="off", log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[sock])


def granian(store: UrlStore, sock: socket.socket) -> None:
    """granian's RSGI, embedded in this process."""
    from granian.constants import Interfaces
    from granian.server.embed import Server

    pool = ThreadPoolExecutor(THREADS)
    host, port = sock.getsockname()
    sock.close()

    class App:
        async def __rsgi__(self, scope, protocol) -> None:
            query = dict(parse_qsl(scope.query_string))
            loop = asyncio.get_running_loop()
            body = await loop.run_in_executor(pool, partial(read, store, query))
            protocol.response_bytes(200, [("content-type", "application/json")], body)

    server = Server(App(), address=host, port=port, interface=Interfaces.RSGI)
    uvloop.run(server.serve())


def thrift(store: UrlStore, sock: socket.socket) -> None:
    """The project's Thrift services."""

    async def serve() -> None:
        await ThriftServer(services(Parts(store=store)), ServingSettings()).start(sock)
        await asyncio.Event().wait()

    uvloop.run(serve())


def thriftpy2_threaded(store: UrlStore, sock: socket.socket) -> None:
    """thriftpy2's own server, one thread per connection, without the deadline and limits."""

    class Handler:
        def get(self, url, fields, options):
            record = store.get(url, fields)
            return idl.Record(record.url, record.canonical_url, record.fields, record.version)

    address = sock.getsockname()
    sock.close()
    make_server(
        idl.UrlStore, Handler(), *address, proto_factory=TCyBinaryProtocolFactory(),
        trans_factory=TCyFramedTransportFactory(),
    ).serve()  # fmt: skip


def main() -> None:
    name, folder, number = sys.argv[1:]
    store, sock = open_store(folder), socket.socket(fileno=int(number))
    gc.collect()
    gc.freeze()  # as `aragog serve` does: a full collection would stop all requests for 25 ms
    match name:
        case "hand-written-loop":
            hand_written(store, sock, threads=False)
        case "hand-written":
            hand_written(store, sock, threads=True)
        case "uvicorn-httptools":
            bare_asgi(store, sock, "httptools")
        case "uvicorn-h11":
            bare_asgi(store, sock, "h11")
        case "granian":
            granian(store, sock)
        case "aragog":
            settings = ServingSettings()
            run(Api(store, settings), settings, sock)
        case "thrift":
            thrift(store, sock)
        case "thriftpy2-threaded":
            thriftpy2_threaded(store, sock)
        case _:
            sys.exit(f"no such server: {name}")


if __name__ == "__main__":
    main()
