"""
Measure politeness at scale: a skewed backlog of many domains through the fetch stage.

    python -m bench.politeness [--domains N] [--urls N] [--qps N] [--seconds N] [--threads N]
    python -m bench.politeness --domains 10000 --urls 1000000 --qps 0.005 --seconds 600
    python -m bench.politeness --urgent --raise-to 10

The limiter, the robots cache, the in-flight set, pinlater and Celery's messages are real, on two
private redis-servers; origins are in the same process and only record their requests. Backlogs
follow Zipf's law. It prints the share of the allowed rate that was used while a domain had work,
how often a task visited a URL, requests closer than the interval, limiter calls and Redis memory.
The default is 60 s on 500 domains. The machine must be able to reach the total rate (`--domains`
times `--qps`), or the machine is measured instead. The domains start in different phases, and the
share counts from one interval after the start.

With `--urgent`, a URL of priority 2 is enqueued every two seconds for one of the domains with the
longest backlogs, and the time until its request is measured in intervals. With `--raise-to`, the
rate of the domain with the longest backlog is raised half-way; it prints after how many seconds its
requests came at the new rate, defined as ten consecutive gaps of at most one and a half intervals.

Memory is sampled twice a second. The figure per waiting URL is the maximum after the first visits:
everything on the shared Redis (messages, in-flight set, counters), divided by the waiting URLs.
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
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import redis
from celery import Celery
from rich.console import Console
from rich.table import Table

from aragog.bootstrap.stages import connect
from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.messages import FetchBatch
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.process_stages import ProcessStages
from aragog.crawl.stages.release_thread import ReleaseThread
from aragog.fetch_record.outcome import Deferred, Gone, Outcome
from aragog.settings import (
    BrokerSettings,
    FetchSettings,
    PolitenessSettings,
    Settings,
    StoreSettings,
)
from aragog.settings.servers import RedisSettings
from aragog.standalone.redis_server import RedisServer
from bench import figures
from bench.quick import add_quick
from pinlater import job_codec
from pinlater.brokers import celery_settings, of_socket
from pinlater.envelope import arguments
from pinlater.models import Claimed, ClaimRequest
from pinlater.redis_shard import RedisShard

NOISE_S = 0.002
URGENT_EVERY_S = 2.0
# The domain with the longest backlog.
RAISED_DOMAIN = "d0.example"
CLAIM_MS = 60_000
AGENT = "aragog/1.0 (+https://example.org/bot)"
SAMPLE_EVERY_S = 0.5
# At the default of 10 requests/s, a horizon of one day is 864,000 slots.
HORIZON_SLOTS = 864_000


class Origins:
    """Replaces the fetcher and every origin. Records when each request would be written."""

    def __init__(self, pipeline: ProcessStages) -> None:
        self._limiter = pipeline.robots.limiter
        self._clock = pipeline.robots.clock
        self.requested_s: dict[str, list[float]] = defaultdict(list)
        self.urgent: dict[str, float] = {}
        """When each URL of `Probe` was requested."""

    def fetch(self, url: str, *, gate: Gate, **_: Any) -> Outcome:
        deferral = gate.acquire_permit(url)
        now_ms = self._clock.now_ms()
        if deferral is not None:
            at_ms = deferral.retry_at_ms
            return Deferred(url=url, cause=deferral.cause, retry_at_ms=at_ms, fetched_at_ms=now_ms)
        now_s = time.monotonic()
        self.requested_s[self._limiter.key_for(url)].append(now_s)
        if "/urgent/" in url:
            self.urgent[url] = now_s
        gate.release_permit(url)
        return Gone(url=url, final_url=url, status=404, fetched_at_ms=now_ms)


class Queue:
    """
    A sender and its consumer: Celery's fetch messages in pinlater.

    Results leave the in-flight set, because there is no stage after `fetch`.
    """

    def __init__(self, sender: CelerySender, shard: RedisShard, in_flight: InFlightSet) -> None:
        self.shard = shard
        self.visits: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._sender = sender
        self._in_flight = in_flight
        # Records of finished jobs do not count for a waiting URL.
        shard.configure("fetch", {"keep_succeeded_max": 0})

    def send(self, message: OutgoingMessage) -> None:
        self.send_all([message])

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        self._sender.send_all(
            [message for message in messages if message.destination is Destination.FETCH]
        )
        for message in messages:
            if message.destination is Destination.CANONICALIZE:
                results = message.message.wire()["results"]
                self._in_flight.clear([result["job"]["url"] for result in results])

    def work(self, pipeline: ProcessStages, deadline_s: float, threads: int) -> None:
        """Claim messages like a worker and fetch each in a thread, until time is up."""
        running = threading.Semaphore(threads)
        with ThreadPoolExecutor(threads) as pool:
            while time.monotonic() < deadline_s:
                running.acquire()
                claimed = self.shard.claim(
                    "fetch", ClaimRequest(limit=1, timeout_ms=CLAIM_MS, worker="bench")
                )
                for claim in claimed.claims:
                    pool.submit(self._run, pipeline, claim).add_done_callback(
                        lambda _: running.release()
                    )
                if not claimed.claims:
                    running.release()
                    time.sleep(0.02)

    def _run(self, pipeline: ProcessStages, claim: Claimed) -> None:
        (message,) = arguments(job_codec.decode(claim.record).body)
        batch = FetchBatch.read(message)
        with self._lock:
            self.visits.update(job.url for job in batch.jobs)
        self.send_all(pipeline.fetch.run(batch))
        self.shard.ack("fetch", [(claim.job_id, claim.token)])


class Memory(threading.Thread):
    """Samples the Redis memory per waiting URL twice a second."""

    def __init__(self, client: redis.Redis, in_flight: InFlightSet, before: int) -> None:
        super().__init__(daemon=True)
        self._client, self._in_flight, self._before = client, in_flight, before
        self.stop = threading.Event()
        self.per_url: list[float] = []

    def sample(self) -> float:
        """Return the current bytes per waiting URL."""
        return (used_memory(self._client) - self._before) / max(1, self._in_flight.count())

    def run(self) -> None:
        while not self.stop.wait(SAMPLE_EVERY_S):
            self.per_url.append(self.sample())


class Probe(threading.Thread):
    """Enqueues urgent URLs, and raises a rate, while the backlog is fetched."""

    def __init__(self, pipeline: ProcessStages, origins: Origins, args: argparse.Namespace) -> None:
        super().__init__(daemon=True)
        self._pipeline, self._origins, self._args = pipeline, origins, args
        self._enqueued: dict[str, float] = {}
        self.raised_at_s: float | None = None
        self.stop = threading.Event()

    def run(self) -> None:
        middle_s = time.monotonic() + self._args.seconds / 2
        while not self.stop.wait(URGENT_EVERY_S):
            if self._args.raise_to and not self.raised_at_s and time.monotonic() > middle_s:
                live = self._pipeline.release.overrides.live
                assert live is not None
                live.set_qps(RAISED_DOMAIN, self._args.raise_to, who="bench")
                self.raised_at_s = time.monotonic()
            if self._args.urgent:
                number = len(self._enqueued)
                url = f"http://www.d{1 + number % 10}.example/urgent/{number}"
                self._enqueued[url] = time.monotonic()
                options = EnqueueOptions(priority=2)
                for _ in self._pipeline.enqueuer.enqueue([url], options):
                    pass

    def rows(self) -> dict[str, str]:
        rows = {}
        if self._enqueued:
            waits = sorted(
                (self._origins.urgent[url] - at_s) * self._args.qps
                for url, at_s in self._enqueued.items()
                if url in self._origins.urgent
            )
            over_two = sum(wait > 2 for wait in waits)
            rows["urgent URLs, sent"] = f"{len(self._enqueued)}, {len(waits)}"
            if waits:
                rows["urgent: intervals until sent"] = (
                    f"p50 {waits[len(waits) // 2]:.2f}, max {waits[-1]:.2f} ({over_two} over 2)"
                )
        if self.raised_at_s is not None:
            rows[f"raised to {self._args.raise_to:g}/s, reached after"] = self._rate_reached_after()
        return rows

    def _rate_reached_after(self) -> str:
        raised_at_s = self.raised_at_s or 0.0
        requested_s = [
            at_s for at_s in sorted(self._origins.requested_s[RAISED_DOMAIN]) if at_s > raised_at_s
        ]
        max_s = 1.5 / self._args.raise_to
        for n in range(len(requested_s) - 10):
            if all(b - a <= max_s for a, b in pairwise(requested_s[n : n + 11])):
                return f"{requested_s[n] - raised_at_s:.1f} s ({len(requested_s)} requests since)"
        return f"never ({len(requested_s)} requests since)"


def zipf_urls(domains: int, urls: int) -> list[str]:
    """Return at least one URL per domain. The rest are shared in proportion to 1/n for domain n."""
    rng = random.Random(1)
    weights = [1 / (n + 1) for n in range(domains)]
    owners = [*range(domains), *rng.choices(range(domains), weights, k=max(0, urls - domains))]
    rng.shuffle(owners)
    return [
        f"http://www.d{owner}.example/section/article-{number}.html"
        for number, owner in enumerate(owners)
    ]


def used_memory(client: redis.Redis) -> int:
    """Return the memory of the data, without connection buffers."""
    return int(client.info("memory")["used_memory_dataset"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--domains", type=int, default=500)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--qps", type=float, default=0.5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--urgent", action="store_true")
    parser.add_argument("--raise-to", type=float, default=0.0)
    add_quick(parser, domains=20, urls=200, seconds=5.0)
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        tempfile.TemporaryDirectory(prefix="ar") as limiter_folder,
        RedisServer(Path(folder)) as shared,
        RedisServer(Path(limiter_folder)) as limiter,
    ):
        measure(args, shared.url, limiter.url, Path(folder))


def measure(args: argparse.Namespace, shared: str, limiter: str, folder: Path) -> None:
    broker = of_socket(shared.removeprefix("unix://").partition("?")[0])
    settings = settings_of(args, broker, shared, limiter, folder)
    client, limiter_client = redis.Redis.from_url(shared), redis.Redis.from_url(limiter)
    app = Celery("bench", set_as_current=False)
    app.conf.update(celery_settings(broker))
    in_flight = InFlightSet(client, prefix=settings.redis.prefix)
    queue = Queue(CelerySender(app), RedisShard(client), in_flight)
    pipeline = connect(settings, queue)
    pipeline, origins = with_origins(pipeline)
    open_domains(pipeline, args)
    urls = zipf_urls(args.domains, args.urls)
    memory = Memory(client, in_flight, used_memory(client))
    for _ in pipeline.enqueuer.enqueue(urls, EnqueueOptions()):
        pass
    bytes_when_enqueued = memory.sample()
    calls = script_calls(limiter_client)
    started_s, cpu_s = time.monotonic(), time.process_time()
    memory.start()
    releasing = ReleaseThread(pipeline.release.run).start()
    probe = Probe(pipeline, origins, args)
    probe.start()
    queue.work(pipeline, started_s + args.seconds, args.threads)
    releasing.stop()
    memory.stop.set()
    probe.stop.set()
    memory.join()
    probe.join()
    took_s = time.monotonic() - started_s
    cpu_s = time.process_time() - cpu_s
    calls_per_s = (script_calls(limiter_client) - calls) / took_s
    slots = limiter_client.keys("*slot:*")
    per_domain = sum(limiter_client.memory_usage(key) for key in slots) / max(1, len(slots))
    span = started_s, started_s + took_s
    # Enqueueing takes time, so some domains already wait for their first request.
    count_from_s = started_s + min(1 / args.qps, args.seconds / 2)
    rows = politeness(
        args.qps,
        origins.requested_s,
        urls,
        span,
        count_from_s,
        RAISED_DOMAIN if args.raise_to else "",
    )
    seen = queue.visits.values()
    requests = sum(map(len, origins.requested_s.values()))
    rows |= {
        "domains, URLs": f"{args.domains:,}, {len(urls):,}",
        "URLs visited": f"{len(seen):,}",
        "requests": f"{requests:,} ({requests / took_s:.0f}/s)",
        "task visits per URL": f"{sum(seen) / max(1, len(seen)):.2f} (max {max(seen)})",
        "CPU ms per visit, this process": f"{1000 * cpu_s / max(1, sum(seen)):.2f}",
        "limiter calls per second": f"{calls_per_s:.0f}",
        "Redis bytes per waiting URL, enqueued": f"{bytes_when_enqueued:.0f}",
        "Redis bytes per waiting URL, last": f"{memory.per_url[-1]:.0f}",
        "URLs waiting at the end": f"{in_flight.count():,}",
        "limiter bytes per active domain": f"{per_domain:.0f}",
    }
    figures.report(waiting_url=memory.per_url[-1])
    print_rows(rows | probe.rows())


def settings_of(
    args: argparse.Namespace, broker: str, shared: str, limiter: str, folder: Path
) -> Settings:
    """Return the settings of the measured process."""
    return Settings(
        data_dir=folder,
        broker=BrokerSettings(url=broker),
        redis=RedisSettings(url=shared),
        politeness=PolitenessSettings(
            qps=args.qps, limiter_urls=(limiter,), horizon_s=HORIZON_SLOTS / args.qps
        ),
        store=StoreSettings(engine="memory"),
        fetch=FetchSettings(user_agent=AGENT),
    )


def with_origins(pipeline: ProcessStages) -> tuple[ProcessStages, Origins]:
    """Return the pipeline with in-memory origins in place of the web."""
    origins, fetch = Origins(pipeline), pipeline.fetch
    requester = dataclasses.replace(fetch.requester, fetcher=origins)
    fetch = dataclasses.replace(fetch, requester=requester)
    return dataclasses.replace(pipeline, fetch=fetch), origins


def open_domains(pipeline: ProcessStages, args: argparse.Namespace) -> None:
    """Allow everything to be fetched, with slots in different phases, as in a running system."""
    for number in range(args.domains):
        origin = f"http://www.d{number}.example"
        pipeline.robots.robots.put(origin, 404, b"", pipeline.robots.clock.now_ms())
        pipeline.robots.limiter.pause(f"d{number}.example", random.uniform(0, 1 / args.qps))


def print_rows(rows: dict[str, str]) -> None:
    """Print the figures as a table."""
    table = Table("measured", "", show_header=False)
    for name, text in rows.items():
        table.add_row(name, text)
    Console().print(table)


def script_calls(client: redis.Redis) -> int:
    """Return the number of limiter script calls so far."""
    stats = client.info("commandstats")
    return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))


def politeness(
    qps: float,
    requests_by_domain: dict[str, list[float]],
    urls: Sequence[str],
    span: tuple[float, float],
    count_from_s: float,
    raised: str = "",
) -> dict[str, str]:
    """
    Return the used share of the allowed rate after `count_from_s`, and the requests that were
    too early.
    """
    interval_s = 1 / qps
    backlog = Counter(url.split("/")[2].removeprefix("www.") for url in urls)
    used = allowed = violations = 0
    for key, requested_s in requests_by_domain.items():
        requested_s.sort()
        if key == raised:
            continue  # it has two rates
        violations += sum(b - a < interval_s - NOISE_S for a, b in pairwise(requested_s))
        is_finished = len(requested_s) >= backlog[key]
        deadline_s = requested_s[-1] if is_finished else span[1]
        in_window = [at_s for at_s in requested_s if at_s > count_from_s]
        previous_s = max(
            (at_s for at_s in requested_s if at_s <= count_from_s),
            default=count_from_s - interval_s,
        )
        used += len(in_window)
        allowed += max(len(in_window), int((deadline_s - previous_s + NOISE_S) / interval_s))
    # A domain that was never requested had work all the time.
    allowed += (len(backlog) - len(requests_by_domain)) * (
        1 + int((span[1] - count_from_s) / interval_s)
    )
    return {
        "allowed rate used after the start": f"{used / max(1, allowed):.1%}",
        "violations of the interval": str(violations),
    }


if __name__ == "__main__":
    main()
