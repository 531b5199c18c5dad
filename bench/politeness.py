"""
Measure politeness at scale: a skewed backlog of many domains through the fetch stage.

    python -m bench.politeness [--domains N] [--urls N] [--qps N] [--seconds N] [--threads N]

The limiter, the robots cache, the in-flight set and pinlater are real, on two private
redis-servers; origins are in the same process and only record when they are requested. Backlogs follow
Zipf's law. Prints the share of the allowed rate that was used while a domain had work, how often a
task visited a URL, requests closer than the interval, limiter calls and Redis memory. The default
is 60 s on 500 domains; the rate of all domains together must be one that the machine can do
(`--domains` times `--qps`), or the machine is what is measured.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import redis
from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stages import connect
from aragog.fetcher.admission import Gate
from aragog.fetcher.outcome import Gone, Outcome, Redirected
from aragog.pinlater.models import NewJob
from aragog.pinlater.shard import RedisShard
from aragog.pipeline.messages import FetchBatch
from aragog.pipeline.pipeline import Pipeline
from aragog.pipeline.routing import Destination, OutgoingMessage
from aragog.pipeline.stages.enqueue import EnqueueOptions
from aragog.settings import FetchSettings, PolitenessSettings, Settings, StoreSettings
from aragog.settings.sections import RedisSettings
from aragog.standalone.redis_server import RedisServer

NOISE_S = 0.002
CLAIM_MS = 60_000
AGENT = "aragog/1.0 (+https://example.org/bot)"


class Origins:
    """Stands for the fetcher and every origin: notes when a request would be written."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._limiter = pipeline.robots.limiter
        self._clock = pipeline.robots.clock
        self.asked: dict[str, list[float]] = defaultdict(list)

    def fetch(self, url: str, *, gate: Gate, **_: Any) -> Outcome:
        later = gate.acquire_permit(url)
        now_ms = self._clock.now_ms()
        if later is not None:
            at_ms = later.retry_at_ms
            return Redirected(url=url, target=url, retry_at_ms=at_ms, fetched_at_ms=now_ms)
        self.asked[self._limiter.key_for(url)].append(time.monotonic())
        gate.release_permit(url)
        return Gone(url=url, final_url=url, status=404, fetched_at_ms=now_ms)


class Queue:
    """A sender and its consumer: fetch messages in a PinLater shard, the others are dropped."""

    def __init__(self, shard: RedisShard) -> None:
        self.shard = shard
        self.visits: Counter[str] = Counter()

    def send(self, what: OutgoingMessage) -> None:
        self.send_all([what])

    def send_all(self, whats: Sequence[OutgoingMessage]) -> None:
        jobs = [
            NewJob(
                orjson.dumps(what.message.wire()),
                priority=what.priority,
                delay_ms=what.delay_ms or 0,
            )
            for what in whats
            if what.destination == Destination.FETCH
        ]
        if jobs:
            self.shard.enqueue("fetch", jobs)

    def work(self, pipeline: Pipeline, until_s: float) -> None:
        """Claim and fetch, one message at a time, until it is time to stop."""
        while time.monotonic() < until_s:
            answer = self.shard.claim("fetch", limit=1, timeout_ms=CLAIM_MS, worker="bench")
            for claim in answer.claims:
                body = claim.record[claim.record.index(b'{"') :]
                batch = FetchBatch.read(orjson.loads(body))
                self.visits.update(job.url for job in batch.jobs)
                self.send_all(pipeline.fetch.run(batch))
                self.shard.ack("fetch", [(claim.job_id, claim.token)])
            if not answer.claims:
                time.sleep(0.02)


def zipf_urls(domains: int, urls: int) -> list[str]:
    """At least one URL a domain; the n-th domain has a share of the others in proportion to 1/n."""
    rng = random.Random(1)
    weights = [1 / (n + 1) for n in range(domains)]
    owners = [*range(domains), *rng.choices(range(domains), weights, k=max(0, urls - domains))]
    rng.shuffle(owners)
    return [f"http://www.d{owner}.example/{number}" for number, owner in enumerate(owners)]


