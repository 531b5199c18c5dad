"""
Measure `get` through Thrift at half load while the store is written and compacted.

    python -m bench.busy_reads [--engine sqlite|postgres|hbase] [--pages 5000] [--seconds 5]
        [--nice 10] [--zipf 1.0 --cache-s 1,10]

The server is one process on one core, the load generator (`bench.open_loop`) on another. First as
many calls as the server can handle; then as many per second as keep its core half busy (or
`--rate`), alone, with a writer (`--writes` pages of 185 links per second, in batches of 25), and
with a compactor of the links as well; last, the CPU of a getMany of 100. Half of the maximum rate
would keep the core nearly full, because waiting calls are handled together. Writer and compactor
run on any core with the niceness of `--nice`; they and the servers of PostgreSQL and HBase have
ordinary priority, also under `chrt -f 5`. Without `chrt` they take CPU from the server on two
cores. With `--zipf` the popularity of pages follows that exponent, and `--cache-s` repeats the last
condition with servers that cache reads for these times.

Latency counts from the intended time of a call. `busy` is the share of a core that the server used.
`waits` is how long its threads waited for the core, by the kernel's count, in µs per call: for
other programs and for each other, or under `chrt -f 5` only for each other. `own p99` is what the
generator added. `others` is the share of the machine used by neither the server nor the generator,
including writer and compactor.
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

from aragog.api.operations.operation import Parts
from aragog.api.server.thrift.contract import idl
from aragog.api.server.thrift.handlers import services
from aragog.api.server.thrift.server import ThriftServer
from aragog.bootstrap.stores import serving_store, tables, url_store
from aragog.observability.instruments import READ_CACHE_READS
from aragog.settings import ServingSettings, load_settings
from bench.open_loop import divide_cores, thrift_reply
from bench.quick import add_quick
from bench.serving_thrift import BATCH, Load, measure, message, warm_up
from bench.urlstore import FIELDS, pages_of
from bench.zen import engine

CONNECTIONS = 64
WRITE_BATCH = 25
MAX_CHANGED_PAGES = 1000
WRITE, COMPACT = "write", "compact"
HIT, MISS = "hit", "miss"
_COUNT_EVERY_S = 0.25


def run_role(name: str, sock: socket.socket | None, writes: int, pages: int) -> None:
    """Run the server, the writer or the compactor, with the store of the environment."""
    settings = load_settings()
    if name == "serve" and sock is not None:
        store = serving_store(settings)
        gc.collect()
        gc.freeze()
        parts, embedded = Parts(store=store), settings.store.is_embedded
        uvloop.run(serve(parts, sock, settings.data_dir, embedded=embedded))
    store = url_store(settings)
    if name == WRITE:
        changed = pages_of(min(pages, MAX_CHANGED_PAGES), seed=2)
        next_s, written = time.monotonic(), 0
        while True:
            now_ms = time.time_ns() // 1_000_000
            batch = random.choices(changed, k=WRITE_BATCH)
            store.write_pages([replace(page, fetched_at_ms=now_ms) for page in batch])
            written += WRITE_BATCH
            (settings.data_dir / WRITE).write_text(str(written))
            next_s = max(next_s + WRITE_BATCH / writes, time.monotonic() - 1)
            time.sleep(max(0.0, next_s - time.monotonic()))
    compacted = 0
    while True:
        report = store.maintenance.compact_links(200)
        compacted += report.journal_rows
        (settings.data_dir / COMPACT).write_text(str(compacted))
        if not report.left:
            time.sleep(0.1)


def read_count(environ: dict[str, str], name: str) -> int:
    """Return the number of pages, rows or reads that a process has written under that name."""
    with suppress(OSError, ValueError):
        return int((Path(environ["ARAGOG_DATA_DIR"]) / name).read_text())
    return 0


async def serve(parts: Parts, sock: socket.socket, counts: Path, *, embedded: bool) -> None:
    """Serve until the process is killed."""
    settings = ServingSettings(deadline_ms=20_000)
    await ThriftServer(services(parts), settings, embedded=embedded).start(sock)
    while True:
        for name in (HIT, MISS):
            (counts / name).write_text(str(READ_CACHE_READS.labels(name).read().get("", 0)))
        await asyncio.sleep(_COUNT_EVERY_S)


def run_delay_s(pid: int) -> float:
    """Return how long the threads of a process have waited for a core since they started."""
    waited_ns = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread ended
            waited_ns += int(path.read_text().split()[1])
    return waited_ns / 1e9


@contextmanager
def run_process(
    name: str,
    environ: dict[str, str],
    core: int | None,
    *arguments: str,
    fd: int | None = None,
    nice: int = 0,
) -> Iterator[int]:
    """Run a process with that role and yield its pid."""
    command = [sys.executable, "-m", "bench.busy_reads", "--role", name, *arguments]
    if shutil.which("taskset"):
        cores = str(core) if core is not None else f"0-{(os.cpu_count() or 1) - 1}"
        command = ["taskset", "-c", cores, *command]
    if core is None and shutil.which("chrt"):
        command = ["chrt", "-o", "0", *command]
    if nice:
        command = ["nice", "-n", str(nice), *command]
    process = subprocess.Popen(
        command, env=os.environ | environ, pass_fds=[] if fd is None else [fd]
    )
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextmanager
def ordinary_priority() -> Iterator[None]:
    """
    Give ordinary priority to processes started in this block, even under `chrt`.

    A store server that inherited a real-time priority would run the compactor's statements at the
    priority of the API process, which would then wait 3 to 6 ms for each of them.
    """
    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameters)


def loads(pages: int, zipf: float) -> tuple[Load, Load]:
    """
    Return calls of `get` and of getMany for random pages. Page n is requested 1/n^zipf
    as often.
    """
    urls = [page.url for page in pages_of(40)]
    urls = [
        url.replace("site0", f"site{n // 40}") for n, url in enumerate(urls * (pages // 40 or 1))
    ]
    random.shuffle(urls)
    weights = [1 / rank**zipf for rank in range(1, len(urls) + 1)]
    options = idl.ReadOptions()
    gets = [
        message("get", idl.UrlStore.get_args(url, FIELDS, options))
        for url in random.choices(urls, weights, k=20_000)
    ]
    batches = [
        message(
            "getMany",
            idl.UrlStore.getMany_args(random.choices(urls, weights, k=BATCH), FIELDS, options),
        )
        for _ in range(400)
    ]
    return Load(gets, thrift_reply, CONNECTIONS), Load(batches, thrift_reply, 4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", choices=("sqlite", "postgres", "hbase"), default="sqlite")
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--writes", type=int, default=50, help="pages a second")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--nice", type=int, default=0, help="of writer and compactor")
    parser.add_argument("--rate", type=float, default=0.0, help="calls/s; 0: for half a core")
    parser.add_argument("--zipf", type=float, default=0.0, help="exponent; 0: all pages alike")
    parser.add_argument("--cache-s", default="", help="ages of caches, such as 1,10")
    parser.add_argument("--role", choices=("serve", "write", "compact"), help=argparse.SUPPRESS)
    parser.add_argument("--fd", type=int, help=argparse.SUPPRESS)
    add_quick(parser, pages=100, seconds=0.3)
    options = parser.parse_args()
    if options.role:
        sock = None if options.fd is None else socket.socket(fileno=options.fd)
        run_role(options.role, sock, options.writes, options.pages)
        return
    with ExitStack() as stack:
        with ordinary_priority():
            environ = stack.enter_context(engine(options.engine))
        settings = load_settings(None, environ)
        with closing(tables(settings)) as store_tables:
            store_tables.create()
        with closing(url_store(settings)) as store:
            for first in range(0, options.pages, WRITE_BATCH):
                store.write_pages(pages_of(WRITE_BATCH, first=first))
            while store.maintenance.compact_links(1000).left:
                pass
        print_conditions(options)
        Rows(environ, options, divide_cores()).measure_all(stack)


def print_conditions(options: argparse.Namespace) -> None:
    """Print what a reader needs to compare the figures."""
    policies = {os.SCHED_OTHER: "ordinary", os.SCHED_FIFO: "real-time"}
    policy = policies.get(os.sched_getscheduler(0), "another")
    print(
        f"{options.engine}, {options.pages} pages, {os.cpu_count()} cores, load average "
        f"{os.getloadavg()[0]:.1f}; generator and server with {policy} priority, writer and "
        f"compactor with niceness {options.nice}; pages by Zipf's law with {options.zipf:g}"
    )
    headings = (
        "CPU us,calls/s,p50 ms,p99 ms,p99.9 ms,own p99,others,busy,waits us,writes/s,compacted,hits"
    )
    print(f"{'':34}", *(f"{heading:>9}" for heading in headings.split(",")), flush=True)


class Rows:
    """Measures one row per condition."""

    def __init__(self, environ: dict[str, str], options: argparse.Namespace, core: int) -> None:
        self._environ = environ
        self._options = options
        self._core = core

    def measure_all(self, stack: ExitStack) -> None:
        """Measure all conditions. What is started next to the server runs until the end."""
        options, common = self._options, (self._environ, None)
        gets, batches = loads(options.pages, options.zipf)
        with self._server(gets) as (port, pid):
            max_rate = 0.0 if options.rate else self._row("get, closed loop", port, pid, gets)
            half = options.rate or self._half_busy(port, pid, gets, max_rate)
            self._row(f"get, {half:.0f}/s, nothing else running", port, pid, gets, half)
            self._row(f"getMany of {BATCH}, closed, nothing else", port, pid, batches)
            arguments = ("--writes", str(options.writes), "--pages", str(options.pages))
            stack.enter_context(run_process(WRITE, *common, *arguments, nice=options.nice))
            time.sleep(min(3.0, options.seconds * 3))  # it imports modules and makes its pages
            self._row(f"get, {options.writes} pages/s written", port, pid, gets, half)
            stack.enter_context(run_process(COMPACT, *common, nice=options.nice))
            time.sleep(min(2.0, options.seconds * 3))
            self._row("get, and compaction", port, pid, gets, half)
            self._row(f"getMany of {BATCH}, closed loop", port, pid, batches)
        for age_s in filter(None, options.cache_s.split(",")):
            with self._server(gets, ARAGOG_SERVING__READ_CACHE_S=age_s) as (port, pid):
                self._row(f"get, cache of {age_s} s", port, pid, gets, half)
                self._row(f"get, cache of {age_s} s, closed loop", port, pid, gets)
                self._row(f"getMany, cache of {age_s} s, closed", port, pid, batches)

    def _half_busy(self, port: int, pid: int, gets: Load, max_rate: float) -> float:
        """Return the calls per second that keep the server's core half busy."""
        rate = max_rate / 4
        for _ in range(2):
            result = measure(port, pid, gets, rate, self._options.seconds / 2)
            rate = min(max_rate / 2, 0.5e6 / result.cpu_us)
        return rate

    @contextmanager
    def _server(self, gets: Load, **settings: str) -> Iterator[tuple[int, int]]:
        """Run a warmed-up server and yield its port and pid."""
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as sock:
            fd, environ = sock.fileno(), self._environ | settings
            with run_process("serve", environ, self._core, "--fd", str(fd), fd=fd) as pid:
                port = sock.getsockname()[1]
                warm_up(port, gets)
                yield port, pid

    def _row(self, label: str, port: int, pid: int, load: Load, rate: float = 0) -> float:
        """Measure and print one condition. Returns the calls per second."""
        names = (WRITE, COMPACT, HIT, MISS)
        before = [read_count(self._environ, name) for name in names]
        started_s, delay_s = time.monotonic(), run_delay_s(pid)
        result = measure(port, pid, load, rate, self._options.seconds)
        took_s, delay_s = time.monotonic() - started_s, run_delay_s(pid) - delay_s
        counts = [
            read_count(self._environ, name) - n for name, n in zip(names, before, strict=True)
        ]
        written, compacted, hits, misses = counts
        print(
            f"{label:34} {result.cpu_us:9.1f} {result.rate:9.0f} {result.p50:9.2f} {result.p99:9.2f} "
            f"{result.p999:9.2f} {result.own_p99:9.2f} {result.others:9.0%} "
            f"{result.cpu_us * result.rate / 1e6:9.0%} "
            f"{delay_s / (result.rate * took_s) * 1e6:9.1f} {written / took_s:9.0f} "
            f"{compacted / took_s:9.0f} {hits / max(1, hits + misses):9.0%}",
            flush=True,
        )
        return result.rate


if __name__ == "__main__":
    main()
