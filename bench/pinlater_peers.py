"""
Other job queues in PostgreSQL to compare with PinLater: procrastinate (Python) and
river (Go).
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from rich.table import Table

from aragog.standalone.postgres_server import PostgresServer

PROGRAMS = Path(__file__).parents[1] / ".venv-bench" / "bin"
PYTHON = PROGRAMS / "python"
RIVER = PROGRAMS / "river"
RIVER_CONCURRENCY = 1000
PROCRASTINATE = """
import asyncio, sys, time
import procrastinate
dsn, jobs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=dsn, max_size=workers + 2))

@app.task(queue="q", name="noop")
async def noop(body):
    pass

async def main():
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        began_s = time.monotonic()
        body = "x" * 900
        for start in range(0, jobs, 1000):
            await noop.batch_defer_async(*[{"body": body}] * min(1000, jobs - start))
        enqueued_s = time.monotonic() - began_s
        began_s = time.monotonic()
        await app.run_worker_async(
            queues=["q"], concurrency=workers, wait=False, install_signal_handlers=False
        )
        print(jobs / enqueued_s, jobs / (time.monotonic() - began_s))

asyncio.run(main())
"""


def measure(server: PostgresServer, jobs: int, workers: int, python: Path = PYTHON) -> Table:
    """
    Run the installed peers, each in a separate database.

    Args:
        server: a private server.
        jobs: the number of no-op jobs, 900 bytes each.
        workers: procrastinate's concurrent jobs, as coroutines of one process. river uses 1,000
            goroutines, because it requests at most as many jobs as are idle, and pauses each time.
        python: a Python with procrastinate.
    """
    table = Table("peer", "jobs", "enqueued/s", "run/s", title="peers, one process each")
    for name, argv in _commands(python).items():
        if argv is None:
            table.add_row(f"{name}: not installed", "", "", "")
            continue
        concurrency = RIVER_CONCURRENCY if name == "river" else workers
        enqueue_rate, run_rate = _rates(
            [*argv, server.create_database(name), str(jobs), str(concurrency)]
        )
        table.add_row(name, f"{jobs:,}", f"{enqueue_rate:,.0f}", f"{run_rate:,.0f}")
    return table


def _commands(python: Path) -> dict[str, list[str] | None]:
    return {
        "procrastinate": [str(python), "-c", PROCRASTINATE] if _has_procrastinate(python) else None,
        "river": [str(RIVER)] if RIVER.exists() else None,
    }


def _has_procrastinate(python: Path) -> bool:
    with contextlib.suppress(OSError):
        command = [str(python), "-c", "import procrastinate, psycopg"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def _rates(argv: list[str]) -> tuple[float, float]:
    process = subprocess.run(argv, capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(process.stderr[-2000:])
    enqueue_rate, run_rate = map(float, process.stdout.split())
    return enqueue_rate, run_rate
