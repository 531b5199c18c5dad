"""
Measure jobs in a private PostgreSQL, compared with procrastinate and river in the same run.

    python -m bench.pinlater_postgres [--jobs 100000] [--workers 10] [--batch 100]
                                      [--rate 1000] [--span 15] [--peer PYTHON]

Ten worker processes claim and acknowledge waiting jobs, one batch per call. Then jobs become due
one by one at a steady rate, and the time from due to claimed is measured with the server's clock.
The files of the tables are measured before and after: bytes per waiting job, and what is left when
all have run (bloat). A backlog of URLs, 25 per job, gives the bytes per waiting URL. Last,
procrastinate's workers (Python) and river's (Go) run a no-op task, if .venv-bench (`scripts/setup
bench`) has them; `--peer` names another Python with procrastinate. They also report results, so the
rates are not for the same work. The server uses PostgreSQL's defaults, so committed data is on
disk. `python -m bench.pinlater_bloat` shows the bloat of millions.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

from aragog.crawl.pipeline.messages import UrlJob
from aragog.standalone.postgres_server import PostgresServer
from bench import figures, pinlater_peers
from bench.postgres_engine import server_cpu_s
from bench.quick import add_quick
from pinlater.models import ClaimRequest, JobFrame, JobItem, NewJob
from pinlater.postgres.link import SqlCall
from pinlater.postgres.shard import PostgresShard

BODY = b"x" * 900
MAX_PEER_JOBS = 20_000
ENQUEUE_BATCH = 2_000
URLS_PER_JOB = 25
SPAN_MS = 10_000
TABLE_SIZES = SqlCall(
    "SELECT relname::text, pg_total_relation_size(c.oid) FROM pg_class c "
    "WHERE relnamespace = 'pinlater'::regnamespace AND relkind = 'r'"
)
console = Console()


def shard_of(dsn):
    return PostgresShard(dsn, timeout_s=60)


def work(dsn, batch, number):
    """Claim and acknowledge until nothing is left. Returns jobs, CPU seconds, start and end."""
    shard, acknowledged = shard_of(dsn), 0
    started_s, cpu_before_s = time.time(), time.process_time()
    request = ClaimRequest(limit=batch, timeout_ms=600_000, worker=f"w{number}")
    while claims := shard.claim("q", request).claims:
        acknowledged += sum(shard.ack("q", [(claim.job_id, claim.token) for claim in claims]))
    shard.links.close()
    return acknowledged, time.process_time() - cpu_before_s, started_s, time.time()


def measure_lateness(dsn, batch, until_ms, number):
    """Claim due jobs like a worker. Returns each job's lateness in ms, by the server's clock."""
    shard, latenesses_ms = shard_of(dsn), []
    request = ClaimRequest(limit=batch, timeout_ms=600_000, worker=f"w{number}")
    while True:
        claimed = shard.claim("q", request)
        for claim in claimed.claims:
            due_ms = int(claim.record.split(b"|", 5)[4])
            latenesses_ms.append(claimed.now_ms - due_ms)
        if claimed.claims:
            shard.ack("q", [(claim.job_id, claim.token) for claim in claimed.claims])
        elif claimed.now_ms > until_ms:
            break
        if not claimed.more:
            due_ms = claimed.next_due_ms or claimed.now_ms + 1000
            # A few milliseconds apart, so that not all workers request the same job.
            time.sleep(min(1.0, max(0, due_ms - claimed.now_ms) / 1000 + number % 5 / 500))
    shard.links.close()
    return latenesses_ms


def size_of(shard):
    [rows] = shard.run_all([TABLE_SIZES])
    return sum(size for _, size in rows)


def vacuum(shard):
    """Vacuum, as the server would within a minute. What the files still contain is bloat."""
    with contextlib.closing(shard.links.open()) as link:
        link.connection.execute("VACUUM")


def throughput(server, pool, options):
    dsn = server.create_database("jobs")
    shard = shard_of(dsn)
    shard.ping()
    empty = size_of(shard)
    started_s, idle_s = time.monotonic(), server_cpu_s(server)
    for start in range(0, options.jobs, ENQUEUE_BATCH):
        shard.enqueue("q", [NewJob(BODY)] * min(ENQUEUE_BATCH, options.jobs - start))
    enqueued_s = time.monotonic() - started_s
    vacuum(shard)
    size_before, filled_s = size_of(shard), server_cpu_s(server)
    results = pool.starmap(
        work, [(dsn, options.batch, number) for number in range(options.workers)], chunksize=1
    )
    took_s = max(r[3] for r in results) - min(r[2] for r in results)
    size_after, done_s = size_of(shard), server_cpu_s(server)
    vacuum(shard)
    table = Table(
        "jobs", "enqueued /s", "claimed and acknowledged /s", "client CPU µs",
        "server CPU µs to enqueue", "to claim and acknowledge", "bytes per waiting job",
        "files when all have run", "after a vacuum",
    )  # fmt: skip
    count = sum(r[0] for r in results)
    figures.report(postgres_job=(done_s - idle_s) / count * 1e3)
    table.add_row(
        f"{count:,}", f"{options.jobs / enqueued_s:,.0f}", f"{count / took_s:,.0f}",
        f"{sum(r[1] for r in results) / count * 1e6:.0f}",
        f"{(filled_s - idle_s) / count * 1e6:.0f}", f"{(done_s - filled_s) / count * 1e6:.0f}",
        f"{(size_before - empty) / count:,.0f}",
        f"{size_after / 2**20:,.0f} MiB of {size_before / 2**20:,.0f}", f"{size_of(shard) / 2**20:,.0f} MiB",
    )  # fmt: skip
    console.print(
        f"{options.workers} processes, {options.batch} jobs per call, bodies of {len(BODY)} B",
        table,
    )
    shard.drop("q")
    shard.links.close()
    if count != options.jobs:
        sys.exit(f"{options.jobs - count} jobs were not acknowledged")


def waiting_urls(server, options):
    """Fill a queue with a backlog of URLs that share jobs, and print the bytes per URL."""
    shard = shard_of(server.create_database("urls"))
    shard.ping()
    empty, count = size_of(shard), options.jobs // URLS_PER_JOB * URLS_PER_JOB
    frame = JobFrame(
        BODY[:600], BODY[600:], span_ms=SPAN_MS, max_items=URLS_PER_JOB, group="backlog"
    )
    for start in range(0, count, ENQUEUE_BATCH):
        urls = (
            (n, f"https://www.site{n // URLS_PER_JOB}.example/articles/{n}/some-words-of-a-title")
            for n in range(start, min(start + ENQUEUE_BATCH, count))
        )
        items = [
            JobItem(orjson.dumps(UrlJob(url=url).wire()), 3_600_000 + n // URLS_PER_JOB * SPAN_MS)
            for n, url in urls
        ]
        shard.collect("q", frame, items)
    vacuum(shard)
    figures.report(postgres_waiting_url=(size_of(shard) - empty) / count)
    console.print(
        f"{count:,} URLs that share jobs: {(size_of(shard) - empty) / count:,.0f} B per URL"
    )
    shard.links.close()


def lateness(dsn, pool, options):
    shard = shard_of(dsn)
    lead_ms, count = 3000, options.rate * options.span
    [now_ms, _] = shard.time_and_uptime_ms()
    started_s = time.monotonic()
    for start in range(0, count, ENQUEUE_BATCH):
        elapsed_ms = round((time.monotonic() - started_s) * 1000)
        numbers = range(start, min(start + ENQUEUE_BATCH, count))
        shard.enqueue(
            "q",
            [
                NewJob(BODY, delay_ms=lead_ms + n * 1000 // options.rate - elapsed_ms)
                for n in numbers
            ],
        )
    until_ms = now_ms + lead_ms + options.span * 1000 + 1000
    results = pool.starmap(
        measure_lateness,
        [(dsn, options.batch, until_ms, n) for n in range(options.workers)],
        chunksize=1,
    )
    latenesses_ms = sorted(ms for result in results for ms in result)
    table = Table("jobs", "per second", "p50 ms", "p99 ms", "max ms")
    table.add_row(
        f"{len(latenesses_ms):,}", f"{options.rate:,}", f"{latenesses_ms[len(latenesses_ms) // 2]}",
        f"{latenesses_ms[int(len(latenesses_ms) * 0.99)]}", f"{latenesses_ms[-1]}",
    )  # fmt: skip
    console.print(f"lateness, {options.workers} processes", table)
    shard.links.close()
    if len(latenesses_ms) != count:
        sys.exit(f"{count - len(latenesses_ms)} jobs were not claimed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--rate", type=int, default=1000, help="jobs due a second, for lateness")
    parser.add_argument("--span", type=int, default=15, help="seconds of them")
    parser.add_argument("--peer", default=pinlater_peers.PYTHON, help="a Python with procrastinate")
    add_quick(parser, jobs=2000, workers=2, rate=100, span=2)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        PostgresServer(Path(folder)) as server,
        multiprocessing.get_context("spawn").Pool(options.workers) as pool,
    ):
        pool.map(abs, range(options.workers))  # so that every process has imported its modules
        console.print(str(server.programs))
        throughput(server, pool, options)
        waiting_urls(server, options)
        lateness(server.create_database("due"), pool, options)
        jobs = min(options.jobs, MAX_PEER_JOBS)
        console.print(pinlater_peers.measure(server, jobs, options.workers, Path(options.peer)))


if __name__ == "__main__":
    main()
