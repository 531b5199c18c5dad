"""
Measure an application's graph: directly, over Thrift and over HTTP.

    python -m bench.zen [--engine sqlite|postgres|hbase] [--boards 2000] [--pins 50] [--seconds 3]

Boards contain pins (type 17), users follow boards (type 16, counted), a hub has 10,000 followers.
Calls are made directly, one by one; then by `bench.open_loop` over each protocol, on 16
connections, at the server's maximum rate and at half of it, which gives the latencies. The server
is one process on its own core, the load generator on another; the servers of PostgreSQL and HBase
share these cores. `own p99` is the latency that the generator itself added.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
import uvloop

from aragog.api.operations.operation import Parts
from aragog.api.server.http.app import Api
from aragog.api.server.http.server import run
from aragog.api.server.http.services import Services
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.handlers import services
from aragog.api.server.thrift.server import ThriftServer
from aragog.bootstrap.graphs import application_graphs, graph_tables
from aragog.settings import ServingSettings, StoreSettings, load_settings
from aragog.standalone.postgres_server import PostgresServer
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from bench.open_loop import divide_cores, http_reply, thrift_reply
from bench.quick import add_quick
from bench.serving_thrift import Load, measure, message, warm_up
from urlspelling import url_key
from zengraph import IN, OUT, EdgeKey, Graph, NewEdge
from zengraph.tables.memory import MemoryTables

FOLLOWS, HOLDS = 16, 17
FOLLOWERS = 10_000
BOARDS_PER_USER = 10
BATCH = 500
CONNECTIONS = 16
GRAPH_SETTINGS = {
    "ARAGOG_STORE__GRAPHS": "pins",
    "ARAGOG_STORE__GRAPH_INDEXED": "pins:pin.site",
    "ARAGOG_STORE__GRAPH_COUNTED": "pins:16",
}


@contextmanager
def engine(name: str) -> Iterator[dict[str, str]]:
    """Yield the settings of an empty graph on an engine, whose server runs in the meantime."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        environ = {**GRAPH_SETTINGS, "ARAGOG_DATA_DIR": folder, "ARAGOG_STORE__ENGINE": name}
        if name == "postgres":
            with PostgresServer(Path(folder)) as server:
                yield {**environ, "ARAGOG_STORE__DSN": server.dsn}
        elif name == "hbase":
            from deploy.hbase.server import HBaseServer

            hbase = HBaseServer(Path(folder))
            try:
                hbase.start()
                yield {**environ, "ARAGOG_STORE__HBASE_GATEWAYS": ",".join(hbase.gateways)}
            finally:
                hbase.kill()
        else:
            yield environ


def fill(graph: Graph, boards: int, pins: int) -> None:
    """Fill the graph, and print how fast edges were put in batches."""
    nodes = [(url_key(f"pin:{n}"), {"pin.site": b"site %d" % (n % 997)}) for n in range(boards * 5)]
    for start in range(0, len(nodes), BATCH):
        graph.put_nodes(nodes[start : start + BATCH])
    edges = [
        NewEdge(EdgeKey(board(n), HOLDS, pin(random.randrange(boards * 5))), 1_700_000_000_000 + k)
        for n in range(boards)
        for k in range(pins)
    ]
    edges += [
        NewEdge(EdgeKey(user(n), FOLLOWS, board(random.randrange(boards))), k)
        for n in range(boards)
        for k in range(BOARDS_PER_USER)
    ]
    edges += [NewEdge(EdgeKey(user(n), FOLLOWS, HUB), n) for n in range(FOLLOWERS)]
    started_s = time.perf_counter()
    for start in range(0, len(edges), BATCH):
        graph.put_edges(edges[start : start + BATCH])
    took_s = time.perf_counter() - started_s
    print(f"{len(edges)} edges in batches of {BATCH}: {len(edges) / took_s:.0f} edges/s")


def user(number: int) -> bytes:
    """Return the id of a user."""
    return url_key(f"user:{number}")


