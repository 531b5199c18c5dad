"""
Simulate a crawl of a small web event by event: every URL, message, slot, thread and body.

The settings, constants and pure functions are aragog's own: `FirstVisitDelays` delays the first
visits of a backlog, retry delays come from `next_attempt`, `claim_limit` opens and closes fetching
by the fill level of the spool, and a look at a line grants as many slots as
`aragog.crawl.stages.release` does. Redis, workers and origins are models: messages are claimed by
priority and due time, a process is as in `bench.simulate.process`, the limiter as in
`bench.simulate.limits`.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT, URGENT, UrlJob
from aragog.crawl.pipeline.spool import OVERHEAD_BYTES, SpoolBounds
from aragog.crawl.pipeline.spool_room import claim_limit
from aragog.crawl.stages.access import HEAD_START_MS
from aragog.crawl.stages.fetch import ROOM_RETRY_MS
from aragog.crawl.stages.first_visit_delays import FirstVisitDelays, less_urgent
from aragog.crawl.stages.release import (
    ARRIVAL_LEAD_MS,
    BATCH_SPAN_MS,
    CHECK_EVERY_S,
    MAX_LINES,
    MIN_CHECK_INTERVAL_MS,
)
from aragog.crawl.stages.returning_jobs import next_attempt
from aragog.crawl.stages.waiting_line import RELEASE_LEAD_MS
from aragog.settings import Settings
from bench.simulate.limits import DomainLimit
from bench.simulate.parts import (
    Job,
    Machines,
    SimulatedDomain,
    SimulatedSpool,
    SmallResult,
    VirtualClock,
)
from bench.simulate.web import Kind, Web

GATE_S = 0.25
KEPT_THREADS = 2
ENQUEUED_AT_ONCE = 1000


class SmallCrawl:
    """One crawl. All randomness comes from `seed`."""

    def __init__(self, web: Web, settings: Settings, machines: Machines, *, seed: int = 1) -> None:
        self.web, self.settings, self.machines = web, settings, machines
        self.rng = random.Random(seed)
        self.clock = VirtualClock()
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.ready: list[tuple[int, float, int, list[Job]]] = []
        self.number = 0
        self.result = SmallResult()
        size = settings.pipeline.spool_max_bytes or 128 * 2**20
        self.spool = SimulatedSpool(SpoolBounds(size))
        self.body_bytes = web.body_bytes + OVERHEAD_BYTES
        self.opening = claim_limit(self.spool, clock=self.clock)  # type: ignore[arg-type]
        self.claims_left: float = 0
        self.gate_at_s = -1.0
        fetch = settings.workers.fetch
        self.free = [fetch] * machines.processes
        self.places = [[0.0] * settings.fetch.concurrency for _ in self.free]
        self.cpu_free_s = [0.0] * machines.processes
        self.canonical_free_s = 0.0
        self.looks: list[tuple[float, int]] = []
        self.ticking = self.asking = False
        self.within_us = (settings.politeness.wait_inline_ms + HEAD_START_MS) * 1000.0
        self.release_us = (settings.politeness.wait_inline_ms + RELEASE_LEAD_MS) * 1000.0
        self.domains = [self._domain(urls, kind) for urls, kind in web.drawn(self.rng)]

    def _domain(self, urls: int, kind: Kind) -> SimulatedDomain:
        politeness = self.settings.politeness
        delay_s = min(kind.crawl_delay_s, politeness.crawl_delay_cap_s)
        return SimulatedDomain(DomainLimit(max(1 / politeness.qps, delay_s) * 1e6), kind, urls)

    def run(self, *, probes: int = 0, probe_every_s: float = 5.0) -> SmallResult:
        """Enqueue every URL at the start, and crawl until all are done."""
        self._enqueue()
        self.result.urls = len(self.result.done_s) or sum(d.urls for d in self.domains)
        for n in range(probes):
            self._at((n + 1) * probe_every_s, self._probe)
        self._dispatch()
        while self.events:
            self.clock.now_s, _, act = heapq.heappop(self.events)
            act()
        self._sum_up()
        return self.result

    def _at(self, at_s: float, act: Callable[[], None]) -> None:
        self.number += 1
        heapq.heappush(self.events, (at_s, self.number, act))

    # Producing

    def _enqueue(self) -> None:
        owners = [n for n, domain in enumerate(self.domains) for _ in range(domain.urls)]
        self.rng.shuffle(owners)
        self._produce(owners, FirstVisitDelays(self.settings.politeness.qps, self.clock))

    def _produce(self, owners: Sequence[int], delays: FirstVisitDelays, crawl: int = 0) -> None:
        """Enqueue a URL of each of these domains, for a crawl."""
        for at in range(0, len(owners), ENQUEUED_AT_ONCE):
            urls = [f"http://d{n}.example/" for n in owners[at : at + ENQUEUED_AT_ONCE]]
            front, late = delays.split(urls, PRIORITY_DEFAULT, crawl)
            jobs = [Job(_domain_of(url), PRIORITY_DEFAULT, 0.0, crawl=crawl) for url in front]
            for some in _batches(jobs, self.settings.pipeline.batch_size):
                self._send(some, PRIORITY_DEFAULT, 0.0)
            ones = [
                (Job(_domain_of(b.url), PRIORITY_DEFAULT, 0.0, crawl=crawl), b.delay_ms / 1000)
                for b in late
            ]
            for pairs in _batches(ones, self.settings.pipeline.batch_size):
                self._send([job for job, _ in pairs], less_urgent(PRIORITY_DEFAULT), pairs[0][1])

    def _probe(self) -> None:
        # A domain that requests a delay of 10 s also delays urgent URLs, whatever the settings are.
        prompt = [n for n, domain in enumerate(self.domains) if not domain.kind.crawl_delay_s]
        job = Job(self.rng.choice(prompt), 0, self.clock.now_s, probe=True)
        self._send([job], 0, self.clock.now_s)

    def _send(self, jobs: list[Job], priority: int, due_s: float) -> None:
        self.number += 1
        message = (priority, due_s, self.number, jobs)
        if due_s <= self.clock.now_s:
            heapq.heappush(self.ready, message)
            return

        def due() -> None:
            heapq.heappush(self.ready, message)
            self._dispatch()

        self._at(due_s, due)

    # Workers

    def _dispatch(self) -> None:
        """Give messages to free threads, as far as the spool allows."""
        while self.ready:
            urgent = self.ready[0][0] <= URGENT
            process = max(range(len(self.free)), key=self.free.__getitem__)
            if self.free[process] <= (
                0 if urgent else min(KEPT_THREADS, self.settings.workers.fetch - 1)
            ):
                return
            if not self._claims(self.ready[0][0]):
                self._ask_again()
                return
            self._begin(process, heapq.heappop(self.ready)[3])

    def _ask_again(self) -> None:
        """Check the spool again soon, once for all that found it closed."""
        if not self.asking:

            def ask() -> None:
                self.asking = False
                self._dispatch()

            self.asking = True
            self._at(self.clock.now_s + GATE_S, ask)

    def _claims(self, priority: int) -> bool:
        opening = self.opening()
        if opening.lowest < priority:
            return False
        if opening.jobs is None:
            return True
        if self.clock.now_s >= self.gate_at_s:
            self.gate_at_s, self.claims_left = self.clock.now_s + GATE_S, opening.jobs
        self.claims_left -= 1
        return self.claims_left >= 0

    def _begin(self, process: int, jobs: list[Job]) -> None:
        now_us, near = self.clock.now_s * 1e6, []
        self.result.visits += len(jobs)
        window_us = self.settings.politeness.slot_window_ms * 1000
        for job in jobs:
            limit = self.domains[job.domain].limit
            if job.slot_us is None or now_us > job.slot_us + window_us:
                job.slot_us = limit.reserve(now_us, self.within_us)
            if job.slot_us is None:
                self._park(job, limit.free_us(now_us))
            else:
                near.append((job.slot_us, job))
        near.sort(key=lambda pair: pair[0])
        self._fetch(process, self._with_room(near), len(jobs) - len(near))

    def _with_room(self, near: list[tuple[float, Job]]) -> list[tuple[float, Job]]:
        """
        Return requests whose bodies fit into the spool, and reserve room. The others are sent
        again.
        """
        bounds = self.spool.bounds
        urgent = bool(near) and near[0][1].priority <= URGENT
        limit = bounds.fetch_bytes if urgent else bounds.claimed_bytes
        fitting = max(0, int((limit - self.spool.used_bytes) / self.body_bytes))
        for _, job in near[fitting:]:
            job.slot_us = None
            self._send([job], job.priority, self.clock.now_s + ROOM_RETRY_MS / 1000)
        self.spool.add(self.body_bytes * len(near[:fitting]))
        return near[:fitting]

    def _fetch(self, process: int, near: list[tuple[float, Job]], parked: int) -> None:
        now_s, places = self.clock.now_s, self.places[process]
        self.free[process] -= 1
        end_s = self.cpu_free_s[process] = (
            max(self.cpu_free_s[process], now_s) + parked * self.machines.visit_cpu_s
        )
        results = []
        for slot_us, job in near:
            # Urgent requests may exceed `fetch.concurrency` by one eighth.
            place_s = now_s if job.priority <= URGENT else heapq.heappop(places)
            start_s = max(slot_us / 1e6, now_s, place_s)
            self.cpu_free_s[process] = (
                max(self.cpu_free_s[process], start_s) + self.machines.fetch_cpu_s
            )
            ends_s = max(start_s + self.web.response_s(self.rng), self.cpu_free_s[process])
            if job.priority > URGENT:
                heapq.heappush(places, ends_s)
            end_s = max(end_s, ends_s)
            results.append((start_s, job))
        self._at(end_s, lambda: self._end(process, results))

    def _end(self, process: int, results: Sequence[tuple[float, Job]]) -> None:
        self.free[process] += 1
        for start_s, job in results:
            domain = self.domains[job.domain]
            well = self.rng.random() >= domain.kind.failing
            domain.limit.report(well=well)
            domain.first_s = domain.first_s or start_s
            if not job.attempt:  # a retry waits longer than its domain's line
                domain.last_s = max(domain.last_s, start_s)
                domain.fetched += 1
            if job.probe or not well:
                self.spool.add(-self.body_bytes)
            if job.probe:
                self.result.urgent_s.append(start_s - job.since_s)
            elif well:
                self._stored(start_s, job.crawl)
            else:
                self._failed(job)
        self._dispatch()

    def _stored(self, start_s: float, crawl: int) -> None:
        each_s = 1 / self.machines.canonicalize_s
        self.canonical_free_s = max(self.canonical_free_s, self.clock.now_s) + each_s
        self.result.fetched += 1
        self.result.done_s.append(start_s)
        self.result.crawls_done_s.setdefault(crawl, []).append(start_s)
        self._at(self.canonical_free_s, lambda: self.spool.add(-self.body_bytes))

    def _failed(self, job: Job) -> None:
        again = next_attempt(
            UrlJob(url="http://d.example/", attempt=job.attempt),
            self.settings.pipeline,
            rng=self.rng,
        )
        if again is None:
            self.result.failed += 1
            self.result.done_s.append(self.clock.now_s)
            return
        job.attempt, job.slot_us = again[0].attempt, None
        self._send([job], job.priority, self.clock.now_s + again[1] / 1000)

    # Lines

    def _park(self, job: Job, free_us: float) -> None:
        domain = self.domains[job.domain]
        domain.line.push(job.crawl, job.priority, job)
        if not domain.looked:
            self._look_at(job.domain, max(self.clock.now_s, (free_us - self.release_us) / 1e6))

    def _look_at(self, number: int, at_s: float) -> None:
        self.domains[number].looked = True
        heapq.heappush(self.looks, (at_s, number))
        if not self.ticking:
            self.ticking = True
            self._at(max(self.clock.now_s, at_s) + CHECK_EVERY_S / 2, self._tick)

    def _tick(self) -> None:
        """Look at the lines that are due, like the thread in every worker."""
        while self.looks and self.looks[0][0] <= self.clock.now_s and not self.spool.closed:
            due = []
            while self.looks and self.looks[0][0] <= self.clock.now_s and len(due) < MAX_LINES:
                due.append(heapq.heappop(self.looks)[1])
            self._release(due)
        self.ticking = bool(self.looks)
        if self.looks:
            self._at(max(self.clock.now_s + CHECK_EVERY_S, self.looks[0][0]), self._tick)
        self._dispatch()

    def _release(self, due: Iterable[int]) -> None:
        now_us = self.clock.now_s * 1e6
        near: list[tuple[float, Job]] = []
        for number in due:
            domain = self.domains[number]
            domain.looked = False
            fits = 1 + int(MIN_CHECK_INTERVAL_MS * 1000 / domain.limit.interval_us)
            given = 0
            while domain.line and given < fits:
                slot_us = domain.limit.reserve(now_us, self.release_us)
                if slot_us is None:
                    break
                job = domain.line.pop()
                job.slot_us = slot_us
                near.append((slot_us, job))
                given += 1
            if domain.line:
                wait_us = domain.limit.free_us(now_us) - now_us - self.release_us
                wait_ms = 0.0 if given == fits else max(MIN_CHECK_INTERVAL_MS, wait_us / 1000)
                self._look_at(number, self.clock.now_s + wait_ms / 1000)
        near.sort(key=lambda pair: pair[0])
        self._send_released(deque(near))

    def _send_released(self, near: deque[tuple[float, Job]]) -> None:
        size = self.settings.pipeline.batch_size
        while near:
            first_us = near[0][0]
            jobs: list[Job] = []
            while near and len(jobs) < size and near[0][0] <= first_us + BATCH_SPAN_MS * 1000:
                jobs.append(near.popleft()[1])
            due_s = max(self.clock.now_s, first_us / 1e6 - ARRIVAL_LEAD_MS / 1000)
            self._send(jobs, min(job.priority for job in jobs), due_s)

    def _sum_up(self) -> None:
        result = self.result
        result.done_s.sort()
        result.domains = self.domains
        result.spool_bytes = self.spool.max_bytes
        shares, used, allowed = [], 0.0, 0.0
        for domain in self.domains:
            if domain.fetched > 1:
                possible = max(domain.last_s * 1e6 / domain.limit.interval_us, domain.fetched - 1)
                used, allowed = used + domain.fetched - 1, allowed + possible
                shares.append((domain.fetched - 1) / possible)
        result.rate_used = used / allowed if allowed else 1.0
        squares = sum(share * share for share in shares) * len(shares)
        result.fairness = sum(shares) ** 2 / squares if squares else 1.0


def _domain_of(url: str) -> int:
    return int(url[8:].partition(".")[0])


def _batches(items: Sequence, size: int) -> Iterable:  # type: ignore[type-arg]
    return (list(items[at : at + size]) for at in range(0, len(items), size))
