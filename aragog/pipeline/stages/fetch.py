"""
Fetch a batch: robots rules, slots, the GETs, and where each URL goes next.

Safe to run twice: a fetch that is repeated is asked for at its own slot, its body gets a new token,
and the stages after it write the same thing again. Killed in the middle, the message comes back
and nothing was announced; slots that were reserved pass unused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace

from aragog.errors import AragogError, ConfigError
from aragog.fetcher.outcome import (
    Blocked,
    Busy,
    Fetched,
    Outcome,
    OutcomeKind,
    Redirected,
    Refused,
    Unreachable,
)
from aragog.fetcher.user_agent import check_user_agent
from aragog.pipeline import counters
from aragog.pipeline.faults import damaged
from aragog.pipeline.fetch_results import result_of, without_fetch
from aragog.pipeline.messages import FetchBatch, FetchResult, ResultBatch, RobotsBatch, UrlJob
from aragog.pipeline.polite_gate import PoliteGate
from aragog.pipeline.rescheduling import in_time
from aragog.pipeline.retry_policy import again
from aragog.pipeline.revalidation import Revalidation, StoredValidators, split_known
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent
from aragog.pipeline.services import Services
from aragog.pipeline.site_rules import other_spelling
from aragog.pipeline.spool.room import put_when_room, reopened, room_for
from aragog.politeness.ratelimit.slots import RateExceeded, Slot, SlotRequest
from aragog.politeness.robots.cache import RulesState
from aragog.urls.domain import host, origin
from aragog.urlstore.content.compression import compress

log = logging.getLogger(__name__)

# A thread needs about this long from its wake-up to an open connection on a busy machine; the
# limiter holds the request itself back until its slot.
HEAD_START_MS = 30
# What the spool had no room for is asked for again after this.
ROOM_AGAIN_MS = 10_000
_NO_COPY = StoredValidators()
_COUNTED_AS = {
    OutcomeKind.REFUSED: counters.REFUSED,
    OutcomeKind.BLOCKED: counters.REFUSED,
    OutcomeKind.NOT_MODIFIED: counters.NOT_MODIFIED,
}
"""Of results without a body; all others are counted as failed."""


def fetch_batch(batch: FetchBatch, services: Services) -> list[OutgoingMessage]:
    """
    What is to be sent after fetching every URL of the batch that may be fetched now.

    Blocks for `politeness.wait_inline_ms`, one fetch deadline, and while the spool is full for
    `room.PATIENCE_S` more.

    Raises:
        TransientError: Redis or the store did not answer; the whole batch runs again.
    """
    # On pinlater a closed spool has kept the message from being claimed.
    if services.waiting_jobs is None and not reopened(most_urgent(batch.jobs), services):
        return [OutgoingMessage(Destination.FETCH, batch, ROOM_AGAIN_MS, most_urgent(batch.jobs))]
    run = _Run(services)
    near = run.with_slots(run.allowed(run.unknown(batch.jobs)))
    with room_for(len(near), services) as reservation:
        if reservation is None:
            run.without_room(job for job, _ in near)
        else:
            run.fetch(near, reservation)
    return run.outgoing()


class _Run:
    """One run of `fetch_batch`: collects what becomes of each URL."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.results: list[FetchResult] = []
        self.later: list[tuple[UrlJob, int]] = []
        """Jobs, and how long they wait from the beginning of this run (ms on our stopwatch)."""
        self.began_s = services.clock.monotonic_s()
        self.robots_first: list[UrlJob] = []
        self.stale_origins: list[str] = []
        self.followed: list[OutgoingMessage] = []
        self.validators: dict[str, StoredValidators] = {}
        self.counts: dict[str, int] = {}

    def count(self, name: str, number: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def unknown(self, jobs: Sequence[UrlJob]) -> list[UrlJob]:
        """The jobs that are to be fetched; those stored already are done with."""
        jobs, stuck = damaged.split(jobs, self.services)
        jobs = self._not_taken_down(jobs)
        known: Revalidation = split_known(jobs, self.services)
        self.later += damaged.postponed([*stuck, *known.stuck])
        self.validators = known.validators
        self.count(counters.KNOWN, len(known.done))
        self.services.in_flight.clear([job.url for job in known.done])
        return known.wanted

    def _not_taken_down(self, jobs: Sequence[UrlJob]) -> list[UrlJob]:
        """Jobs without those of a URL that was taken down, or on the way to one: they end here."""
        ways = {job.url: {job.url, job.next_url, *(h.url for h in job.hops)} for job in jobs}
        refused = self.services.store.takedowns.refused(set().union(*ways.values()))
        if not refused:
            return list(jobs)
        gone = {url for url, way in ways.items() if way & refused}
        self.services.in_flight.clear(sorted(gone))
        self.count(counters.REFUSED, len(gone))
        return [job for job in jobs if job.url not in gone]

    def allowed(self, jobs: Sequence[UrlJob]) -> list[tuple[UrlJob, float | None]]:
        """The jobs that robots.txt allows, with their Crawl-delay; the others are answered."""
        services = self.services
        agent = services.settings.fetch.user_agent
        vetted = [job for job in jobs if not self._forbidden(job)]
        found = services.robots.get_many({origin(job.next_url) for job in vetted})
        may: list[tuple[UrlJob, float | None]] = []
        for job in vetted:
            of = found[origin(job.next_url)]
            if of.rules is None:
                self.robots_first.append(job)
                continue
            if of.state is RulesState.STALE:
                self.stale_origins.append(origin(job.next_url))
            why = of.rules.refusal(agent, *job.spellings)
            if why is None:
                may.append((job, of.rules.crawl_delay_s(agent)))
            elif of.unreachable:
                why = f"robots.txt could not be had (status {of.status})"
                result = self._without_fetch(job, OutcomeKind.UNREACHABLE, why)
                self._fail(job, result, self._until(of.retry_at_ms))
            else:
                self._done(self._without_fetch(job, OutcomeKind.REFUSED, why))
        return may

    def _without_fetch(self, job: UrlJob, outcome: OutcomeKind, why: str) -> FetchResult:
        return without_fetch(job, outcome, why, self.services.clock.now_ms())

    def _forbidden(self, job: UrlJob) -> bool:
        """True, and answered, where the URL alone says that it must not be fetched."""
        why = (
            self.services.overrides.blocked(host(job.next_url))
            or self._anonymous(job)
            or self.services.fetcher.ssrf_filter.vet_url(job.next_url)
        )
        if why is not None:
            self._done(self._without_fetch(job, OutcomeKind.BLOCKED, why))
        return why is not None

    def _anonymous(self, job: UrlJob) -> str | None:
        """Why we must not ask without a contact in our User-Agent; None where we may."""
        try:
            check_user_agent(self.services.settings.fetch, job.next_url)
        except ConfigError as error:
            return str(error)
        return None

    def with_slots(self, jobs: Sequence[tuple[UrlJob, float | None]]) -> list[tuple[UrlJob, Slot]]:
        """The jobs whose slot is near; the others come back when theirs is due."""
        limiter = self.services.limiter
        near: list[tuple[UrlJob, Slot]] = []
        new: list[tuple[UrlJob, SlotRequest]] = []
        for job, delay_s in jobs:
            key = limiter.key_for(job.next_url)
            if job.slot_at_ms is not None and limiter.still_good(job.slot_at_ms, key):
                self._near_or_later(job, limiter.resume(key, job.slot_at_ms, delay_s), near)
            else:
                new.append((job, SlotRequest(key, delay_s)))
        for (job, _), slot in zip(new, limiter.reserve([ask for _, ask in new]), strict=True):
            self._near_or_later(job, slot, near)
        return sorted(near, key=lambda pair: pair[1].at_us)

    def _near_or_later(
        self, job: UrlJob, slot: Slot | RateExceeded, near: list[tuple[UrlJob, Slot]]
    ) -> None:
        if isinstance(slot, RateExceeded):
            wait_ms = self.services.limiter.wait_ms(slot.key, slot.free_at_ms)
            self._wait(replace(job, slot_at_ms=None), wait_ms)
        elif slot.wait_ms > self.services.settings.politeness.wait_inline_ms + HEAD_START_MS:
            self._wait(replace(job, slot_at_ms=slot.at_ms), slot.wait_ms)
        else:
            near.append((job, slot))

    def without_room(self, jobs: Iterable[UrlJob]) -> None:
        """
        The spool has no room for their bodies: they come back later, at a new slot.

        No attempt of theirs, and without end only while nothing is stored at all.
        """
        for job in jobs:
            self._wait(replace(job, slot_at_ms=None), ROOM_AGAIN_MS)

    def fetch(self, jobs: Iterable[tuple[UrlJob, Slot]], reservation: str = "") -> None:
        """Every job at its slot, side by side; returns when all have come to something."""
        services = self.services
        started_s = services.clock.monotonic_s()
        under_way: list[tuple[UrlJob, Future[Outcome]]] = []
        for job, slot in jobs:
            passed_ms = (services.clock.monotonic_s() - started_s) * 1000
            services.clock.sleep_s((slot.wait_ms - HEAD_START_MS - passed_ms) / 1000)
            under_way.append((job, services.pool.submit(self._fetch_one, job, slot)))
        fetched: list[tuple[UrlJob, Fetched]] = []
        for job, future in under_way:
            outcome = future.result()
            if isinstance(outcome, Fetched):
                fetched.append((job, outcome))
            else:
                self._sort(job, outcome)
        self._keep(fetched, reservation)

    def _fetch_one(self, job: UrlJob, slot: Slot) -> Outcome:
        with PoliteGate(self.services, slot) as gate:
            outcome = self._outcome(job, gate)
            if gate.taken_down:
                outcome = self._without_target(job, outcome)
            ours = isinstance(outcome, Refused | Blocked | Redirected)
            if not ours:
                # From this thread: the others of the batch may take a whole deadline.
                ok = not isinstance(outcome, Busy | Unreachable)
                self.services.limiter.report(gate.key, ok=ok)
            return outcome

    def _outcome(self, job: UrlJob, gate: PoliteGate) -> Outcome:
        known = self.validators.get(job.url, _NO_COPY)
        try:
            fetcher = self.services.sitemap_fetcher if job.sitemap else self.services.fetcher
            return fetcher.fetch(
                job.next_url,
                gate=gate,
                etag=known.etag,
                last_modified=known.last_modified,
                validators_url=known.url,
                hops=job.hops,
            )
        except AragogError:
            raise
        except Exception as error:
            # A defect of ours on one hostile answer must not take the batch with it for ever.
            log.exception("a fetch failed within aragog: %s", job.next_url)
            return Unreachable(
                url=job.url,
                final_url=job.next_url,
                fetched_at_ms=self.services.clock.now_ms(),
                kind="internal",
                why=f"{type(error).__name__}: {error}",
            )

    def _without_target(self, job: UrlJob, outcome: Outcome) -> Outcome:
        """Of a redirect to a URL that was taken down: that there was one, and not where to."""
        return Refused(
            url=job.url,
            final_url=job.url,
            fetched_at_ms=outcome.fetched_at_ms,
            why="it redirects to a URL that was taken down",
        )

    def _sort(self, job: UrlJob, outcome: Outcome) -> None:
        """Where a job goes whose fetch brought no body."""
        if isinstance(outcome, Redirected):
            target = outcome.target if outcome.hops else None
            on = replace(
                job,
                target=target,
                target_given=_other(job, outcome),
                hops=outcome.hops,
                slot_at_ms=outcome.retry_at_ms,
            )
            if outcome.retry_at_ms is None:
                self.robots_first.append(on)
            else:
                limiter = self.services.limiter
                key = limiter.key_for(on.next_url)
                self._wait(on, limiter.wait_ms(key, outcome.retry_at_ms))
        elif isinstance(outcome, Busy | Unreachable):
            asked_ms = self._until(outcome.retry_at_ms) if isinstance(outcome, Busy) else None
            self._fail(job, result_of(job, outcome), asked_ms)
        else:
            self._done(result_of(job, outcome))

    def _passed_ms(self) -> int:
        return int((self.services.clock.monotonic_s() - self.began_s) * 1000)

    def _wait(self, job: UrlJob, wait_ms: int) -> None:
        """Bring a job back so long from now."""
        self.later.append((job, self._passed_ms() + wait_ms))

    def _until(self, at_ms: int | None) -> int | None:
        """How far off an instant of our own clock is, in ms."""
        return None if at_ms is None else max(0, at_ms - self.services.clock.now_ms())

    def _fail(self, job: UrlJob, result: FetchResult, wait_at_least_ms: int | None = None) -> None:
        """Another attempt, or, when it has had enough, the answer as it is."""
        services = self.services
        following = again(
            job,
            services.settings.pipeline,
            wait_at_least_ms=wait_at_least_ms,
            rng=services.rng,
        )
        if following is None:
            self._done(result)
        else:
            self.count(counters.RETRIED)
            self._wait(*following)

    def _done(self, result: FetchResult) -> None:
        self.count(_COUNTED_AS.get(result.outcome, counters.FAILED))
        self.results.append(result)

    def _keep(self, fetched: Sequence[tuple[UrlJob, Fetched]], reservation: str) -> None:
        """Bodies into the spool, mostly in one round trip; their answers carry the tokens."""
        packed = [(job, outcome, compress(outcome.body)) for job, outcome in fetched]
        tokens = put_when_room([blob for _, _, blob in packed], reservation, self.services)
        for (job, outcome, _), token in zip(packed, tokens, strict=True):
            self.count(counters.BYTES, outcome.wire_bytes)
            if token is None:
                self.without_room([job])
            else:
                self.results.append(result_of(job, outcome, token))
        self.count(counters.FETCHED, len(fetched))

    def outgoing(self) -> list[OutgoingMessage]:
        """All messages this run leads to."""
        out: list[OutgoingMessage] = []
        if self.results:
            priority = most_urgent(result.job for result in self.results)
            batch = ResultBatch(tuple(self.results))
            out.append(OutgoingMessage(Destination.CANONICALIZE, batch, priority=priority))
        out += in_time(
            self.later,
            batch_size=self.services.settings.pipeline.batch_size,
            span_ms=self.services.settings.politeness.wait_inline_ms,
            passed_ms=self._passed_ms(),
        )
        if self.robots_first:
            origins = dict.fromkeys(origin(job.next_url) for job in self.robots_first)
            first = RobotsBatch(tuple(origins), tuple(self.robots_first))
            out.append(OutgoingMessage(Destination.ROBOTS, first, priority=most_urgent(first.jobs)))
        if stale := self.services.robots.claim_refresh(set(self.stale_origins)):
            out.append(OutgoingMessage(Destination.ROBOTS, RobotsBatch(tuple(stale), claimed=True)))
        self.count(counters.LATER, len(self.later))
        self.services.counters.add(self.counts)
        return out


def _other(job: UrlJob, outcome: Redirected) -> str | None:
    """The redirect's own spelling of its target, where robots.txt must be asked about it too."""
    if not outcome.hops:
        return None
    if outcome.given is None:
        return job.target_given if job.target == outcome.target else None
    return other_spelling(outcome.given, outcome.target)
