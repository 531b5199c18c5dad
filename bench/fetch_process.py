"""
Measure one fetch process with slow servers: fetches per second by threads and concurrent requests.

    python -m bench.fetch_process [--seconds 15] [--median-s 0.4]

Batches of 25 URLs go through the real fetcher in green threads, as in a fetch worker: a thread has
one batch, and the process has a limit of concurrent requests. The origin, a separate process on
loopback, delays its responses with the distribution that `bench.simulate` assumes (median 0.4 s,
one in a hundred ten times that, one in 200 ten seconds). Next to each figure is the prediction of
`bench.simulate.process`. It also prints the CPU and the peak memory of the process. Slots, messages
and Redis are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import resource
import sys
import threading
import time
from dataclasses import replace
from multiprocessing.connection import Connection

from rich.console import Console
from rich.table import Table

from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.fetch_record.outcome import Fetched
from aragog.runtime.green_threads import GreenPool
from aragog.workers.preload import SWITCH_INTERVAL_S
from bench.fetcher import BATCH, SETTINGS, html
from bench.quick import add_quick
from bench.simulate.process import ProcessShape, run
from bench.simulate.web import Web

SHAPES = ((16, 64), (32, 64), (16, 128), (32, 128), (64, 256))
HOSTS = 200


def serve(pipe: Connection, web: Web) -> None:
    """Answer each request after a random time. Sends the port through the pipe."""
    body, rng = html(), random.Random(1)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(web.response_s(rng))
                writer.write(head.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def measure(port: int, threads: int, concurrency: int, seconds: float) -> tuple[float, float]:
    """Return (fetches per second, CPU share of a core), without the first third of the time."""
    fetcher, pool = Fetcher(SETTINGS), GreenPool(concurrency)
    started_s = time.monotonic()
    measured_from_s, end_s = started_s + seconds / 3, started_s + seconds
    ended_at: list[float] = []

    def fetch(url: str) -> None:
        outcome = fetcher.fetch(url)
        if not isinstance(outcome, Fetched):
            raise TypeError(f"{url}: {outcome}")
        ended_at.append(time.monotonic())

    def work(number: int) -> None:
        rng = random.Random(number)
        while time.monotonic() < end_s:
            with pool.batch() as batch:
                for _ in range(BATCH):
                    batch.submit(fetch, f"http://127.0.0.1:{port}/{rng.randrange(HOSTS)}")

    workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 3)
    cpu_s = time.process_time()
    time.sleep(max(0.0, end_s - time.monotonic()))
    cpu_s = time.process_time() - cpu_s
    for worker in workers:
        worker.join()
    fetched = sum(measured_from_s <= at_s < end_s for at_s in ended_at)
    return fetched / (end_s - measured_from_s), cpu_s / (end_s - measured_from_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each row")
    parser.add_argument("--median-s", type=float, default=0.4)
    add_quick(parser, seconds=1.0, median_s=0.02)
    options = parser.parse_args()
    # A response of ten seconds would be most of a short run.
    web = replace(Web(latency_s=options.median_s), **({"hanging": 0.0} if options.quick else {}))
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    receiver, sender = multiprocessing.Pipe()
    context = multiprocessing.get_context("fork")
    origin = context.Process(target=serve, args=(sender, web), daemon=True)
    origin.start()
    port = receiver.recv()
    table = Table("threads", "concurrency", "fetches/s", "predicted", "CPU", "peak MB", box=None)
    for threads, concurrency in SHAPES:
        rate, cpu = measure(port, threads, concurrency, options.seconds)
        cpu_s = cpu / rate if rate else 0.001
        predicted = run(ProcessShape(threads, concurrency, BATCH, cpu_s), web.response_s)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        table.add_row(
            str(threads), str(concurrency), f"{rate:.0f}", f"{predicted.urls_s:.0f}", f"{cpu:.0%}",
            f"{memory:.0f}",
        )  # fmt: skip
    origin.kill()
    Console().print(table)


if __name__ == "__main__":
    main()
