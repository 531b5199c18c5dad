"""
Measure hedged reads: a primary that stalls 1% of its reads by 100 ms, with and without a standby.

    python -m bench.hedging [--reads 8000] [--threads 4] [--stalls 0.01]
    python -m bench.hedging --gateways HOST:PORT HOST:PORT

Two stores share a SQLite folder, and each read is preceded by a pause of about 1 ms, as over a
network. With `--gateways` both stores are HBase through these gateways, and the primary's reads are
delayed by 100 ms equally often. Latency is measured in a closed loop of several threads.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from aragog.api.server.hedging import HedgedReads
from aragog.bootstrap.stores import hbase_tables
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from bench.quick import add_quick
from bench.serving import FIELDS, PAGES, fill, url
from zengraph.tables import CellTable, Tables

STALL_S = 0.1


class SlowTable:
    """A table whose reads take a while and sometimes stall. Other calls go to the real table."""

    def __init__(self, table: CellTable, wait) -> None:
        self._table = table
        self._wait = wait

    def __getattr__(self, name: str):
        return getattr(self._table, name)

    def get(self, row, columns=None):
        self._wait()
        return self._table.get(row, columns)

    def get_many(self, rows, columns=None):
        self._wait()
        return self._table.get_many(rows, columns)

    def values_many(self, rows, columns):
        self._wait()
        return self._table.values_many(rows, columns)


class SlowTables(Tables):
    """Tables whose reads take a while."""

    def __init__(self, tables: Tables, wait) -> None:
        self._tables = tables
        self._slow = SlowTable(tables["n"], wait)

    def __getitem__(self, name: str):
        return self._slow if name == "n" else self._tables[name]


def random_pauses(usual_s: float, stalls: float):
    """Return a function that pauses for about `usual_s`, plus 100 ms for a share of the calls."""

    def wait() -> None:
        pause_s = random.lognormvariate(0, 0.3) * usual_s
        time.sleep(pause_s + (STALL_S if random.random() < stalls else 0))

    return wait


def measure(read, reads: int, threads: int) -> tuple[list[float], float]:
    """Return latencies in ms, and CPU in us per read."""
    latencies: list[float] = []
    pages = [url(random.randrange(PAGES)) for _ in range(1000)]

    def work() -> None:
        for _ in range(reads // threads):
            urls = (random.choice(pages),)
            started_s = time.perf_counter()
            read(lambda store, urls=urls: store.pages.values(urls, FIELDS))
            latencies.append((time.perf_counter() - started_s) * 1000)

    before_s = time.process_time()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return latencies, (time.process_time() - before_s) / len(latencies) * 1e6


def print_row(name: str, latencies: list[float], cpu_us: float, extra: str) -> None:
    cuts = statistics.quantiles(latencies, n=1000)
    print(f"{name:14} {cuts[499]:8.2f} {cuts[989]:8.2f} {cuts[998]:8.2f} {cpu_us:8.0f}  {extra}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reads", type=int, default=8000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--stalls", type=float, default=0.01)
    parser.add_argument("--gateways", nargs=2)
    add_quick(parser, reads=400, threads=2)
    options = parser.parse_args()
    settings = StoreSettings()
    with tempfile.TemporaryDirectory() as folder:
        if options.gateways:
            stores = [
                hbase_tables(StoreSettings(hbase_gateways=(gateway,)))
                for gateway in options.gateways
            ]
            stores[0].create()
            store = UrlStore(stores[0], MemoryContent(), settings)
            for number in range(PAGES):
                store.put(url(number), dict.fromkeys(FIELDS, b"x"))
            usual_s = 0.0
        else:
            from zengraph.tables.sqlite import SqliteTables

            fill(Path(folder))
            stores = [SqliteTables(Path(folder), shards=16) for _ in range(2)]
            usual_s = 0.001
        pauses = (random_pauses(usual_s, options.stalls), random_pauses(usual_s, 0))
        primary, standby = (
            UrlStore(SlowTables(tables, pause), MemoryContent(), settings)
            for tables, pause in zip(stores, pauses, strict=True)
        )
        print(f"{'':14} {'p50 ms':>8} {'p99 ms':>8} {'p99.9 ms':>8} {'CPU us':>8}")
        print_row(
            "primary only",
            *measure(lambda call: call(primary), options.reads, options.threads),
            "",
        )
        hedged = HedgedReads(primary, standby, threads=4 * options.threads)
        result = measure(hedged.read, options.reads, options.threads)
        policy = hedged.policy
        extra = (policy.hedged + policy.mirrored) / policy.reads
        notes = f"{extra:.2%} extra reads, delay {policy.delay_s * 1000:.1f} ms"
        print_row("hedged", *result, notes)
        hedged.close()


if __name__ == "__main__":
    main()
