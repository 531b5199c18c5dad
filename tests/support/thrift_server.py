"""The Thrift services on loopback, in a thread of the test, and Apache Thrift's client for them."""

from __future__ import annotations

import asyncio
import importlib
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import thriftpy2
import uvloop
from thriftpy2.protocol import TBinaryProtocol, TMultiplexedProtocol
from thriftpy2.thrift import TClient, TException
from thriftpy2.transport import TFramedTransport, TSocket

from aragog.api.operations.field_writers import FieldWriters
from aragog.api.operations.graphs import no_graphs
from aragog.api.operations.jobs import Jobs
from aragog.api.operations.operation import Parts, no_notification
from aragog.api.server.listener import thrift_sockets, tls_context
from aragog.api.server.thrift.contract import FILE
from aragog.api.server.thrift.handlers import services
from aragog.api.server.thrift.server import ThriftServer
from aragog.settings import ServingSettings
from tests.support.missing_parts import THRIFT, skip_without

TIMEOUT_S = 60


@dataclass
class Running:
    """A running server."""

    port: int
    server: ThriftServer
    loop: asyncio.AbstractEventLoop

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """Connect from an address of this machine."""
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S, (source, 0))

    def drain(self) -> None:
        """Stop like on SIGTERM, and wait for it."""
        asyncio.run_coroutine_threadsafe(self.server.drain(), self.loop).result(TIMEOUT_S)


@contextmanager
def running(
    store: Any, *, enqueue: Any = None, fetching: Any = None, cluster: Any = None,
    embedded: bool = True, service: Any = None, shared_tokens: Any = None, read: Any = None,
    batches: Any = None, jobs: Any = None, explain: Any = None, crawls: Any = None,
    takedowns_changed: Any = no_notification, graphs: Any = None, replies: Any = None, **options: Any,
) -> Iterator[Running]:  # fmt: skip
    """Run the services for a store on a free port."""
    settings = ServingSettings(**{"thrift_port": 0, "deadline_ms": 20_000, **options})
    [sock] = thrift_sockets(settings)
    own_jobs = Jobs(cluster, settings.max_waiting) if cluster else None
    parts = Parts(
        store=store, read=read, writers=FieldWriters(settings.field_writers), enqueue=enqueue,
        fetching=fetching, batches=batches, jobs=jobs or own_jobs,
        explain=explain, crawls=crawls, takedowns_changed=takedowns_changed, graphs=graphs or no_graphs(),
    )  # fmt: skip
    handlers = services(parts)
    if service is not None:
        handlers["UrlStore"] = service
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = ThriftServer(
        handlers, settings, embedded=embedded, tokens=shared_tokens, replies=replies
    )
    start = server.start(sock, tls=tls_context(settings))
    asyncio.run_coroutine_threadsafe(start, loop).result(TIMEOUT_S)
    running_server = Running(sock.getsockname()[1], server, loop)
    try:
        yield running_server
    finally:
        running_server.drain()
        if own_jobs is not None:
            own_jobs.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()
        loop.close()


def require_the_compiler() -> None:
    """Skip the test if Apache Thrift's compiler is missing. It fails if CI=true."""
    if shutil.which("thrift") is None:
        skip_without(THRIFT)


def generated(language: str, folder: Path) -> Path:
    """Generate the contract's code in a language with Apache Thrift's compiler, or skip the test."""
    require_the_compiler()
    subprocess.run(["thrift", "--gen", language, "-o", str(folder), str(FILE)], check=True)
    return folder


class Apache:
    """Apache Thrift's Python client with generated code."""

    def __init__(self, folder: Path) -> None:
        sys.path.insert(0, str(generated("py", folder) / "gen-py"))
        try:
            self.types = importlib.import_module("aragog_urlstore.ttypes")
            self.services = {
                name: importlib.import_module(f"aragog_urlstore.{name}")
                for name in ("UrlStore", "Fetcher", "PinLater", "Zen")
            }
        finally:
            sys.path.pop(0)

    @contextmanager
    def client(self, port: int, service: str = "UrlStore", sock: Any = None) -> Iterator[Any]:
        """Open a client of one service on its own connection."""
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
        from thrift.transport.TSocket import TSocket
        from thrift.transport.TTransport import TFramedTransport

        plain = sock or TSocket("127.0.0.1", port)
        plain.setTimeout(TIMEOUT_S * 1000)
        transport = TFramedTransport(plain)
        protocol = TMultiplexedProtocol(TBinaryProtocol(transport), service)
        transport.open()
        try:
            yield self.services[service].Client(protocol)
        finally:
            transport.close()


class WithoutCompiler:
    """The same interface with thriftpy2, which needs no compiler."""

    def __init__(self) -> None:
        # A separate name, because the server's classes are not those of the client.
        self.types = thriftpy2.load(str(FILE), module_name="tests_urlstore_thrift")
        for kind in vars(self.types).values():
            if isinstance(kind, type) and issubclass(kind, TException):
                kind.__str__ = kind.__repr__  # with its fields, like Apache's

    @contextmanager
    def client(self, port: int, service: str = "UrlStore", sock: Any = None) -> Iterator[Any]:
        """Open a client of one service on its own connection. `sock` is one of Apache's."""
        plain = TSocket("127.0.0.1", port, socket_timeout=TIMEOUT_S * 1000)
        if sock is not None:
            sock.open()
            plain.set_handle(sock.handle)
        transport = TFramedTransport(plain)
        protocol = TMultiplexedProtocol(TBinaryProtocol(transport), service)
        if sock is None:
            transport.open()
        try:
            yield TClient(getattr(self.types, service), protocol)
        finally:
            transport.close()


@pytest.fixture(scope="session")
def apache(tmp_path_factory: pytest.TempPathFactory) -> Apache | WithoutCompiler:
    """Apache Thrift's Python client if its compiler is installed, else thriftpy2's."""
    if shutil.which("thrift") is None:
        return WithoutCompiler()
    return Apache(tmp_path_factory.mktemp("thrift"))
