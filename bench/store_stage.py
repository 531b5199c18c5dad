"""
Measure the CPU of the whole store stage for a page: reading batches from the spool, their bodies,
nodes, links and crawls, and releasing them.

    python -m bench.store_stage [--set docs news large] [--rounds 5]

Each round stores 1,000 real pages in 40 batches, as many as a process holds, in a new store on
SQLite and a folder, with a private Redis. The batches wait for one pack, and are begun and written
in groups. CPU is that of the process, without redis-server, Celery and the messages of the queue
(`bench.messages`). Garbage is collected as in a worker.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import redis

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.messages import PageBatch, UrlJob
from aragog.crawl.stages.page_updates import PageUpdate, to_blob
from aragog.crawl.stages.store import StoreStage
from aragog.runtime.secret import SecretUrl
from aragog.settings import RedisSettings, Settings
from aragog.standalone.redis_server import RedisServer
from aragog.urlstore.records import PageWrite
from aragog.urlstore.refresh_policy import Seen
from bench.crawl import page_sets
from bench.packs import HELD, collect_like_a_worker, pages
from bench.quick import add_quick
from bench.urlstore import BATCH
from tests.support.pipeline_harness import Sent

IN_FLIGHT = "https://www.example.com/"
"""A URL that is being fetched all the time, so that the pack does not close early."""


def batch_of(stage: StoreStage, some: Sequence[PageWrite]) -> PageBatch:
    """Put the pages of a batch into the spool, as `canonicalize` does; return its message."""
    with_body = [(page, page.content) for page in some if page.content is not None]
    bodies = stage.spool.put_many([content.body for _, content in with_body])
    updates = [
        PageUpdate(
            replace(
                page,
                content=None,
                seen=Seen(
                    outcome="Fetched",
                    fetched_at_ms=page.fetched_at_ms,
                    page_type=None,
                    body_hash=content.digest,
                ),
            ),
            token,
            content.length_bytes,
            content.meta,
        )
        for (page, content), token in zip(with_body, bodies, strict=True)
    ]
    (token,) = stage.spool.put_many([to_blob(updates)])
    assert isinstance(stage.in_flight, InFlightSet)
    stage.in_flight.mark([page.url for page in some])
    return PageBatch(token, tuple(UrlJob(url=page.url) for page in some), tuple(bodies))


def measure(settings: Settings, some: Sequence[PageWrite]) -> float:
    """Store pages in a new store; returns the CPU ms of a page."""
    process = connect(settings, Sent())
    stage = process.store
    assert isinstance(stage.in_flight, InFlightSet)
    stage.in_flight.mark([IN_FLIGHT])
    batches = [batch_of(stage, some[at : at + BATCH]) for at in range(0, len(some), BATCH)]
    before_s = time.process_time()
    joined = [stage.join(batch) for batch in batches]
    begun = [stage.begin(*pair) for pair in zip(batches, joined, strict=True)]
    packs = stage.store.bodies.packs
    assert packs is not None
    packs.writer.close()
    for one in [one.wait() for one in begun]:
        stage.finish(one)
    cpu_s = time.process_time() - before_s
    assert all(stage.store.content(page.url) for page in some[::BATCH])
    process.close()
    return cpu_s * 1000 / len(some)


def main() -> None:
    """Measure each set in turn, and print the median and the least round."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=page_sets.ALL, nargs="+", default=[*page_sets.ALL])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=BATCH * HELD)
    add_quick(parser, set=["docs"], rounds=1, pages=50)
    options = parser.parse_args()
    made = {kind: pages(options.pages, 0, kind) for kind in options.set}
    collect_like_a_worker()
    times: dict[str, list[float]] = {kind: [] for kind in made}
    with (
        tempfile.TemporaryDirectory(prefix="aragog-stage-") as folder,
        RedisServer(Path(folder) / "redis") as server,
    ):
        settings = replace(Settings(), redis=RedisSettings(url=SecretUrl(server.url)))
        for number in range(-1, options.rounds):  # the first round imports modules
            for kind, some in made.items():
                data_dir = Path(folder) / f"{kind}{number}"
                cpu_ms = measure(replace(settings, data_dir=data_dir), some)
                redis.Redis.from_url(server.url).flushall()
                if number >= 0:
                    times[kind].append(cpu_ms)
    for kind, found in times.items():
        print(f"{kind}: {statistics.median(found):.2f} ms of CPU a page, {min(found):.2f} at least")


if __name__ == "__main__":
    main()