def board(number: int) -> bytes:
    """Return the id of a board."""
    return url_key(f"board:{number}")


def pin(number: int) -> bytes:
    """Return the id of a pin."""
    return url_key(f"pin:{number}")


HUB = url_key("hub")


class Calls(NamedTuple):
    """One kind of call in each form, with random arguments."""

    direct: Callable[[], object]
    thrift: Callable[[], bytes]
    http: Callable[[], bytes] | None


def zen(method: str, *arguments: Any, **options: Any) -> bytes:
    """Return a call of the service Zen in its frame."""
    kind = getattr(idl.Zen, f"{method}_args")
    *_, last = kind.thrift_spec.values()
    return message(f"Zen:{method}", kind(*arguments, last[2](graph="pins", **options)))


def get(path: str, **query: Any) -> bytes:
    """Return a GET request."""
    target = f"/v1/{path}?{urlencode({'graph': 'pins', **query})}"
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, **members: Any) -> bytes:
    """Return a POST request."""
    body = orjson.dumps({"graph": "pins", **members})
    head = f"POST /v1/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def calls(graph: Graph, boards: int) -> dict[str, Calls]:
    """Return the calls to measure."""

    def any_of(id_of: Callable[[int], bytes], count: int) -> bytes:
        return id_of(random.randrange(count))

    some_board, some_pin = partial(any_of, board, boards), partial(any_of, pin, boards * 5)

    def two_hops() -> None:
        for follows in graph.edges(any_of(user, boards), OUT, FOLLOWS, BOARDS_PER_USER + 1).items:
            graph.edges(follows.other, OUT, HOLDS, 5, reverse=True)

    def site() -> bytes:
        return b"site %d" % random.randrange(997)

    def new() -> tuple[bytes, bytes]:
        return user(random.randrange(2**60)), some_board()

    def put() -> None:
        source, target = new()
        graph.put_edge(source, FOLLOWS, target, score=1)

    def put_frame() -> bytes:
        source, target = new()
        return zen("putEdge", source.hex(), FOLLOWS, target.hex(), score=1)

    return {
        "get_node": Calls(
            lambda: graph.get_node(some_pin()),
            lambda: zen("getNode", some_pin().hex(), []),
            lambda: get("nodes", node=some_pin().hex()),
        ),
        "edges, 20 newest": Calls(
            lambda: graph.edges(some_board(), OUT, HOLDS, 20, reverse=True),
            lambda: zen("edges", some_board().hex(), HOLDS, "out", 20, "", reverse=True),
            lambda: get("edges", node=some_board().hex(), type=HOLDS, limit=20, reverse="true"),
        ),
        "edges, 100 followers of the hub": Calls(
            lambda: graph.edges(HUB, IN, FOLLOWS, 100),
            lambda: zen("edges", HUB.hex(), FOLLOWS, "in", 100, ""),
            lambda: get("edges", node=HUB.hex(), type=FOLLOWS, limit=100, direction="in"),
        ),
        "count_edges of the hub": Calls(
            lambda: graph.count_edges(HUB, IN, FOLLOWS),
            lambda: zen("countEdges", HUB.hex(), FOLLOWS, "in"),
            lambda: get("edges:count", node=HUB.hex(), type=FOLLOWS, direction="in"),
        ),
        "lookup, 10 of a site": Calls(
            lambda: graph.lookup("pin.site", site(), 10),
            lambda: zen("lookup", "pin.site", site(), 10, ""),
            lambda: post("nodes:lookup", name="pin.site", value=site().decode(), limit=10),
        ),
        "two hops, 11 calls": Calls(two_hops, lambda: b"", None),
        "put_edge, new and counted": Calls(put, put_frame, None),
    }


