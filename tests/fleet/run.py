"""Run a fleet: it crawls and serves while everything is restarted and machines are cut off."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from aragog.bootstrap.redis_services import redis_client
from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.crawl.pipeline.spool import Spool
from aragog.errors import AragogError
from aragog.settings import Settings
from tests.chaos.laws import queues, repairs, spool_bytes
from tests.chaos.producer import ACCEPTED, FaultProducer
from tests.fleet import laws, sites, web
from tests.fleet.fleet import Fleet
from tests.fleet.layout import API_PORT, APIS, DATA, FRONT, REDIS, WEB, WEB_PORT
from tests.fleet.reader import Reader
from tests.fleet.timeline import Timeline

KNOWN_PAGES = 100
"""The pages that readers read, stored before anything is broken."""
FIRST_SHARE = 0.4
"""The share of the URLs that is enqueued at first; the others follow continuously."""
CHANGED_PAGES = 150
"""The number of pages that are fetched again after a change."""
MAX_DRAIN_S = 300.0
MAX_RETURN_S = 60.0
ORIGIN = (WEB, WEB_PORT)


@dataclass
class Run:
    """A run of a fleet. `versions` has the version of each page that the origin served last."""

    fleet: Fleet
    settings: Settings
    token: str
    urls: list[str]
    cut_s: float
    rate: float
    timeline: Timeline = field(default_factory=Timeline)
    versions: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    report: str = ""

    def __call__(self) -> None:
        """Run everything, and fill `violations` and `report`."""
        with Aragog(self.settings) as client:
            known, others = self.urls[:KNOWN_PAGES], self.urls[KNOWN_PAGES:]
            with self.timeline.event("the first pages are crawled") as event:
                self._enqueue(client, known)
                self._drain(client)
                event.result = f"{len(known)} URLs"
            readable = [url for url in known if sites.outcome(url) == "Fetched"]
            file = self.fleet.folder / "reads.json"
            with Reader(f"{FRONT}:{API_PORT}", self.token, self.rate, file, readable) as reader:
                self._break(client, others)
                self._change(client)
                reads = reader.stop()
        self.report = self.timeline.table(reads)
        self.violations += self.timeline.violations(reads)
        self._judge()

    # -- Actions

    def _break(self, client: Aragog, urls: list[str]) -> None:
        """Restart and break everything while URLs arrive, and wait until they are done."""
        first_count = int(len(urls) * FIRST_SHARE)
        self._enqueue(client, urls[:first_count])
        later_urls = urls[first_count:]
        producer = FaultProducer(self.settings, later_urls, self._chunk(len(later_urls)))
        producer.begin_fault()
        try:
            self._restart_all()
            self._cut()
            self._kill()
        finally:
            remaining = producer.stop()
        self.versions |= dict.fromkeys(producer.accepted, 1)
        self.violations += [f"enqueue raised {error}" for error in producer.unexpected_errors[:3]]
        with self.timeline.event("the rest is crawled") as event:
            self._enqueue(client, remaining)
            self._drain(client)
            refused = producer.refused.total()
            event.result = (
                f"{len(producer.accepted)} URLs were enqueued meanwhile, {refused} calls refused"
            )

    def _chunk(self, count: int) -> int:
        """Return how many URLs to enqueue per half second, so that they last even on a busy machine."""
        duration_s = 2 * self.cut_s + 30 * len(self.fleet.layout.workers) + 30
        return ceil(count / duration_s / 2)

    def _restart_all(self) -> None:
        fleet = self.fleet
        for host in fleet.layout.workers:
            with self.timeline.event(f"restart the workers of {host}") as event:
                event.result = fleet.restart_workers(host)
        for host in APIS:
            with self.timeline.event(f"restart the API of {host}") as event:
                event.result = fleet.restart_api(host)
                time.sleep(3)  # the balancer tries it again after 2 s
        self._limiter("add", "redis1", "joins the limiter")
        self._limiter("drain", "redis2", "is drained")
        for name in REDIS:
            with self.timeline.event(f"restart {name}") as event:
                event.result = fleet.restart_redis(name)
        self._limiter("add", "redis2", "decides again")
        self._limiter("remove", "redis1", "leaves the limiter")
        with self.timeline.event(f"restart {fleet.layout.engine}", may_not_fail=False) as event:
            event.result = fleet.restart_store()
        with self.timeline.event("restart S3") as event:
            event.result = fleet.restart_s3()

    def _limiter(self, command: str, name: str, label: str) -> None:
        """Run `aragog limiter …` on a worker machine, while all of them fetch."""
        node, host = f"redis://{DATA}:{REDIS[name]}/0", self.fleet.layout.workers[0]
        with self.timeline.event(f"{name} {label}") as event:
            self.fleet.cluster.aragog(host, "limiter", command, node)
            event.result = f"`aragog limiter {command}`"

    def _cut(self) -> None:
        """Disconnect a worker machine and an API machine, and reconnect them."""
        worker, api = self.fleet.layout.workers[1], APIS[0]
        network = self.fleet.cluster.network
        label = f"{worker} and {api} are cut off"
        with self.timeline.event(label, may_not_fail=False) as event:
            for host in (worker, api):
                network.disconnect(host)
            time.sleep(self.cut_s)
            for host in (worker, api):
                network.reconnect(host)
            event.result = "disconnected and reconnected"
        with self.timeline.event(f"{worker} and {api} come back") as event:
            started_s, batches_before = time.monotonic(), self.fleet.count_batches(worker)
            self.fleet.wait(lambda: self.fleet.api_ready(api), api)
            api_s = time.monotonic() - started_s
            self.fleet.wait(
                lambda: self.fleet.count_batches(worker) > batches_before,
                f"{worker} fetches",
                MAX_RETURN_S,
            )
            event.result = (
                f"{api} was ready after {api_s:.1f} s, "
                f"{worker} had fetched a batch after {time.monotonic() - started_s:.1f} s"
            )

    def _kill(self) -> None:
        host = self.fleet.layout.workers[0]
        run = self.fleet.cluster.run
        with self.timeline.event(f"kill -9 of the fetch worker of {host}") as event:
            run.restart(f"{host}-fetch", signal_number=signal.SIGKILL)
            event.result = "started again"

    def _change(self, client: Aragog) -> None:
        """Change pages and have them fetched again, by machines whose clocks differ."""
        fetched = [url for url in self.versions if sites.outcome(url) == "Fetched"]
        changed = fetched[:: max(1, len(fetched) // CHANGED_PAGES)]
        with self.timeline.event("changed pages are fetched again") as event:
            web.change(ORIGIN, 2)
            self._enqueue(client, changed, version=2)
            self._drain(client)
            event.result = f"{len(changed)} URLs"

    def _enqueue(self, client: Aragog, urls: list[str], version: int = 1) -> None:
        results = client.enqueue(urls, refresh=version > 1)
        refused = [result for result in results if result.status not in ACCEPTED]
        if refused:
            raise SystemExit(f"{len(refused)} URLs were not accepted: {refused[0]}")
        self.versions |= dict.fromkeys(urls, version)

    def _drain(self, client: Aragog) -> None:
        def is_drained() -> bool:
            with contextlib.suppress(AragogError, OSError):
                return not client.in_flight()
            return False

        self.fleet.wait(is_drained, "the crawl", MAX_DRAIN_S)

    # -- Checks

    def _judge(self) -> None:
        arrivals = web.arrivals(ORIGIN)
        answers = Counter(
            (arrival.host, arrival.path) for arrival in arrivals if arrival.status == 200
        )
        self.violations += laws.shorten(list(laws.early_requests(arrivals)))
        store = url_store(self.settings)
        try:
            self.violations += repairs(store)
            outcomes, problems = laws.check_stored(store, self.versions)
            self.violations += laws.shorten(problems)
            self.violations += laws.check_links(store, self.versions)
        finally:
            store.close()
        late_acks, remaining = queues(self.settings, lambda: None)
        self.violations += [
            *remaining,
            *self._spool_violations(),
            *self.fleet.cluster.run.unexpected_exits(),
        ]
        if problems_of_doctor := self.fleet.cluster.doctor_problems(self.fleet.layout.workers[0]):
            self.violations.append(f"doctor: {problems_of_doctor}")
        changed = sum(version > 1 for version in self.versions.values())
        extra = sum(answers.values()) - len(answers) - changed
        busy_answers = sum(arrival.status == 503 for arrival in arrivals)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
        self.report += (
            f"\n{len(self.versions)} URLs: {counts}. {len(arrivals)} requests, {busy_answers} of "
            f"them answered with 503; {changed} changed pages were requested again, and {extra} "
            f"more than needed; {late_acks} late acks refused.\n"
        )

    def _spool_violations(self) -> Iterator[str]:
        resolved = self.settings.resolved()
        with redis_client(resolved) as client:
            spool = Spool(
                client, prefix=resolved.redis.prefix, max_bytes=resolved.pipeline.spool_max_bytes
            )
            if (remaining := spool_bytes(spool, self.settings, lambda: None)) > 0:
                yield f"{remaining} bytes are left in the spool"
