"""
Measure the effect of millions of jobs on a private PostgreSQL: latency, files, dead rows, memory.

    python -m bench.pinlater_bloat [--jobs 1000000] [--workers 10] [--batch 100] [--naptime 60]

Jobs are enqueued, and then worker processes claim and acknowledge them, one batch per call. A row
is printed at each tenth of the jobs: the rate, how long a claim took, the tables' files and dead
rows, and the memory of the server and its clients. The server uses PostgreSQL's defaults except for
`--naptime`, the seconds between two runs of autovacuum. At the end, a manual VACUUM shows how much
of the files it frees. `--jobs 5000000` needs 8 GB of disk.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from rich.console import Console
from rich.table import Table

from aragog.standalone.postgres_server import PostgresServer
from bench.pinlater_postgres import BODY, ENQUEUE_BATCH, shard_of, size_of, vacuum
from bench.quick import add_quick
from pinlater.models import ClaimRequest, NewJob
from pinlater.postgres.link import SqlCall

COUNT_DEAD_ROWS = SqlCall(
    "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = 'pinlater'"
)
MIB = 2**20
POLL_S = 0.5
console = Console(width=130)


def work(dsn, batch, number):
    """
    Claim and acknowledge until nothing is left.

    Returns the number of jobs, and the end time and duration in seconds of each claim.
    """
    shard, acknowledged, claims_s = shard_of(dsn), 0, []
    request = ClaimRequest(limit=batch, timeout_ms=600_000, worker=f"w{number}")
    while True:
        started_s = time.perf_counter()
        claims = shard.claim("q", request).claims
        claims_s.append((time.time(), time.perf_counter() - started_s))
        if not claims:
            break
        acknowledged += sum(shard.ack("q", [(claim.job_id, claim.token) for claim in claims]))
    shard.links.close()
    return acknowledged, claims_s


class Sample(NamedTuple):
    """The state of a run at one time."""

    at_s: float
    jobs: int
    files: int
    dead_rows: int
    server_bytes: int
    client_bytes: int


def resident_bytes(processes):
    """Return the memory of processes in bytes, counting shared memory once."""
    total = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total


def take_sample(shard, server, workers, jobs):
    [[(dead,)]] = shard.run_all([COUNT_DEAD_ROWS])
    postmaster = psutil.Process(server.process.pid)
    processes = [postmaster, *postmaster.children(recursive=True)]
    return Sample(
        time.time(), jobs, size_of(shard), dead, resident_bytes(processes), resident_bytes(workers)
    )  # fmt: skip


def print_samples(title, samples, claims_s=()):
    """Print a row for each sample, with the changes since the previous one."""
    table = Table("jobs", "s", "jobs/s", "claim p50 ms", "p99 ms", "max ms", "files MiB",
                  "dead rows", "server MiB", "clients MiB")  # fmt: skip
    for before, sample in itertools.pairwise(samples):
        took_s = sample.at_s - before.at_s
        durations_s = sorted(s for at_s, s in claims_s if before.at_s < at_s <= sample.at_s)
        quantiles = (0.5, 0.99, 1.0) if durations_s else ()
        latency = [
            f"{durations_s[int((len(durations_s) - 1) * quantile)] * 1000:.1f}"
            for quantile in quantiles
        ]
        table.add_row(
            f"{sample.jobs:,}", f"{sample.at_s - samples[0].at_s:,.0f}",
            f"{(sample.jobs - before.jobs) / took_s:,.0f}", *(latency or ["", "", ""]),
            f"{sample.files / MIB:,.0f}", f"{sample.dead_rows:,}", f"{sample.server_bytes / MIB:,.0f}",
            f"{sample.client_bytes / MIB:,.0f}",
        )  # fmt: skip
    console.print(title, table)


def enqueue(shard, server, jobs):
    """Enqueue a number of jobs, and take a sample after each tenth."""
    processes, samples = [psutil.Process()], []
    for start in range(0, jobs, ENQUEUE_BATCH):
        if start * 10 // jobs >= len(samples):
            samples.append(take_sample(shard, server, processes, start))
        shard.enqueue("q", [NewJob(BODY)] * min(ENQUEUE_BATCH, jobs - start))
    return [*samples, take_sample(shard, server, processes, jobs)]


def claim_all(dsn, server, pool, options):
    """Claim and acknowledge all. Returns a sample at each tenth, and the seconds of each claim."""
    shard = shard_of(dsn)
    workers = [psutil.Process(pid) for pid in set(pool.map(pid_of, range(options.workers * 4)))]
    samples = [take_sample(shard, server, workers, 0)]
    running = pool.starmap_async(
        work, [(dsn, options.batch, number) for number in range(options.workers)], chunksize=1
    )
    while not running.ready():
        running.wait(POLL_S)
        acknowledged = shard.stats("q").get("succeeded", 0)
        if acknowledged * 10 // options.jobs >= len(samples):
            samples.append(take_sample(shard, server, workers, acknowledged))
    shard.links.close()
    results = running.get()
    if (count := sum(done for done, _ in results)) != options.jobs:
        sys.exit(f"{options.jobs - count} jobs were not acknowledged")
    return samples, [claim for _, claims in results for claim in claims]


def pid_of(_number):
    """Return this process's id, after a short pause so that each process of a pool gets a turn."""
    time.sleep(0.05)
    return os.getpid()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--naptime", type=int, default=60, help="autovacuum_naptime in seconds")
    add_quick(parser, jobs=4000, workers=2)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        PostgresServer(
            Path(folder), options={"autovacuum_naptime": f"{options.naptime}s"}
        ) as server,
        multiprocessing.get_context("spawn").Pool(options.workers) as pool,
    ):
        dsn = server.create_database("jobs")
        shard = shard_of(dsn)
        shard.ping()
        empty = size_of(shard)
        samples = enqueue(shard, server, options.jobs)
        print_samples("enqueued by one process", samples)
        waiting = size_of(shard)
        samples, claims_s = claim_all(dsn, server, pool, options)
        print_samples(f"claimed and acknowledged, {options.workers} processes", samples, claims_s)
        left = size_of(shard)
        vacuum(shard)
        console.print(
            f"{options.jobs:,} jobs of {len(BODY)} B: {(waiting - empty) / options.jobs:,.0f} B per waiting "
            f"job; files {waiting / MIB:,.0f} MiB when all waited, {left / MIB:,.0f} when all had run, "
            f"{size_of(shard) / MIB:,.0f} after VACUUM"
        )
        shard.links.close()


if __name__ == "__main__":
    main()