def direct_ms(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Return (p50, p99) of calls one by one."""
    times, deadline_s = [], time.perf_counter() + seconds
    while time.perf_counter() < deadline_s:
        started_s = time.perf_counter()
        call()
        times.append(time.perf_counter() - started_s)
    times.sort()
    return times[len(times) // 2] * 1000, times[int(len(times) * 0.99)] * 1000


def serve(protocol: str, sock: socket.socket) -> None:
    """Serve the graph of the settings in the environment."""
    store = UrlStore(MemoryTables(), MemoryContent(), StoreSettings())
    settings = load_settings()
    graphs = application_graphs(settings)
    for name in graphs.names:
        graphs[name].count_edges(HUB, IN, FOLLOWS)
    embedded = settings.store.is_embedded
    gc.collect()
    gc.freeze()
    if protocol == "http":
        serving = ServingSettings(deadline_ms=20_000, max_in_flight=1024)
        run(Api(store, serving, Services(graphs=graphs, embedded=embedded)), serving, sock)
        return

    async def start() -> None:
        serving = ServingSettings(deadline_ms=20_000, max_in_flight=1024)
        parts = Parts(store=store, graphs=graphs)
        await ThriftServer(services(parts), serving, embedded=embedded).start(sock)
        await asyncio.Event().wait()

    uvloop.run(start())


@contextmanager
def server(protocol: str, environ: dict[str, str], core: int) -> Iterator[tuple[int, int]]:
    """Run `serve` in a process on that core; yields its port and pid."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
        port = sock.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "bench.zen",
            "--serve",
            protocol,
            "--fd",
            str(sock.fileno()),
        ]
        if shutil.which("taskset"):
            command = ["taskset", "-c", str(core), *command]
        process = subprocess.Popen(command, pass_fds=[sock.fileno()], env={**os.environ, **environ})
    try:
        yield port, process.pid
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", "postgres", "hbase"), default="sqlite")
    parser.add_argument("--boards", type=int, default=2000)
    parser.add_argument("--pins", type=int, default=50, help="pins of a board")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--serve", choices=("thrift", "http"), help=argparse.SUPPRESS)
    parser.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    add_quick(parser, boards=50, pins=5, seconds=0.2)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, socket.socket(fileno=options.fd))
        return
    with engine(options.engine) as environ:
        settings = load_settings(None, environ)
        with closing(graph_tables(settings, "pins")) as tables:
            tables.create()
        core = divide_cores()
        with closing(application_graphs(settings)) as graphs:
            fill(graphs["pins"], options.boards, options.pins)
            calls_by_name = calls(graphs["pins"], options.boards)
            print(f"{'directly':44} {'p50 ms':>8} {'p99 ms':>8}")
            for name, call in calls_by_name.items():
                numbers = direct_ms(call.direct, options.seconds)
                print(f"{name:44} {numbers[0]:8.3f} {numbers[1]:8.3f}", flush=True)
        headings = ("CPU us", "calls/s", "half", "p50 ms", "p99 ms", "own p99")
        for protocol in ("thrift", "http"):
            print(f"{protocol:44}", *(f"{heading:>8}" for heading in headings))
            with server(protocol, environ, core) as (port, pid):
                measure_over_protocol(protocol, port, pid, calls_by_name, options.seconds)


def measure_over_protocol(
    protocol: str, port: int, pid: int, calls_by_name: dict[str, Calls], seconds: float
) -> None:
    """Measure all calls over a protocol."""
    for name, call in calls_by_name.items():
        make = call.thrift if protocol == "thrift" else call.http
        if make is None or not make():
            continue
        is_complete = thrift_reply if protocol == "thrift" else http_reply
        load = Load(
            [make() for _ in range(20_000 if "put" in name else 2000)], is_complete, CONNECTIONS
        )
        if "put" not in name:
            warm_up(port, load)
        at_maximum = measure(port, pid, load, 0, seconds)
        at_half = measure(port, pid, load, at_maximum.rate / 2, seconds)
        print(
            f"{name:44} {at_maximum.cpu_us:8.0f} {at_maximum.rate:8.0f} {at_maximum.rate / 2:8.0f} {at_half.p50:8.2f} "
            f"{at_half.p99:8.2f} {at_half.own_p99:8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
