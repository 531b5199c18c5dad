"""
Measure how pinlater's throughput grows with the number of its Redis servers.

    python -m bench.shards [--jobs 40000] [--clients 2]

Client processes enqueue jobs into the whole cluster, 1,000 per call, then claim and acknowledge
them, 100 per call, from each server in turn. Clients and servers share the cores here, which limits
the rate, so the CPU of each is shown. "Full at" is the rate at which the busiest server would use a
whole core. Redis runs commands in one thread, so this is the limit if clients have their own cores.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import time

import psutil
from rich.console import Console
from rich.table import Table

from bench.pinlater import server
from bench.quick import add_quick
from pinlater.cluster import Cluster, connect_shards
from pinlater.models import ClaimRequest, NewJob

BODY = b"x" * 900
ENQUEUE_BATCH, CLAIM_BATCH = 1_000, 100
GOAL_JOBS_S = 100_000
"""
Pinterest's PinLater in total: over 6 million jobs per minute, in more than ten clusters
(2015).
"""
MAX_BUSY = 0.7
"""Jobs wait on a server that is busier than this."""


def work(urls: list[str], jobs: int, number: int) -> float:
    """Enqueue, claim and acknowledge a number of jobs. Returns the CPU seconds of this process."""
    before = time.process_time()
    cluster = Cluster(connect_shards(urls, socket_timeout_s=60))
    queue, worker = f"q{number}", f"w{os.getpid()}"
    for start in range(0, jobs, ENQUEUE_BATCH):
        cluster.enqueue(queue, [NewJob(BODY)] * min(ENQUEUE_BATCH, jobs - start))
    unfinished = list(cluster.shards)
    while unfinished:
        for shard in list(unfinished):
            claims = shard.claim(
                queue, ClaimRequest(limit=CLAIM_BATCH, timeout_ms=60_000, worker=worker)
            ).claims
            if claims:
                shard.ack(queue, [(claim.job_id, claim.token) for claim in claims])
            else:
                unfinished.remove(shard)
    return time.process_time() - before


def cpu_s(pid: int) -> float:
    return sum(psutil.Process(pid).cpu_times()[:2])


def run(shards: int, clients: int, jobs: int) -> tuple[float, float, list[float]]:
    """Return jobs per second, and CPU µs per job of the clients and of each server."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(server()) for _ in range(shards)]
        pids = [server.process.pid for server in servers]
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(clients))
        pool.map(abs, range(clients))  # so that every process has imported its modules
        before, started_s = [cpu_s(pid) for pid in pids], time.monotonic()
        urls = [server.url for server in servers]
        client_cpu_s = pool.starmap(
            work, [(urls, jobs // clients, number) for number in range(clients)]
        )
        took_s = time.monotonic() - started_s
        server_us = [
            (cpu_s(pid) - cpu_before_s) / jobs * 1e6
            for pid, cpu_before_s in zip(pids, before, strict=True)
        ]
    return jobs / took_s, sum(client_cpu_s) / jobs * 1e6, server_us


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=40_000)
    parser.add_argument("--clients", type=int, default=2)
    add_quick(parser, jobs=2000)
    options = parser.parse_args()
    table = Table(
        "servers", "jobs/s here", "client CPU µs/job", "CPU µs/job of each server", "full at, jobs/s",
        box=None,
    )  # fmt: skip
    for shards in (1, 2, 4):
        rate, client, server_us = run(shards, options.clients, options.jobs)
        per_server = " ".join(f"{rate:.0f}" for rate in server_us)
        table.add_row(
            f"{shards}", f"{rate:,.0f}", f"{client:.0f}", per_server, f"{1e6 / max(server_us):,.0f}"
        )
    console = Console()
    console.print(table)
    console.print(
        f"{GOAL_JOBS_S:,} jobs/s: {GOAL_JOBS_S * sum(server_us) / 1e6 / MAX_BUSY:.1f} servers, each {MAX_BUSY:.0%} busy, "
        f"and {GOAL_JOBS_S * client / 1e6:.1f} cores of clients"
    )


if __name__ == "__main__":
    main()
