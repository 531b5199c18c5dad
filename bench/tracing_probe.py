"""
Crawl pages with the code on PYTHONPATH and the settings of the environment, for `bench.tracing`.

Reads lines with a first number and a count of pages from standard input. For each line it enqueues
that many new URLs, runs every stage for them in this process, and writes the CPU seconds. It
imports nothing else from `bench`, because it also runs with the code of other commits.
"""

from __future__ import annotations

import os
import sys
import time

import orjson

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.settings import load_settings

try:
    from aragog.observability.tracing.tracer import flush_spans
except ImportError:  # a commit without traces

    def flush_spans() -> None:
        """Do nothing, because nothing is exported."""


HOSTS = 20
READERS = {
    Destination.FETCH: FetchBatch, Destination.ROBOTS: RobotsBatch,
    Destination.CANONICALIZE: ResultBatch, Destination.STORE: PageBatch,
}  # fmt: skip


class Sent:
    """Keeps the messages, like a broker."""

    def __init__(self) -> None:
        self.messages = []

    def send(self, message):
        self.messages.append(message)

    def send_all(self, messages):
        self.messages += messages


def crawl(pipeline, sent: Sent, urls: list[str]) -> None:
    """Enqueue the URLs, and deliver the resulting messages until all are stored."""
    list(pipeline.enqueuer.enqueue(urls, EnqueueOptions()))
    stages = {
        Destination.FETCH: pipeline.fetch, Destination.ROBOTS: pipeline.robots,
        Destination.CANONICALIZE: pipeline.canonicalize, Destination.STORE: pipeline.store,
    }  # fmt: skip
    while pipeline.enqueuer.in_flight.count():
        if not sent.messages:
            pipeline.release.run()
            time.sleep(0.01)
            continue
        message = sent.messages.pop(0)
        time.sleep((message.delay_ms or 0) / 1000)
        wire = orjson.loads(orjson.dumps(message.message.wire()))
        sent.messages += stages[message.destination].run(READERS[message.destination].read(wire))
    flush_spans()


def main() -> None:
    sent = Sent()
    pipeline = connect(load_settings(environ=os.environ), sent)
    for line in sys.stdin:
        first, count = map(int, line.split())
        urls = [
            f"http://h{n % HOSTS}.test/library/page-{n}.html" for n in range(first, first + count)
        ]
        started_s = time.process_time()
        crawl(pipeline, sent, urls)
        print(time.process_time() - started_s, flush=True)


if __name__ == "__main__":
    main()
