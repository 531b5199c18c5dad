"""One run of a fleet: it crawls and serves, everything is restarted, machines are cut off."""

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

KNOWN = 100
"""Pages that readers read: they are stored before anything is broken."""
AT_FIRST = 0.4
"""The share of the URLs that is enqueued at once; the others follow all the time."""
AGAIN = 150
"""Pages that are fetched again after they have changed."""
DRAINED_WITHIN_S = 300.0
BACK_WITHIN_S = 60.0
ORIGIN = (WEB, WEB_PORT)


@dataclass
class Run:
    """A running fleet with its producer; `versions` has what the origin served last."""

    fleet: Fleet
    settings: Settings
    token: str
    urls: list[str]
    cut_s: float
    rate: float
    timeline: Timeline = field(default_factory=Timeline)
    versions: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    report: str = ""

    def __call__(self) -> None:
        """Everything, from known pages to the verdict in `broken`, with the table in `report`."""
        with Aragog(self.settings) as client:
            known, rest = self.urls[:KNOWN], self.urls[KNOWN:]
            with self.timeline.event("the first pages are crawled") as event:
                self._enqueue(client, known)
                self._drain(client)
                event.seen = f"{len(known)} URLs"
            readable = [url for url in known if sites.outcome(url) == "Fetched"]
            file = self.fleet.folder / "reads.json"
            with Reader(f"{FRONT}:{API_PORT}", self.token, self.rate, file, readable) as reader:
                self._break(client, rest)
                self._change(client)
                reads = reader.stop()
        self.report = self.timeline.table(reads)
        self.broken += self.timeline.broken(reads)
        self._judge()

    # -- what is done

    def _break(self, client: Aragog, urls: list[str]) -> None:
        """Restart and break everything while URLs arrive, and wait until they are done."""
        at_first = int(len(urls) * AT_FIRST)
        self._enqueue(client, urls[:at_first])
        later = urls[at_first:]
        producer = FaultProducer(self.settings, later, self._chunk(len(later)))
        producer.fault()
        try:
            self._restart_all()
            self._cut()
            self._kill()
        finally:
            left = producer.stop()
        self.versions |= dict.fromkeys(producer.accepted, 1)
        self.broken += [f"enqueue raised {error}" for error in producer.wrong[:3]]
        with self.timeline.event("the rest is crawled") as event:
            self._enqueue(client, left)
            self._drain(client)
            refused = producer.refused.total()
            event.seen = (
                f"{len(producer.accepted)} URLs were enqueued meanwhile, {refused} calls refused"
            )

    def _chunk(self, count: int) -> int:
        """How many URLs to enqueue each half second, so that they last also on a busy machine."""
        lasts_s = 2 * self.cut_s + 30 * len(self.fleet.layout.workers) + 30
        return ceil(count / lasts_s / 2)

    def _restart_all(self) -> None:
        fleet = self.fleet
        for host in fleet.layout.workers:
            with self.timeline.event(f"restart the workers of {host}") as event:
                event.seen = fleet.restart_workers(host)
        for host in APIS:
            with self.timeline.event(f"restart the API of {host}") as event:
                event.seen = fleet.restart_api(host)
                time.sleep(3)  # the balancer tries it again after 2 s
        self._limiter("add", "redis1", "joins the limiter")
        self._limiter("drain", "redis2", "is drained")
        for name in REDIS:
            with self.timeline.event(f"restart {name}") as event:
                event.seen = fleet.restart_redis(name)
        self._limiter("add", "redis2", "decides again")
        self._limiter("remove", "redis1", "leaves the limiter")
        with self.timeline.event(f"restart {fleet.layout.engine}", harmless=False) as event:
            event.seen = fleet.restart_store()
        with self.timeline.event("restart S3") as event:
            event.seen = fleet.restart_s3()

    def _limiter(self, command: str, name: str, what: str) -> None:
        """Run `aragog limiter …` on a worker machine, while all of them fetch."""
        node, host = f"redis://{DATA}:{REDIS[name]}/0", self.fleet.layout.workers[0]
        with self.timeline.event(f"{name} {what}") as event:
            self.fleet.cluster.aragog(host, "limiter", command, node)
            event.seen = f"`aragog limiter {command}`"

    def _cut(self) -> None:
        """Cut a worker machine and an API machine off, and connect them again."""
        worker, api = self.fleet.layout.workers[1], APIS[0]
        network = self.fleet.cluster.network
        what = f"{worker} and {api} are cut off"
        with self.timeline.event(what, harmless=False) as event:
            for host in (worker, api):
                network.disconnect(host)
            time.sleep(self.cut_s)
            for host in (worker, api):
                network.reconnect(host)
            event.seen = "cables out and in again"
        with self.timeline.event(f"{worker} and {api} come back") as event:
            began_s, before = time.monotonic(), self.fleet.succeeded(worker)
            self.fleet.wait(lambda: self.fleet.api_ready(api), api)
            api_s = time.monotonic() - began_s
            self.fleet.wait(
                lambda: self.fleet.succeeded(worker) > before, f"{worker} fetches", BACK_WITHIN_S
            )
            event.seen = (
                f"{api} was ready after {api_s:.1f} s, "
                f"{worker} had fetched a batch after {time.monotonic() - began_s:.1f} s"
            )

    def _kill(self) -> None:
        host = self.fleet.layout.workers[0]
        run = self.fleet.cluster.run
        with self.timeline.event(f"kill -9 of the fetch worker of {host}") as event:
            run.restart(f"{host}-fetch", signal_number=signal.SIGKILL)
            event.seen = "started again"

    def _change(self, client: Aragog) -> None:
        """Let pages change and be fetched again, by machines whose clocks differ."""
        fetched = [url for url in self.versions if sites.outcome(url) == "Fetched"]
        changed = fetched[:: max(1, len(fetched) // AGAIN)]
        with self.timeline.event("changed pages are fetched again") as event:
            web.change(ORIGIN, 2)
            self._enqueue(client, changed, version=2)
            self._drain(client)
            event.seen = f"{len(changed)} URLs"

    def _enqueue(self, client: Aragog, urls: list[str], version: int = 1) -> None:
        results = client.enqueue(urls, refresh=version > 1)
        refused = [result for result in results if result.status not in ACCEPTED]
        if refused:
            raise SystemExit(f"{len(refused)} URLs were not accepted: {refused[0]}")
        self.versions |= dict.fromkeys(urls, version)

    def _drain(self, client: Aragog) -> None:
        def drained() -> bool:
            with contextlib.suppress(AragogError, OSError):
                return not client.in_flight()
            return False

        self.fleet.wait(drained, "the crawl", DRAINED_WITHIN_S)

    # -- what is judged

    def _judge(self) -> None:
        arrivals = web.arrivals(ORIGIN)
        answers = Counter((one.host, one.path) for one in arrivals if one.status == 200)
        self.broken += laws.shortened(list(laws.gaps(arrivals)))
        store = url_store(self.settings)
        try:
            self.broken += repairs(store)
            outcomes, wrong = laws.stored(store, self.versions)
            self.broken += laws.shortened(wrong)
            self.broken += laws.links(store, self.versions)
        finally:
            store.close()
        late_acks, left = queues(self.settings)
        self.broken += [*left, *self._spooled(), *self.fleet.cluster.run.unexpected_exits()]
        if ailing := self.fleet.cluster.doctor_problems(self.fleet.layout.workers[0]):
            self.broken.append(f"doctor: {ailing}")
        changed = sum(version > 1 for version in self.versions.values())
        extra = sum(answers.values()) - len(answers) - changed
        turned_away = sum(one.status == 503 for one in arrivals)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
        self.report += (
            f"\n{len(self.versions)} URLs: {counts}. {len(arrivals)} requests, {turned_away} of "
            f"them answered with 503; {changed} changed pages were asked for again, and {extra} "
            f"more than needed; {late_acks} late acks refused.\n"
        )

    def _spooled(self) -> Iterator[str]:
        resolved = self.settings.resolved()
        with redis_client(resolved) as client:
            spool = Spool(
                client, prefix=resolved.redis.prefix, max_bytes=resolved.pipeline.spool_max_bytes
            )
            if (left := spool_bytes(spool, self.settings, lambda: None)) > 0:
                yield f"{left} bytes are left in the spool"
