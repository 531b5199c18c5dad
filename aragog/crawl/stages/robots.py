"""
Fetches robots.txt, then forwards the URLs waiting for the rules.

It is safe to run twice, because fresh rules are not requested again. An expiring claim in the cache
ensures that only one run at a time requests an origin's rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from aragog.crawl.egress.rules import ANY_CONTEXT, EgressContext
from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import URGENT, FetchBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.ports import CounterSink
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.pipeline.url_traces import TRACING_OFF, StageSpans, UrlTraces
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.robots_records import RobotsResult, RulesState, Validators, is_error
from aragog.crawl.politeness.second_opinion import SecondOpinion
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.crawl.politeness.tdm_file import TDM_PATH, TdmRule, includes_ai_use
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.job_egress import JobEgress
from aragog.crawl.stages.polite_gate import ROBOTS_PATH, ForbiddenUrls, RobotsGate
from aragog.crawl.stages.requester import run_fetch
from aragog.crawl.stages.robots_outcomes import (
    get_status_to_cache,
    make_robots_result,
    read_tdm_rules,
)
from aragog.crawl.stages.robots_waits import BACKGROUND, RulesWait, route_jobs
from aragog.fetch_record.causes import DeferralCause
from aragog.fetch_record.outcome import Deferred, Outcome, OutcomeKind
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenPool
from aragog.settings import Settings
from urlspelling.domain import origin

# How long to wait while another task fetches the rules. It usually takes less than half a second.
RULES_POLL_MS = 500
# Slots (request times) further away than this are not reserved for a robots.txt. For URLs, the
# limit is lower, so a robots.txt gets its slot first.
MAX_SLOT_WAIT_MS = 4_000
# How long a request for tdmrep.json may wait for its permit after robots.txt was fetched. The claim
# lasts longer.
TDM_WAIT_MS = 40_000
# How long a queued refresh may wait before it may be sent again.
REFRESH_HOLD_MS = 600_000


class RobotsFetcher(Protocol):
    """Fetches one robots.txt (`aragog.crawl.fetcher.fetcher.Fetcher`)."""

    def fetch(
        self,
        url: str,
        *,
        gate: Gate,
        etag: str | None = None,
        last_modified: str | None = None,
        egress: EgressContext = ANY_CONTEXT,
    ) -> Outcome:
        """Return the outcome. Blocks for at most one fetch deadline."""


class RulesLine(Protocol):
    """The URLs waiting for rules (`aragog.crawl.stages.waiting_line.WaitingLine`)."""

    def release_rules_waiters(self, origins: Sequence[str]) -> None:
        """Release the URLs waiting for these origins' robots.txt."""


@dataclass(frozen=True, slots=True)
class RobotsStage:
    """Fetches rules into the robots cache."""

    robots: RobotsCache
    limiter: Limiter
    fetcher: RobotsFetcher
    pool: GreenPool
    counters: CounterSink
    clock: Clock
    settings: Settings
    find_forbidden: ForbiddenUrls
    line: RulesLine
    traces: UrlTraces = TRACING_OFF
    second_opinion: SecondOpinion | None = None
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    egress: JobEgress = field(default_factory=JobEgress)

    def run(self, batch: RobotsBatch) -> list[OutgoingMessage]:
        """
        Fetch the rules. Returns the next messages, even if the rules are unreachable.

        Raises:
            TransientError: Redis did not respond; the batch runs again.
        """
        batch, paused_messages = self._keep_wanted(batch)
        with self.traces.stage("robots", batch.jobs) as spans:
            messages = _RobotsRun(self, batch, spans).run()
            return spans.with_departure_times(paused_messages + messages)

    def _keep_wanted(self, batch: RobotsBatch) -> tuple[RobotsBatch, list[OutgoingMessage]]:
        """
        Drop URLs that no crawl wants anymore, and origins whose rules only those URLs need.

        URLs of paused crawls go to `fetch`, which puts them in line.
        """
        wanted = self.checks.wanted(batch.jobs)
        if len(wanted.jobs) == len(batch.jobs):
            return replace(batch, jobs=tuple(wanted.jobs)), []
        needed_origins = {origin(job.next_url) for job in wanted.jobs}
        unneeded_origins = {origin(job.next_url) for job in batch.jobs} - needed_origins
        origins = tuple(o for o in batch.origins if o not in unneeded_origins)
        if batch.claimed:
            self.robots.refreshes.release(sorted(unneeded_origins))
        paused = FetchBatch(tuple(wanted.paused))
        outgoing = [OutgoingMessage(Destination.FETCH, paused)] if paused.jobs else []
        return replace(batch, origins=origins, jobs=tuple(wanted.jobs)), outgoing

    def refresh_expiring(
        self, *, step: int = 500, max_origins: int = 100_000
    ) -> Iterator[list[OutgoingMessage]]:
        """
        Refresh rules that are in use and become stale within ten minutes, oldest first.

        Yields the messages for `step` origins at a time, to limit memory; `max_origins` limits one
        run. Claims last for `REFRESH_HOLD_MS`, so refreshes in a backlog are not sent twice.
        """
        soon_ms = self.clock.now_ms() + 600_000
        size = self.settings.pipeline.batch_size
        for _ in range(0, max_origins, step):
            expiring = self.robots.refreshes.take_expiring(soon_ms, step)
            origins = self.robots.refreshes.claim(expiring)
            self.robots.refreshes.hold(dict.fromkeys(origins, REFRESH_HOLD_MS))
            groups = [
                tuple(origins[start : start + size]) for start in range(0, len(origins), size)
            ]
            yield [_background_message(RobotsBatch(group, claimed=True)) for group in groups]
            if len(expiring) < step:
                return


