"""
Measure `get` through Thrift at half load while the store is written and compacted beside it.

    python -m bench.busy_reads [--engine sqlite|postgres|hbase] [--pages 5000] [--seconds 5]

The server is one process on one core, the load generator (`bench.open_loop`) on another. First as
many calls as the server can make, then half of that rate with nothing beside it, with a writer
(`--writes` pages of 185 links a second, in batches of 25), and with a compactor of the links as
well. Writer and compactor run on any core with ordinary priority, also under `chrt -f 5`; on two
cores they, and the servers of PostgreSQL and HBase, take the server's own time; `others` is the share of the machine that was not the server's or the
generator's. Latency counts from the intended time of a call. Last, the CPU of a getMany of 100.
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
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import uvloop

from aragog.api.operation import Parts
from aragog.api.thrift.contract import idl
from aragog.api.thrift.handlers import services
from aragog.api.thrift.server import ThriftServer
from aragog.bootstrap.stores import tables, url_store
from aragog.settings import ServingSettings, load_settings
from bench.open_loop import divide_cores, thrift_reply
from bench.quick import add_quick
from bench.serving_thrift import BATCH, Load, measure, message, warm_up
from bench.urlstore import FIELDS, pages_of
from bench.zen import engine

CONNECTIONS = 64
WRITTEN = 25
MOST_CHANGED = 1000
WRITE, COMPACT = "write", "compact"


def role(name: str, sock: socket.socket | None, writes: int, pages: int) -> None:
    """The server, the writer or the compactor, over the store of the environment."""
    settings = load_settings()
    store = url_store(settings)
    if name == "serve" and sock is not None:
        gc.collect()
        gc.freeze()
        uvloop.run(serve(Parts(store=store), sock, embedded=settings.store.is_embedded))
    if name == WRITE:
        changed = pages_of(min(pages, MOST_CHANGED), seed=2)
        next_s, written = time.monotonic(), 0
        while True:
            now_ms = time.time_ns() // 1_000_000
            some = random.choices(changed, k=WRITTEN)
            store.write_pages([replace(page, fetched_at_ms=now_ms) for page in some])
            written += WRITTEN
            (settings.data_dir / WRITE).write_text(str(written))
            next_s = max(next_s + WRITTEN / writes, time.monotonic() - 1)
            time.sleep(max(0.0, next_s - time.monotonic()))
    compacted = 0
    while True:
        report = store.maintenance.compact_links(200)
        compacted += report.journal_rows
        (settings.data_dir / COMPACT).write_text(str(compacted))
        if not report.left:
            time.sleep(0.1)


def done(environ: dict[str, str], name: str) -> int:
    """How many pages a writer has written, or how many rows a compactor has compacted."""
    with suppress(OSError, ValueError):
        return int((Path(environ["ARAGOG_DATA_DIR"]) / name).read_text())
    return 0


async def serve(parts: Parts, sock: socket.socket, *, embedded: bool) -> None:
    """Serve until the process is killed."""
    settings = ServingSettings(deadline_ms=20_000)
    await ThriftServer(services(parts), settings, embedded=embedded).start(sock)
    await asyncio.Event().wait()


@contextmanager
def running(
    name: str, environ: dict[str, str], core: int | None, *arguments: str, fd: int | None = None
) -> Iterator[int]:
    """A process of that role: its pid."""
    command = [sys.executable, "-m", "bench.busy_reads", "--role", name, *arguments]
    if shutil.which("taskset"):
        cores = str(core) if core is not None else f"0-{(os.cpu_count() or 1) - 1}"
        command = ["taskset", "-c", cores, *command]
    if core is None and shutil.which("chrt"):
        command = ["chrt", "-o", "0", *command]
    process = subprocess.Popen(
        command, env=os.environ | environ, pass_fds=[] if fd is None else [fd]
    )
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def loads(pages: int) -> tuple[Load, Load]:
    """Calls of `get` and of getMany, of random pages."""
    urls = [page.url for page in pages_of(40)]
    urls = [
        url.replace("site0", f"site{n // 40}") for n, url in enumerate(urls * (pages // 40 or 1))
    ]
    options = idl.ReadOptions()
    gets = [
        message("get", idl.UrlStore.get_args(random.choice(urls), FIELDS, options))
        for _ in range(20_000)
    ]
    batches = [
        message(
            "getMany", idl.UrlStore.getMany_args(random.choices(urls, k=BATCH), FIELDS, options)
        )
        for _ in range(400)
    ]
    return Load(gets, thrift_reply, CONNECTIONS), Load(batches, thrift_reply, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("sqlite", "postgres", "hbase"), default="sqlite")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--writes", type=int, default=50, help="pages a second")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--role", choices=("serve", "write", "compact"), help=argparse.SUPPRESS)
    parser.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    add_quick(parser, pages=100, seconds=0.3)
    options = parser.parse_args()
    if options.role:
        sock = None if options.fd is None else socket.socket(fileno=options.fd)
        role(options.role, sock, options.writes, options.pages)
        return
    with engine(options.engine) as environ, ExitStack() as stack:
        settings = load_settings(None, environ)
        with closing(tables(settings)) as opened:
            opened.create()
        with closing(url_store(settings)) as store:
            for first in range(0, options.pages, WRITTEN):
                store.write_pages(pages_of(WRITTEN, first=first))
            while store.maintenance.compact_links(1000).left:
                pass
        core = divide_cores()
        sock = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
        fd = sock.fileno()
        pid = stack.enter_context(running("serve", environ, core, "--fd", str(fd), fd=fd))
        report(sock.getsockname()[1], pid, environ, options, stack)


def report(
    port: int, pid: int, environ: dict[str, str], options: argparse.Namespace, stack: ExitStack
) -> None:
    """Measure, and print a row for each condition."""
    gets, batches = loads(options.pages)
    warm_up(port, gets)
    heads = (
        "CPU us",
        "calls/s",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "own p99",
        "others",
        "writes/s",
        "compacted",
    )
    print(f"{options.engine:34}", *(f"{head:>9}" for head in heads), flush=True)

    def row(what: str, load: Load, rate: float) -> float:
        before = done(environ, WRITE), done(environ, COMPACT), time.monotonic()
        found = measure(port, pid, load, rate, options.seconds)
        numbers = "{:9.1f} {:9.0f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.0%}"
        took_s = time.monotonic() - before[2]
        beside = [
            (done(environ, name) - n) / took_s
            for name, n in zip((WRITE, COMPACT), before, strict=False)
        ]
        print(f"{what:34}", numbers.format(*found), "{:8.0f} {:8.0f}".format(*beside), flush=True)
        return found.rate

    half = row("get, closed loop", gets, 0) / 2
    row("get, half of it, nothing beside", gets, half)
    arguments = ("--writes", str(options.writes), "--pages", str(options.pages))
    stack.enter_context(running(WRITE, environ, None, *arguments))
    time.sleep(min(3.0, options.seconds * 3))  # it imports and makes its pages
    row(f"with {options.writes} pages/s written", gets, half)
    stack.enter_context(running(COMPACT, environ, None))
    time.sleep(min(2.0, options.seconds * 3))
    row("and compaction", gets, half)
    row(f"getMany of {BATCH}, closed loop", batches, 0)


if __name__ == "__main__":
    main()
