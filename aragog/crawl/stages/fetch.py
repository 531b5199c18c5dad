"""
Fetches a batch: applies robots rules, waits for slots (reserved request times), sends the GETs, and
routes each URL onward.

It is safe to run twice. A repeated fetch waits for its own slot, its body gets a new spool token,
and later stages write the same result again. If the worker is killed, its slots expire unused and
the message is redelivered. A URL may then be in its domain's waiting queue (called line) twice. It
is still fetched once, because it is stored by the time its second entry is due.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.fetch_results import make_result, result_without_fetch, trim_hops
from aragog.crawl.pipeline.messages import URGENT, FetchBatch, FetchResult, RobotsBatch, UrlJob
from aragog.crawl.pipeline.outcome_log import DomainOutcome
from aragog.crawl.pipeline.packed_body import PackedBody
from aragog.crawl.pipeline.ports import CounterSink, OutcomeSink
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from aragog.crawl.pipeline.site_rules import original_form_for_robots
from aragog.crawl.pipeline.spool_room import SpoolSpace
from aragog.crawl.pipeline.url_traces import TRACING_OFF, StageSpans, UrlTraces
from aragog.crawl.politeness.slots import Slot
from aragog.crawl.stages.access import Access, Denial
from aragog.crawl.stages.access_rules import RulesUnreachable
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.crawl.stages.requester import Requester
from aragog.crawl.stages.returning_jobs import Delayed, ReturningJobs
from aragog.crawl.stages.revalidation import JobSelection, StoredValidators
from aragog.crawl.stages.waiting_line import WaitingJob
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import (
    Busy,
    Deferred,
    Fetched,
    Outcome,
    OutcomeKind,
    Redirected,
    Unreachable,
    Withheld,
)
from aragog.observability.logs import log_url
from aragog.settings import RenderingSettings
from urlspelling.domain import origin

log = logging.getLogger(__name__)

# Delay when the spool is full.
SPACE_RETRY_MS = 10_000
# The `after_status` of a job that signs in again, once, because its session has expired.
SIGNED_OUT = 401
NO_RENDERING = RenderingRule(RenderingSettings())
_COUNTERS_BY_OUTCOME = {
    OutcomeKind.REFUSED: counters.REFUSED,
    OutcomeKind.BLOCKED: counters.REFUSED,
    OutcomeKind.NOT_MODIFIED: counters.NOT_MODIFIED,
}
"""Counters for results without a body. Other results count as failed."""


@dataclass(frozen=True, slots=True)
class FetchStage:
    """Fetches those URLs of a batch that may be fetched now."""

    selection: JobSelection
    requester: Requester
    spool_space: SpoolSpace
    returning_jobs: ReturningJobs
    counters: CounterSink
    outcomes: OutcomeSink
    rendering: RenderingRule = NO_RENDERING
    traces: UrlTraces = TRACING_OFF
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    """Drops URLs that no crawl wants anymore, and lets URLs of paused crawls wait in line."""

    @property
    def access(self) -> Access:
        return self.requester.access

    def run(self, batch: FetchBatch) -> list[OutgoingMessage]:
        """
        Fetch the batch's URLs. Returns the messages to send.

        Blocks for up to `politeness.wait_inline_ms` plus one fetch deadline, and up to
        `spool_room.MAX_WAIT_S` longer if the spool is full.

        Raises:
            TransientError: Redis or the store did not respond; the whole batch runs again.
        """
        with self.traces.stage("fetch", batch.jobs) as spans:
            return spans.with_departure_times(self._fetch(batch, spans))

    def _fetch(self, batch: FetchBatch, spans: StageSpans) -> list[OutgoingMessage]:
        wanted = self.checks.wanted(batch.jobs)
        self.access.line.park(wanted.line_entries())
        continuing = self._park_host_limited(wanted.jobs)
        if not continuing:
            return []
        batch = FetchBatch(tuple(continuing))
        urgency = most_urgent_priority(batch.jobs)
        if not self.spool_space.wait_until_open(urgency):
            return [OutgoingMessage(Destination.FETCH, batch, SPACE_RETRY_MS, urgency)]
        run = _Run(self, spans)
        validators, allowed = run.vet(batch.jobs)
        jobs_with_slots, in_line = self.access.assign_slots(allowed)
        run.in_line += in_line
        with self.spool_space.reservation(
            len(jobs_with_slots), urgent=urgency <= URGENT
        ) as reservation:
            capacity = reservation.bodies if reservation else 0
            run.postpone_until_space(job for job, _ in jobs_with_slots[capacity:])
            if reservation:
                run.fetch(jobs_with_slots[:capacity], validators, reservation.token)
        return run.outgoing()

    def _park_host_limited(self, jobs: Sequence[UrlJob]) -> list[UrlJob]:
        """Put jobs in line if their crawls limit open hosts. Returns the other jobs."""
        continuing, waiting = [], []
        for job in jobs:
            is_bounded = job.crawl and self.checks.get_crawl(job).max_open_hosts
            if is_bounded and job.slot_at_ms is None and job.priority > URGENT:
                key = self.access.limiter.key_for(job.next_url)
                waiting.append(WaitingJob(job, key, None, 0))
            else:
                continuing.append(job)
        self.access.line.park(waiting)
        return continuing


class _Run:
    """One run of the stage, with the result of each URL."""

    def __init__(self, stage: FetchStage, spans: StageSpans) -> None:
        self.stage = stage
        self.spans = spans
        self.clock = stage.returning_jobs.clock
        # Read the time before sending any request: this raises if the Redis server that keeps the
        # time does not respond.
        self.clock.now_ms()
        self.started_s = self.clock.monotonic_s()
        self.results: list[FetchResult] = []
        self.delayed_jobs: list[Delayed] = []
        """Jobs to send again, with their delay since this run started (ms, monotonic)."""
        self.in_line: list[WaitingJob] = []
        self.waiting_for_rules: list[WaitingJob] = []
        self.robots_first: list[UrlJob] = []
        self.stale_origins: list[str] = []
        self.replies: list[OutgoingMessage] = []
        """Replies for callers whose URLs are already stored or were taken down."""
        self.counts: Counter[str] = Counter()
        self.outcomes: defaultdict[str, list[DomainOutcome]] = defaultdict(list)
        """This run's outcomes by rate-limiter key."""

    def vet(
        self, jobs: Sequence[UrlJob]
    ) -> tuple[dict[str, StoredValidators], list[tuple[UrlJob, float | None]]]:
        """
        Return the validators, and the jobs that may be fetched, each with its Crawl-delay. Records
        the results of all other jobs.
        """
        selected = self.stage.selection.select(jobs)
        self.delayed_jobs += selected.postponed
        self.replies += selected.replies
        # The selection has just checked takedowns.
        vetted = self.stage.access.vet(selected.jobs, takedowns=False)
        self.robots_first += vetted.robots_first
        self.stale_origins += vetted.stale_origins
        self.postpone(vetted.too_early)
        now_ms = self.clock.now_ms()
        for denial in vetted.denied:
            self._record_outcome(denial.job, DomainOutcome(denial.outcome))
            result = self._refused_result(denial, now_ms)
            if isinstance(denial.verdict, RulesUnreachable):
                self._wait_for_rules(denial.job, result, denial.verdict)
            else:
                self._add_result(result)
        # Do this immediately: rules that arrive before the jobs are in line would not release them.
        self.stage.access.line.park(self._with_departure_times(self.waiting_for_rules))
        allowed = [(job, self._delay_s(job, delay_s)) for job, delay_s in vetted.allowed]
        return self.stage.rendering.usable_validators(selected.validators), allowed

    def _delay_s(self, job: UrlJob, crawl_delay_s: float | None) -> float | None:
        """Return the Crawl-delay or the interval of the crawl's rate, whichever is longer."""
        rate = self.stage.checks.get_crawl(job).rate if job.crawl else None
        return crawl_delay_s if rate is None else max(crawl_delay_s or 0.0, 1 / rate)

    def _refused_result(self, denial: Denial, now_ms: int) -> FetchResult:
        """
        Return the result for a URL that may not be requested, with its site's current statements
        about allowed uses.
        """
        result = result_without_fetch(
            denial.job, denial.outcome, denial.reason, now_ms, cause=denial.cause
        )
        has_statements = denial.outcome is OutcomeKind.REFUSED and not denial.job.sitemap
        statements = self.stage.access.statements(denial.job.next_url) if has_statements else ""
        fetch = replace(result.fetch, robots_preferences=statements or None)
        return replace(result, fetch=fetch)

    def _with_departure_times(self, waiting: Iterable[WaitingJob]) -> list[WaitingJob]:
        return [entry._replace(job=self.spans.with_departure_time(entry.job)) for entry in waiting]

    def postpone(self, delayed: Iterable[Delayed]) -> None:
        elapsed_ms = self._elapsed_ms()
        self.delayed_jobs += [(job, elapsed_ms + wait_ms) for job, wait_ms in delayed]

    def postpone_until_space(self, jobs: Iterable[UrlJob]) -> None:
        """
        Postpone jobs whose bodies do not fit into the spool. They lose their slots.

        This only happens while the store stage is stopped, and does not count as an attempt.
        """
        self.postpone((replace(job, slot_at_ms=None), SPACE_RETRY_MS) for job in jobs)

    def fetch(
        self,
        jobs: Sequence[tuple[UrlJob, Slot]],
        validators: Mapping[str, StoredValidators],
        reservation: str,
    ) -> None:
        """Fetch every job in its slot. Returns when each job has its outcome."""
        fetched: list[tuple[UrlJob, Fetched, PackedBody]] = []
        for job, outcome, body, is_signed_out in self.stage.requester.run(
            jobs, validators, self.spans
        ):
            if outcome.outcome is not OutcomeKind.DEFERRED:
                self._record_outcome(job, DomainOutcome(outcome.outcome, outcome.status))
            if is_signed_out and job.after_status != SIGNED_OUT:
                self._retry_or_fail(
                    replace(job, after_status=SIGNED_OUT), make_result(job, outcome), 0
                )
            elif isinstance(outcome, Fetched) and body:
                fetched.append((job, outcome, body))
            else:
                self._route(job, outcome)
        self._store_bodies(fetched, reservation)

    def _route(self, job: UrlJob, outcome: Outcome) -> None:
        if isinstance(outcome, Deferred):
            self._defer(_with_next_request(job, outcome), outcome)
        elif isinstance(outcome, Busy | Unreachable):
            retry_at_ms = self._ms_until(outcome.retry_at_ms) if isinstance(outcome, Busy) else None
            self._retry_or_fail(self._reroute(job, outcome), make_result(job, outcome), retry_at_ms)
        elif (rerouted := self._reroute(job, outcome)) is not job:
            self._retry_or_fail(rerouted, make_result(job, outcome))
        else:
            self._add_result(make_result(job, outcome))

    def _reroute(self, job: UrlJob, outcome: Outcome) -> UrlJob:
        """
        Return the job, with the response's status if a retry after this status would use other
        egress routes.
        """
        status = outcome.status if isinstance(outcome, Busy | Withheld) else None
        if status is None or not self.stage.requester.egress.routes_differ(job, outcome, status):
            return job
        return replace(job, after_status=status)

    def _defer(self, job: UrlJob, outcome: Deferred) -> None:
        access, at_ms = self.stage.access, outcome.retry_at_ms or 0
        match outcome.cause:
            case DeferralCause.RULES:
                self.robots_first.append(job)
            case DeferralCause.EGRESS | DeferralCause.SIGN_IN:
                self.postpone([(job, self._ms_until(at_ms) or 0)])
            case DeferralCause.VISIT_TIME:
                key = access.limiter.key_for(job.next_url)
                self.postpone([(job, access.limiter.wait_ms(key, at_ms))])
            case DeferralCause.SLOT | DeferralCause.DEADLINE:
                waiting = access.return_to_line(job, at_ms)
                delay_s = self._delay_s(job, waiting.crawl_delay_s)
                self.in_line.append(waiting._replace(crawl_delay_s=delay_s))
            case _:
                assert_never(outcome.cause)

    def _record_outcome(self, job: UrlJob, outcome: DomainOutcome) -> None:
        self.outcomes[self.stage.access.limiter.key_for(job.next_url)].append(outcome)

    def _elapsed_ms(self) -> int:
        return int((self.clock.monotonic_s() - self.started_s) * 1000)

    def _ms_until(self, at_ms: int | None) -> int | None:
        return None if at_ms is None else max(0, at_ms - self.clock.now_ms())

    def _retry_or_fail(
        self, job: UrlJob, result: FetchResult, min_wait_ms: int | None = None
    ) -> None:
        """Schedule another attempt, or record the failure if none are left."""
        retry = self.stage.returning_jobs.next_attempt(job, min_wait_ms)
        if retry is None:
            self._add_result(result)
        else:
            self.counts[counters.RETRIED] += 1
            self.postpone([retry])

    def _wait_for_rules(self, job: UrlJob, result: FetchResult, verdict: RulesUnreachable) -> None:
        """Schedule another attempt for when robots.txt has arrived or is requested again."""
        until_ms = self._ms_until(verdict.retry_at_ms)
        retry = self.stage.returning_jobs.next_attempt(job, until_ms)
        if retry is None:
            self._add_result(result)
        else:
            self.counts[counters.RETRIED] += 1
            self.waiting_for_rules.append(
                WaitingJob(retry[0], origin(job.next_url), None, retry[1])
            )

    def _add_result(self, result: FetchResult) -> None:
        name = _COUNTERS_BY_OUTCOME.get(result.fetch.outcome, counters.FAILED)
        self.counts[name] += 1
        if name == counters.FAILED:
            self.counts[counters.failure_counter(result.fetch.outcome)] += 1
        self.results.append(result)

    def _store_bodies(
        self, fetched: Sequence[tuple[UrlJob, Fetched, PackedBody]], reservation: str
    ) -> None:
        """Write bodies to the spool, usually in one round trip, and add their results."""
        tokens = self.stage.spool_space.put([body.blob for _, _, body in fetched], reservation)
        for (job, outcome, body), token in zip(fetched, tokens, strict=True):
            self.counts[counters.BYTES] += outcome.wire_bytes
            if token is None:
                self.postpone_until_space([job])
            else:
                self.results.append(make_result(job, outcome, token, body))
        self.counts[counters.FETCHED] += len(fetched)

    def outgoing(self) -> list[OutgoingMessage]:
        span_ms = self.stage.access.rules.settings.politeness.wait_inline_ms
        elapsed_ms = self._elapsed_ms()
        messages = [
            *self.stage.rendering.route_results(self.results),
            *self.stage.returning_jobs.delayed(
                self.delayed_jobs, span_ms=span_ms, elapsed_ms=elapsed_ms
            ),
            *self._robots_messages(),
            *self.replies,
        ]
        self.stage.access.line.park(self._with_departure_times(self.in_line))
        waiting = len(self.delayed_jobs) + len(self.in_line) + len(self.waiting_for_rules)
        self.counts[counters.RESCHEDULED] += waiting
        if self.spans or log.isEnabledFor(logging.INFO):
            self._log()
        self.stage.counters.add(self.counts)
        self.stage.outcomes.note(self.outcomes)
        return messages

    def _log(self) -> None:
        for result in self.results:
            fetch = result.fetch
            facts = {"status": fetch.status, "ms": fetch.total_ms, "reason": fetch.reason}
            self._log_job(result.job, fetch.outcome.value, **facts)
        for job, wait_ms in self.delayed_jobs:
            self._log_job(job, "rescheduled", wait_ms=wait_ms, attempt=job.attempt)
        for job in self.robots_first:
            self._log_job(job, "robots first")
        for waiting in (*self.in_line, *self.waiting_for_rules):
            self._log_job(waiting.job, "in line", wait_ms=waiting.wait_ms)

    def _log_job(self, job: UrlJob, event: str, **facts: str | float | None) -> None:
        self.spans.event(job, event, **facts)
        log_url(log, event, job.url, job.request_id, **facts, **self.spans.ids(job))

    def _robots_messages(self) -> list[OutgoingMessage]:
        messages = []
        if self.robots_first:
            origins = dict.fromkeys(origin(job.next_url) for job in self.robots_first)
            batch = RobotsBatch(tuple(origins), tuple(self.robots_first))
            priority = most_urgent_priority(batch.jobs)
            messages.append(OutgoingMessage(Destination.ROBOTS, batch, priority=priority))
        if stale := self.stage.access.claim_refresh(self.stale_origins):
            messages.append(
                OutgoingMessage(Destination.ROBOTS, RobotsBatch(tuple(stale), claimed=True))
            )
        return messages


def _with_next_request(job: UrlJob, outcome: Deferred) -> UrlJob:
    """Return the job without a slot, set to continue with the unsent request."""
    if not isinstance(outcome, Redirected):
        return replace(job, slot_at_ms=None)
    # If the redirect writes its target differently, robots.txt must also allow that form.
    other_form = (
        None if outcome.given is None else original_form_for_robots(outcome.given, outcome.target)
    )
    return replace(
        job,
        target=outcome.target,
        target_given=other_form,
        hops=trim_hops(outcome.hops),
        slot_at_ms=None,
    )
