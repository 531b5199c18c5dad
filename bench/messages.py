"""
Measure the cost of messages: CPU of Celery, kombu, pinlater and Redis per URL of a full batch.

    python -m bench.messages [--batches 2000]

A batch of URLs is published and run three times: fetch and store in a thread pool, canonicalize in
a process pool. The tasks do nothing, so only the cost of messages is measured. Each number is the
CPU of a whole process divided by the messages, for the middle 80% of a backlog. The worker sends
nothing; publishing is measured separately, in a process that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial

import psutil
import redis
from celery import Celery
from rich.console import Console
from rich.table import Table

from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from bench.backlog import Costs, costs_per_job, middle
from bench.pinlater import server, worker
from bench.quick import add_quick
from pinlater.brokers import of_socket
from pinlater.redis_shard import RedisShard

URLS = 25
POOLS = {"threads": ("-P", "threads", "-c4"), "prefork": ("-P", "prefork", "-c1")}
TASK = Destination.FETCH.task
QUEUE = str(Destination.FETCH.queue)

app = Celery("bench", broker=os.environ.get("BENCH_BROKER", "memory://"), set_as_current=False)
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
)


@app.task(name=TASK)
def do_nothing(message):
    """A task without work, to measure the cost of a batch."""


def batch(number: int) -> OutgoingMessage:
    """Return a full batch of URLs of ordinary length."""
    urls = (f"http://host{n}.example.com/library/page-{number}-{n}.html" for n in range(URLS))
    return OutgoingMessage(Destination.FETCH, FetchBatch(tuple(UrlJob(url=url) for url in urls)))


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and its children."""
    return sum(
        sum(member.cpu_times()[:2]) for member in (process, *process.children(recursive=True))
    )


def publish(broker: str, count: int) -> float:
    """Publish messages, and return the CPU ms of this process per message."""
    with Celery("p", broker=broker, set_as_current=False) as producer:
        sender = CelerySender(producer)
        sender.send(batch(0))
        before = time.process_time()
        for number in range(count):
            sender.send(batch(number))
        return (time.process_time() - before) / count * 1000


def drain(redis_server, count: int, pool: tuple[str, ...]) -> Costs | None:
    """Return the CPU seconds per message of the worker with its children, and of redis-server."""
    shard = RedisShard(redis.Redis.from_url(redis_server.url))
    redis_process = psutil.Process(redis_server.process.pid)

    def left() -> int:
        sizes = shard.sizes(QUEUE)
        return sizes.pending + sizes.running

    with worker(
        of_socket(redis_server.socket), "-Q", QUEUE, *pool, app="bench.messages", prefetch=1
    ) as process:
        return middle(count, left, lambda: (cpu_s(process), cpu_s(redis_process)))


def measure(redis_server, pool: tuple[str, ...], count: int) -> Costs | None:
    """Return the CPU ms per message to publish one, of the worker, and of redis-server."""
    publish_ms = publish(of_socket(redis_server.socket), count)
    costs = drain(redis_server, count, pool)
    return costs and (publish_ms, *(cost_s * 1000 for cost_s in costs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=2000)
    add_quick(parser, batches=100)
    count = parser.parse_args().batches
    table = Table("", "CPU ms per message", "per URL in a batch of 25", box=None)
    total = 0.0
    for pool, messages in (("threads", 2), ("prefork", 1)):
        with server() as redis_server:
            publish_ms, worker_ms, redis_ms = costs_per_job(
                count, partial(measure, redis_server, POOLS[pool])
            )
        for name, ms in (
            (f"publish, for {pool}", publish_ms),
            (f"worker, {pool}", worker_ms),
            ("redis", redis_ms),
        ):
            table.add_row(name, f"{ms:.2f}", f"{ms / URLS:.3f}")
        total += messages * (publish_ms + worker_ms + redis_ms)
    table.add_row(
        "three stages: two of threads, one prefork", f"{total:.2f}", f"{total / URLS:.3f}"
    )
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