def used_memory(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--domains", type=int, default=500)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--qps", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=64)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ar") as one,
        tempfile.TemporaryDirectory(prefix="ar") as two,
        RedisServer(Path(one)) as shared,
        RedisServer(Path(two)) as limiter,
    ):
        measure(args, shared.url, limiter.url, Path(one))


def measure(args: argparse.Namespace, shared: str, limiter: str, folder: Path) -> None:
    settings = Settings(
        data_dir=folder,
        redis=RedisSettings(url=shared),
        politeness=PolitenessSettings(qps=args.qps, limiter_urls=(limiter,)),
        store=StoreSettings(engine="memory"),
        fetch=FetchSettings(user_agent=AGENT),
    )
    client, limiting = redis.Redis.from_url(shared), redis.Redis.from_url(limiter)
    queue = Queue(RedisShard(client))
    pipeline = connect(settings, queue)
    origins, fetch = Origins(pipeline), pipeline.fetch
    requester = dataclasses.replace(fetch.requester, fetcher=origins)
    fetch = dataclasses.replace(fetch, requester=requester)
    pipeline = dataclasses.replace(pipeline, fetch=fetch)
    for number in range(args.domains):
        of = f"http://www.d{number}.example"
        pipeline.robots.robots.put(of, 404, b"", pipeline.robots.clock.now_ms())
    urls = zipf_urls(args.domains, args.urls)
    before = used_memory(client)
    for _ in pipeline.enqueuer.enqueue(urls, EnqueueOptions()):
        pass
    per_url = (used_memory(client) - before) / len(urls)
    calls = script_calls(limiting)
    began_s = time.monotonic()
    threads = [
        threading.Thread(target=queue.work, args=(pipeline, began_s + args.seconds))
        for _ in range(args.threads)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.monotonic() - began_s
    calls_per_s = (script_calls(limiting) - calls) / took_s
    slots = limiting.keys("*slot:*")
    per_domain = sum(limiting.memory_usage(key) for key in slots) / max(1, len(slots))
    span = began_s, began_s + took_s
    report(args, origins.asked, queue.visits, urls, span, calls_per_s, per_url, per_domain)


def script_calls(client: redis.Redis) -> int:
    """Calls of the limiter's scripts so far."""
    stats = client.info("commandstats")
    return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))


def report(
    args: argparse.Namespace,
    asked: dict[str, list[float]],
    visits: Counter[str],
    urls: Sequence[str],
    span: tuple[float, float],
    calls_per_s: float,
    per_url: float,
    per_domain: float,
) -> None:
    interval_s = 1 / args.qps
    backlog = Counter(url.split("/")[2].removeprefix("www.") for url in urls)
    used = allowed = violations = 0.0
    for key, instants in asked.items():
        instants.sort()
        violations += sum(b - a < interval_s - NOISE_S for a, b in pairwise(instants))
        over = len(instants) >= backlog[key]
        until_s = instants[-1] if over else span[1]
        used += len(instants)
        allowed += 1 + int((until_s - span[0]) / interval_s)
    requests = sum(map(len, asked.values()))
    table = Table("measured", "", show_header=False)
    seen = [visits[url] for url in visits]
    for name, text in (
        ("domains, URLs", f"{args.domains:,}, {len(urls):,}"),
        ("requests", f"{requests:,} ({requests / args.seconds:.0f}/s)"),
        ("allowed rate used", f"{used / allowed:.1%}"),
        ("violations of the interval", f"{violations:.0f}"),
        ("task visits a URL", f"{sum(seen) / len(seen):.2f} (most {max(seen)})"),
        ("limiter calls a second", f"{calls_per_s:.0f}"),
        ("Redis bytes per waiting URL", f"{per_url:.0f}"),
        ("limiter bytes per active domain", f"{per_domain:.0f}"),
    ):
        table.add_row(name, text)
    Console().print(table)


if __name__ == "__main__":
    main()
