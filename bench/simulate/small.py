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
from aragog.crawl.stages.fetch import SPACE_RETRY_MS
from aragog.crawl.stages.first_visit_delays import FirstVisitDelays, less_urgent_priority
from aragog.crawl.stages.release import (
    ARRIVAL_LEAD_MS,
    BATCH_SPAN_MS,
    MAX_LINES,
    MIN_CHECK_INTERVAL_MS,
)
from aragog.crawl.stages.release_thread import CHECK_EVERY_S
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
RESERVED_THREADS = 2
ENQUEUE_BATCH = 1000


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
        self.request_slots = [[0.0] * settings.fetch.concurrency for _ in self.free]
        self.cpu_free_s = [0.0] * machines.processes
        self.canonical_free_s = 0.0
        self.checks: list[tuple[float, int]] = []
        self.tick_scheduled = self.retry_scheduled = False
        self.within_us = (settings.politeness.wait_inline_ms + HEAD_START_MS) * 1000.0
        self.release_us = (settings.politeness.wait_inline_ms + RELEASE_LEAD_MS) * 1000.0
        self.domains = [self._domain(urls, kind) for urls, kind in web.draw(self.rng)]

    def _domain(self, urls: int, kind: Kind) -> SimulatedDomain:
        politeness = self.settings.politeness
        delay_s = min(kind.crawl_delay_s, politeness.crawl_delay_cap_s)
        return SimulatedDomain(DomainLimit(max(1 / politeness.qps, delay_s) * 1e6), kind, urls)

    def run(self, *, probes: int = 0, probe_every_s: float = 5.0) -> SmallResult:
        """Enqueue every URL at the start, and crawl until all are done."""
        self._enqueue()
        self.result.urls = len(self.result.done_s) or sum(d.urls for d in self.domains)
        for n in range(probes):
            self._schedule((n + 1) * probe_every_s, self._probe)
        self._dispatch()
        while self.events:
            self.clock.now_s, _, run = heapq.heappop(self.events)
            run()
        self._summarize()
        return self.result

    def _schedule(self, at_s: float, run: Callable[[], None]) -> None:
        self.number += 1
        heapq.heappush(self.events, (at_s, self.number, run))

    # Producing

    def _enqueue(self) -> None:
        owners = [n for n, domain in enumerate(self.domains) for _ in range(domain.urls)]
        self.rng.shuffle(owners)
        self._produce(owners, FirstVisitDelays(self.settings.politeness.qps, self.clock))

    def _produce(self, owners: Sequence[int], delays: FirstVisitDelays, crawl: int = 0) -> None:
        """Enqueue a URL of each of these domains, for a crawl."""
        for start in range(0, len(owners), ENQUEUE_BATCH):
            urls = [f"http://d{n}.example/" for n in owners[start : start + ENQUEUE_BATCH]]
            first, delayed = delays.split(urls, PRIORITY_DEFAULT, crawl)
            jobs = [Job(_domain_of(url), PRIORITY_DEFAULT, 0.0, crawl=crawl) for url in first]
            for batch in _batches(jobs, self.settings.pipeline.batch_size):
                self._send(batch, PRIORITY_DEFAULT, 0.0)
            pairs_of_jobs = [
                (Job(_domain_of(b.url), PRIORITY_DEFAULT, 0.0, crawl=crawl), b.delay_ms / 1000)
                for b in delayed
            ]
            for pairs in _batches(pairs_of_jobs, self.settings.pipeline.batch_size):
                self._send(
                    [job for job, _ in pairs], less_urgent_priority(PRIORITY_DEFAULT), pairs[0][1]
                )

    def _probe(self) -> None:
        # A domain that requests a delay of 10 s also delays urgent URLs, whatever the settings are.
        undelayed = [n for n, domain in enumerate(self.domains) if not domain.kind.crawl_delay_s]
        job = Job(self.rng.choice(undelayed), 0, self.clock.now_s, probe=True)
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

        self._schedule(due_s, due)

    # Workers

    def _dispatch(self) -> None:
        """Give messages to free threads, as far as the spool allows."""
        while self.ready:
            urgent = self.ready[0][0] <= URGENT
            process = max(range(len(self.free)), key=self.free.__getitem__)
            if self.free[process] <= (
                0 if urgent else min(RESERVED_THREADS, self.settings.workers.fetch - 1)
            ):
                return
            if not self._may_claim(self.ready[0][0]):
                self._retry_claims()
                return
            self._start(process, heapq.heappop(self.ready)[3])

    def _retry_claims(self) -> None:
        """Check the spool again soon, once for all that found it closed."""
        if not self.retry_scheduled:

            def retry() -> None:
                self.retry_scheduled = False
                self._dispatch()

            self.retry_scheduled = True
            self._schedule(self.clock.now_s + GATE_S, retry)

    def _may_claim(self, priority: int) -> bool:
        opening = self.opening()
        if opening.lowest < priority:
            return False
        if opening.jobs is None:
            return True
        if self.clock.now_s >= self.gate_at_s:
            self.gate_at_s, self.claims_left = self.clock.now_s + GATE_S, opening.jobs
        self.claims_left -= 1
        return self.claims_left >= 0

    def _start(self, process: int, jobs: list[Job]) -> None:
        now_us, reserved = self.clock.now_s * 1e6, []
        self.result.visits += len(jobs)
        window_us = self.settings.politeness.slot_window_ms * 1000
        for job in jobs:
            limit = self.domains[job.domain].limit
            if job.slot_us is None or now_us > job.slot_us + window_us:
                job.slot_us = limit.reserve(now_us, self.within_us)
            if job.slot_us is None:
                self._park(job, limit.next_slot_us(now_us))
            else:
                reserved.append((job.slot_us, job))
        reserved.sort(key=lambda pair: pair[0])
        self._fetch(process, self._reserve_room(reserved), len(jobs) - len(reserved))

    def _reserve_room(self, reserved: list[tuple[float, Job]]) -> list[tuple[float, Job]]:
        """
        Return requests whose bodies fit into the spool, and reserve room. The others are sent
        again.
        """
        bounds = self.spool.bounds
        urgent = bool(reserved) and reserved[0][1].priority <= URGENT
        limit = bounds.max_fetch_bytes if urgent else bounds.max_claimed_bytes
        max_fitting = max(0, int((limit - self.spool.used_bytes) / self.body_bytes))
        for _, job in reserved[max_fitting:]:
            job.slot_us = None
            self._send([job], job.priority, self.clock.now_s + SPACE_RETRY_MS / 1000)
        self.spool.add(self.body_bytes * len(reserved[:max_fitting]))
        return reserved[:max_fitting]

    def _fetch(self, process: int, reserved: list[tuple[float, Job]], parked: int) -> None:
        now_s, request_slots = self.clock.now_s, self.request_slots[process]
        self.free[process] -= 1
        end_s = self.cpu_free_s[process] = (
            max(self.cpu_free_s[process], now_s) + parked * self.machines.visit_cpu_s
        )
        results = []
        for slot_us, job in reserved:
            # Urgent requests may exceed `fetch.concurrency` by one eighth.
            slot_free_s = now_s if job.priority <= URGENT else heapq.heappop(request_slots)
            start_s = max(slot_us / 1e6, now_s, slot_free_s)
            self.cpu_free_s[process] = (
                max(self.cpu_free_s[process], start_s) + self.machines.fetch_cpu_s
            )
            request_end_s = max(start_s + self.web.response_s(self.rng), self.cpu_free_s[process])
            if job.priority > URGENT:
                heapq.heappush(request_slots, request_end_s)
            end_s = max(end_s, request_end_s)
            results.append((start_s, job))
        self._schedule(end_s, lambda: self._finish(process, results))

    def _finish(self, process: int, results: Sequence[tuple[float, Job]]) -> None:
        self.free[process] += 1
        for start_s, job in results:
            domain = self.domains[job.domain]
            succeeded = self.rng.random() >= domain.kind.failing
            domain.limit.report(succeeded=succeeded)
            domain.first_s = domain.first_s or start_s
            if not job.attempt:  # a retry waits longer than its domain's line
                domain.last_s = max(domain.last_s, start_s)
                domain.fetched += 1
            if job.probe or not succeeded:
                self.spool.add(-self.body_bytes)
            if job.probe:
                self.result.urgent_s.append(start_s - job.since_s)
            elif succeeded:
                self._count_stored(start_s, job.crawl)
            else:
                self._retry(job)
        self._dispatch()

    def _count_stored(self, start_s: float, crawl: int) -> None:
        per_page_s = 1 / self.machines.canonicalize_s
        self.canonical_free_s = max(self.canonical_free_s, self.clock.now_s) + per_page_s
        self.result.fetched += 1
        self.result.done_s.append(start_s)
        self.result.crawls_done_s.setdefault(crawl, []).append(start_s)
        self._schedule(self.canonical_free_s, lambda: self.spool.add(-self.body_bytes))

    def _retry(self, job: Job) -> None:
        retry = next_attempt(
            UrlJob(url="http://d.example/", attempt=job.attempt),
            self.settings.pipeline,
            rng=self.rng,
        )
        if retry is None:
            self.result.failed += 1
            self.result.done_s.append(self.clock.now_s)
            return
        job.attempt, job.slot_us = retry[0].attempt, None
        self._send([job], job.priority, self.clock.now_s + retry[1] / 1000)

    # Lines

    def _park(self, job: Job, free_us: float) -> None:
        domain = self.domains[job.domain]
        domain.line.push(job.crawl, job.priority, job)
        if not domain.is_check_scheduled:
            self._schedule_check(
                job.domain, max(self.clock.now_s, (free_us - self.release_us) / 1e6)
            )

    def _schedule_check(self, number: int, at_s: float) -> None:
        self.domains[number].is_check_scheduled = True
        heapq.heappush(self.checks, (at_s, number))
        if not self.tick_scheduled:
            self.tick_scheduled = True
            self._schedule(max(self.clock.now_s, at_s) + CHECK_EVERY_S / 2, self._tick)

    def _tick(self) -> None:
        """Look at the lines that are due, like the thread in every worker."""
        while self.checks and self.checks[0][0] <= self.clock.now_s and not self.spool.closed:
            due = []
            while self.checks and self.checks[0][0] <= self.clock.now_s and len(due) < MAX_LINES:
                due.append(heapq.heappop(self.checks)[1])
            self._release(due)
        self.tick_scheduled = bool(self.checks)
        if self.checks:
            self._schedule(max(self.clock.now_s + CHECK_EVERY_S, self.checks[0][0]), self._tick)
        self._dispatch()

    def _release(self, due: Iterable[int]) -> None:
        now_us = self.clock.now_s * 1e6
        reserved: list[tuple[float, Job]] = []
        for number in due:
            domain = self.domains[number]
            domain.is_check_scheduled = False
            max_slots = 1 + int(MIN_CHECK_INTERVAL_MS * 1000 / domain.limit.interval_us)
            granted = 0
            while domain.line and granted < max_slots:
                slot_us = domain.limit.reserve(now_us, self.release_us)
                if slot_us is None:
                    break
                job = domain.line.pop()
                job.slot_us = slot_us
                reserved.append((slot_us, job))
                granted += 1
            if domain.line:
                wait_us = domain.limit.next_slot_us(now_us) - now_us - self.release_us
                wait_ms = (
                    0.0 if granted == max_slots else max(MIN_CHECK_INTERVAL_MS, wait_us / 1000)
                )
                self._schedule_check(number, self.clock.now_s + wait_ms / 1000)
        reserved.sort(key=lambda pair: pair[0])
        self._send_released(deque(reserved))

    def _send_released(self, reserved: deque[tuple[float, Job]]) -> None:
        size = self.settings.pipeline.batch_size
        while reserved:
            first_us = reserved[0][0]
            jobs: list[Job] = []
            while (
                reserved and len(jobs) < size and reserved[0][0] <= first_us + BATCH_SPAN_MS * 1000
            ):
                jobs.append(reserved.popleft()[1])
            due_s = max(self.clock.now_s, first_us / 1e6 - ARRIVAL_LEAD_MS / 1000)
            self._send(jobs, min(job.priority for job in jobs), due_s)

    def _summarize(self) -> None:
        result = self.result
        result.done_s.sort()
        result.domains = self.domains
        result.spool_bytes = self.spool.max_bytes
        shares, used, allowed = [], 0.0, 0.0
        for domain in self.domains:
            if domain.fetched > 1:
                max_requests = max(
                    domain.last_s * 1e6 / domain.limit.interval_us, domain.fetched - 1
                )
                used, allowed = used + domain.fetched - 1, allowed + max_requests
                shares.append((domain.fetched - 1) / max_requests)
        result.rate_used = used / allowed if allowed else 1.0
        squares = sum(share * share for share in shares) * len(shares)
        result.fairness = sum(shares) ** 2 / squares if squares else 1.0


def _domain_of(url: str) -> int:
    return int(url[8:].partition(".")[0])


def _batches(items: Sequence, size: int) -> Iterable:  # type: ignore[type-arg]
    return (list(items[start : start + size]) for start in range(0, len(items), size))