class _RobotsRun:
    """One run. Requests the rules of origins, or schedules a later run for them."""

    def __init__(self, stage: RobotsStage, batch: RobotsBatch, spans: StageSpans) -> None:
        self.stage = stage
        self.spans = spans
        self.batch = batch
        self.robots = stage.robots
        self.cached = stage.robots.get_many(batch.origins)
        self.awaited_origins = {origin(job.next_url) for job in batch.jobs}
        """Origins whose rules this batch's URLs are waiting for."""
        self.urgent_origins = {origin(job.next_url) for job in batch.jobs if job.priority <= URGENT}
        self.origins_lacking_tdm = {
            origin(job.next_url) for job in batch.jobs if self._lacks_tdm_file(job)
        }
        """Origins with a URL that needs a tdmrep.json that was not requested yet."""
        self.waits: dict[str, RulesWait] = {}

    def _lacks_tdm_file(self, job: UrlJob) -> bool:
        rules = self.cached[origin(job.next_url)].rules
        purposes = job.purposes_with_default(self.stage.settings.preferences.purposes)
        return (
            not job.sitemap and includes_ai_use(purposes) and (rules is None or rules.tdm is None)
        )

    def _requests_tdm_file(self, origin_url: str) -> bool:
        """Return True if this run requests tdmrep.json. If not, the file's cached rules stay."""
        rules = self.cached[origin_url].rules
        has_tdm_rules = rules is not None and rules.tdm is not None
        is_enabled = self.stage.settings.preferences.asks_tdm_file
        return is_enabled or has_tdm_rules or origin_url in self.origins_lacking_tdm

    def run(self) -> list[OutgoingMessage]:
        wanted = self._drop_forbidden(self._origins_to_fetch())
        claimed = wanted if self.batch.claimed else self.robots.refreshes.claim(wanted)
        near_slots = self._near_slots(self._find_slots(claimed))
        self._fetch(near_slots)
        self._hold_claims()
        self._wait_for_others(self.awaited_origins & set(wanted) - set(claimed))
        span_ms = self.stage.settings.politeness.wait_inline_ms
        return route_jobs(self.batch, self.waits, span_ms)

    def _origins_to_fetch(self) -> list[str]:
        must_fetch = self.batch.claimed or self.batch.refresh
        return [
            o
            for o, rules in self.cached.items()
            if must_fetch or rules.state != RulesState.FRESH or self._is_incomplete(o)
        ]

    def _is_incomplete(self, origin_url: str) -> bool:
        return origin_url in self.origins_lacking_tdm and not self.cached[origin_url].unreachable

    def _drop_forbidden(self, origins: Sequence[str]) -> list[str]:
        """
        Return the origins whose robots.txt may be requested.

        URLs of other origins go on to `fetch`, where the same checks deny them.
        """
        refused = self._find_forbidden([o for o in origins if o not in self.awaited_origins])
        # `fetch` has just checked the waiting URLs' takedowns.
        refused += self._find_forbidden(
            [o for o in origins if o in self.awaited_origins], takedowns=False
        )
        if refused:
            self.robots.refreshes.release(refused)
        return [o for o in origins if o not in refused]

    def _find_forbidden(self, origins: Sequence[str], *, takedowns: bool = True) -> list[str]:
        origins_by_url = {o + ROBOTS_PATH: o for o in origins}
        if not origins_by_url:
            return []
        forbidden = self.stage.find_forbidden(list(origins_by_url), takedowns=takedowns)
        return [origins_by_url[url] for url in forbidden]

    def _find_slots(self, origins: Sequence[str]) -> dict[str, Slot | RateExceeded]:
        """
        Return each origin's slot from the batch, or a new one. Takes one round trip per limiter
        node.

        A slot from the batch is used even if the message is late, because the permit decides when
        to send.
        """
        with_slot = [o for o in origins if o in self.batch.slots]
        without_slot = [o for o in origins if o not in self.batch.slots]
        replies = self.stage.limiter.reserve([self._slot_request(o) for o in without_slot])
        new_slots = dict(zip(without_slot, replies, strict=True))
        return {o: self._resume_slot(o) for o in with_slot} | new_slots

    def _slot_request(self, origin_url: str) -> SlotRequest:
        return SlotRequest(
            self.stage.limiter.key_for(origin_url + "/"),
            self._crawl_delay_s(origin_url),
            max_wait_ms=MAX_SLOT_WAIT_MS,
            urgent=origin_url in self.urgent_origins,
        )

    def _resume_slot(self, origin_url: str) -> Slot:
        return self.stage.limiter.resume(
            self.stage.limiter.key_for(origin_url + "/"),
            self.batch.slots[origin_url],
            self._crawl_delay_s(origin_url),
            urgent=origin_url in self.urgent_origins,
        )

    def _crawl_delay_s(self, origin_url: str) -> float | None:
        """Return the cached Crawl-delay, which also applies to robots.txt."""
        rules = self.cached[origin_url].rules
        return rules.crawl_delay_s(self.stage.settings.fetch.user_agent) if rules else None

    def _near_slots(self, slots: Mapping[str, Slot | RateExceeded]) -> dict[str, Slot]:
        """Return the slots soon enough to wait for. The other origins are tried later."""
        near_slots: dict[str, Slot] = {}
        for origin_url, slot in slots.items():
            if isinstance(slot, RateExceeded):
                self._retry_near_slot(origin_url, slot.key, slot.free_at_ms)
            elif slot.wait_ms > self.stage.settings.politeness.wait_inline_ms:
                self.waits[origin_url] = RulesWait(slot.wait_ms, slot.at_ms)
            else:
                near_slots[origin_url] = slot
        return near_slots

    def _retry_near_slot(self, origin_url: str, key: str, free_at_ms: int) -> None:
        wait_ms = self.stage.limiter.wait_ms(key, free_at_ms) - MAX_SLOT_WAIT_MS
        self.waits[origin_url] = RulesWait(max(RULES_POLL_MS, wait_ms))

    def _retry_later(self, origin_url: str, key: str, outcome: Deferred) -> None:
        """Try an origin again later, because no proxy works or the next slot is far away."""
        at_ms = outcome.retry_at_ms or 0
        if outcome.cause is DeferralCause.EGRESS:
            wait_ms = max(RULES_POLL_MS, at_ms - self.stage.clock.now_ms())
            self.waits[origin_url] = RulesWait(wait_ms)
        else:
            self._retry_near_slot(origin_url, key, at_ms)

    def _fetch(self, near_slots: Mapping[str, Slot]) -> None:

        validators = self._read_validators(near_slots)
        with self.stage.pool.batch() as pool_batch:
            calls = {
                o: pool_batch.submit(self._fetch_rules, o, slot, validators.get(o, Validators()))
                for o, slot in near_slots.items()
            }
        results = []
        for origin_url, call in calls.items():
            outcome, tdm_rules = call.result()
            self._trace_fetch(origin_url, outcome)
            if outcome.outcome is OutcomeKind.DEFERRED and isinstance(outcome, Deferred):
                self._retry_later(origin_url, near_slots[origin_url].key, outcome)
            else:
                results.append(make_robots_result(origin_url, outcome)._replace(tdm=tdm_rules))
        if results:
            if incomplete := [o for o in near_slots if self._is_incomplete(o)]:
                self.robots.mark_insufficient(incomplete)
            self.robots.put_many(results)
            self._compare_with_reppy(results)
            self._release_waiting(
                result.origin for result in results if not is_error(result.status)
            )
        self.stage.counters.add({counters.ROBOTS: len(near_slots)})

    def _compare_with_reppy(self, results: Iterable[RobotsResult]) -> None:
        if (reppy := self.stage.second_opinion) is None:
            return
        checks = [reppy.check(r.origin, r.body) for r in results if r.status == 200 and r.body]
        differences = [differs for differs in checks if differs is not None]
        if differences:
            counts = {counters.ROBOTS_COMPARED: len(differences)}
            self.stage.counters.add(counts | {counters.ROBOTS_DIFFERENT: sum(differences)})

    def _release_waiting(self, origins: Iterable[str]) -> None:
        """Release the URLs that waited while these origins' rules were unreachable."""
        waiting = [o for o in origins if not self.cached[o].rules or self.cached[o].unreachable]
        if waiting:
            self.stage.line.release_rules_waiters(waiting)

    def _trace_fetch(self, origin_url: str, outcome: Outcome) -> None:
        """Add the fetch to the spans of traced URLs waiting for these rules."""
        for job in self.batch.jobs if self.spans else ():
            if origin(job.next_url) == origin_url:
                self.spans.record_shared_fetch(job, origin_url + ROBOTS_PATH, outcome)

    def _read_validators(self, origins: Iterable[str]) -> dict[str, Validators]:
        """
        Return the cached rules' validators; none for a refresh requested by a user.

        Also returns none if tdmrep.json is read, because both files are cached together.
        """
        cached = [
            o
            for o in origins
            if self.cached[o].rules and not self.batch.refresh and not self._requests_tdm_file(o)
        ]
        return self.robots.validators(cached) if cached else {}

    def _fetch_rules(
        self, origin_url: str, slot: Slot, validators: Validators
    ) -> tuple[Outcome, tuple[TdmRule, ...] | None]:
        """Return the outcome for robots.txt, and the rules of tdmrep.json if needed."""
        stage = self.stage
        default_pause_s = stage.settings.pipeline.retry_first_s
        with RobotsGate(
            stage.limiter, slot, default_pause_s, find_forbidden=stage.find_forbidden
        ) as gate:
            outcome = self._fetch_url(origin_url + ROBOTS_PATH, gate, validators)
            if not self._requests_tdm_file(origin_url) or is_error(get_status_to_cache(outcome)):
                return outcome, None
            gate.inline_ms = TDM_WAIT_MS
            tdm_file = self._fetch_url(origin_url + TDM_PATH, gate, Validators())
            self.stage.counters.add({counters.ROBOTS: 1})
            return outcome, read_tdm_rules(tdm_file)

    def _fetch_url(self, url: str, gate: RobotsGate, validators: Validators) -> Outcome:
        fetch = partial(
            self.stage.fetcher.fetch,
            url,
            gate=gate,
            egress=self._egress_context(origin(url)),
            **validators._asdict(),
        )
        return run_fetch(fetch, url=url, next_url=url, clock=self.stage.clock)

    def _egress_context(self, origin_url: str) -> EgressContext:
        """Return the egress context of the first waiting URL; `ANY_CONTEXT` if none is waiting."""
        for job in self.batch.jobs:
            if origin(job.next_url) == origin_url:
                return replace(self.stage.egress.context(job), previous_status=0)
        return ANY_CONTEXT

    def _hold_claims(self) -> None:
        """Extend the claims on origins that are tried later, because fetching took some time."""
        limiter = self.stage.limiter
        for origin_url, wait in self.waits.items():
            if wait.slot_at_ms is not None:
                wait_ms = limiter.wait_ms(limiter.key_for(origin_url + "/"), wait.slot_at_ms)
                self.waits[origin_url] = wait._replace(wait_ms=wait_ms)
        self.robots.refreshes.hold({o: wait.wait_ms for o, wait in self.waits.items()})

    def _wait_for_others(self, origins: Iterable[str]) -> None:
        unknown = [o for o in origins if not self.cached[o].rules or self._is_incomplete(o)]
        for origin_url, wait_ms in self.robots.refreshes.remaining_ms(unknown).items():
            self.waits[origin_url] = RulesWait(wait_ms + RULES_POLL_MS, claimed=False)


def _background_message(batch: RobotsBatch) -> OutgoingMessage:
    return OutgoingMessage(Destination.ROBOTS, batch, priority=BACKGROUND)
