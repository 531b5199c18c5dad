"""
Measure the servers on reads of a real store, with open-loop load.

    python -m bench.serving_thrift [--rates 0,12500,5000] [--http-rates 0,7500] [--seconds 4]
                                   [--peers]

SQLite with 20,000 pages, four fields of random pages. The server is pinned to one core, the load
generator (`bench.open_loop`) to another. Calls are sent at the times of a Poisson process, even if
earlier ones are unanswered, and latency counts from the intended time. A rate of 0 means a closed
loop, which gives the maximum. CPU is that of the server process; its inverse is the maximum rate of
one core.

`own p99` is the latency that the generator itself added, `others` the share of the machine that
other programs used. If they are not small, the latencies say little about the server. On a machine
with other load, root can give the measurement priority: `chrt -f 5 python -m bench.serving_thrift`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.transport import TCyMemoryBuffer

from aragog.api.server.thrift.contract import CALL, idl, message_header
from aragog.api.server.thrift.wire import frame
from bench import figures
from bench.open_loop import IsComplete, busy_s, divide_cores, http_reply, run, thrift_reply
from bench.quick import add_quick
from bench.serving import FIELDS, PAGES, cpu_s, fill, url

BATCH = 100
MAX_START_S = 30


def message(name: str, arguments: object) -> bytes:
    """Return a call in its frame."""
    buffer = TCyMemoryBuffer()
    TCyBinaryProtocol(buffer).write_struct(arguments)
    return frame(message_header(CALL, name.encode()), b"\0\0\0\1", buffer.getvalue())


def random_get() -> bytes:
    """Return a `get` of a random page."""
    page = url(random.randrange(PAGES))
    return message("get", idl.UrlStore.get_args(page, list(FIELDS), idl.ReadOptions()))


def random_batch() -> bytes:
    """Return a `getMany` of random pages."""
    pages = [url(random.randrange(PAGES)) for _ in range(BATCH)]
    return message("getMany", idl.UrlStore.getMany_args(pages, list(FIELDS), idl.ReadOptions()))


def random_http_get() -> bytes:
    """Return the same call as `random_get` over HTTP."""
    page = quote(url(random.randrange(PAGES)), safe="")
    target = f"/v1/urls?url={page}&fields={','.join(FIELDS)}&include="
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


class Row(NamedTuple):
    """The results of one run, times in ms."""

    cpu_us: float
    rate: float
    p50: float
    p99: float
    p999: float
    own_p99: float
    """The part of the latency caused by the generator."""
    others: float
    """Share of the machine used by other programs."""


@contextmanager
def serving(name: str, folder: Path, core: int) -> Iterator[tuple[int, int]]:
    """
    Run a server in a separate process, pinned to that core if `taskset` exists; yields port and
    pid.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
        port = sock.getsockname()[1]
        command = [sys.executable, "-m", "bench.serving_peers.serve", name, str(folder)]
        if shutil.which("taskset"):
            command = ["taskset", "-c", str(core), *command]
        server = subprocess.Popen([*command, str(sock.fileno())], pass_fds=[sock.fileno()])
    try:
        yield port, server.pid
    finally:
        server.kill()
        server.wait()


def measure(port: int, pid: int, load: Load, rate: float, seconds: float) -> Row:
    """Run the load against a server."""
    before, cpu_before_s, own_s = busy_s(), cpu_s(pid), time.process_time()
    result = run(port, *load[:2], rate=rate, seconds=seconds, connections=load.connections)
    used_s, own_s = cpu_s(pid) - cpu_before_s, time.process_time() - own_s
    busy, total = (now - earlier for now, earlier in zip(busy_s(), before, strict=True))
    count = len(result.latencies_s)
    return Row(
        used_s / count * 1e6,
        count / result.took_s,
        result.p(0.5),
        result.p(0.99),
        result.p(0.999),
        result.p(0.99, result.own_s),
        max(0.0, busy - used_s - own_s) / total,
    )


class Load(NamedTuple):
    """What is sent, and on how many connections."""

    calls: list[bytes]
    is_complete: IsComplete
    connections: int


def warm_up(port: int, load: Load) -> None:
    """Wait until the server answers, and have it read every page once or twice."""
    deadline_s = time.monotonic() + MAX_START_S
    while time.monotonic() < deadline_s:
        try:
            run(port, *load[:2], rate=0, seconds=1.5, connections=load.connections)
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", default="0,12500,5000")
    parser.add_argument("--http-rates", default="0,7500")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--peers", action="store_true")
    add_quick(parser, rates="0,500", http_rates="0,200", seconds=0.5)
    options = parser.parse_args()
    core = divide_cores()
    gets = Load([random_get() for _ in range(20_000)], thrift_reply, options.connections)
    batches = Load([random_batch() for _ in range(400)], thrift_reply, 4)
    requests = Load([random_http_get() for _ in range(20_000)], http_reply, options.connections)
    rates, http_rates = (
        list(map(float, r.split(","))) for r in (options.rates, options.http_rates)
    )
    plan = [("thrift", "get", gets, rates), ("thrift", f"getMany({BATCH})", batches, [0])]
    plan += [("aragog", "HTTP", requests, http_rates)]
    if options.peers:
        plan += [("thriftpy2-threaded", "get", gets, rates)]
        plan += [(peer, "HTTP", requests, [0]) for peer in ("uvicorn-httptools", "hand-written")]
    headings = ("CPU us", "calls/s", "p50 ms", "p99 ms", "p99.9 ms", "own p99", "others")
    print(f"{'server':32}", *(f"{heading:>9}" for heading in headings))
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name))
        for server, call, load, server_rates in plan:
            with serving(server, Path(name), core) as (port, pid):
                warm_up(port, load)
                for rate in server_rates:
                    row = measure(port, pid, load, rate, options.seconds)
                    label = f"{server} {call} {f'{rate:.0f}/s' if rate else 'closed'}"
                    numbers = "{:9.1f} {:9.0f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.0%}"
                    print(f"{label:32}", numbers.format(*row), flush=True)
                    if (load, rate) == (gets, 0) and server == "thrift":
                        figures.report(api_get=row.cpu_us / 1000)
                if load is batches:
                    print(f"{'':32} {row.cpu_us / BATCH:9.2f} us of CPU per URL")


if __name__ == "__main__":
    main()
