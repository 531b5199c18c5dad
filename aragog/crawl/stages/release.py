"""
Releases URLs from the waiting queues of their domains (called lines), each shortly before its slot.
A slot is the reserved time of one request.

When a domain has free slots, the most urgent URLs in its line get the slots of the next 1.5 seconds
(`politeness.wait_inline_ms` and `RELEASE_LEAD_MS`) and go to `fetch`. Because slots are assigned
this late, a changed rate applies to all waiting URLs, and urgent URLs overtake the others.

URLs waiting for a robots.txt leave their line when it arrives or is requested again, and get their
slots in `fetch`. A paused crawl's URLs leave their line when the crawl is resumed.

It is safe to run twice and in many processes, because checks and entries are leased. If a process
dies before it settles a lease, the leased URL is sent again, and fetched again unless its page is
stored by then.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from aragog.crawl.pipeline.messages import URGENT, UrlJob
from aragog.crawl.pipeline.routing import Sender
from aragog.crawl.pipeline.url_traces import TRACING_OFF, UrlTraces
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.lines import (
    DueLine,
    Lines,
    LineServer,
    TakenEntry,
    is_rules_line,
    is_without_slots,
)
from aragog.crawl.politeness.overrides import Override, Overrides
from aragog.crawl.politeness.robots_records import CachedRules
from aragog.crawl.politeness.slots import RateExceeded, Slot, SlotRequest
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.line_shares import LineShares, open_next_hosts
from aragog.crawl.stages.returning_jobs import Delayed, delayed_batches
from aragog.crawl.stages.waiting_line import (
    RELEASE_LEAD_MS,
    RULES_TTL_MS,
    WaitingLine,
    parse_line_job,
    paused_crawl,
)
from aragog.errors import InvalidMessage
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.settings.token_quotas import read_quotas
from urlspelling.hosts import longest_match

log = logging.getLogger(__name__)
MAX_LINES = 200
# The shortest time between two checks of a line. Its slots are assigned together.
MIN_CHECK_INTERVAL_MS = 500
# How often to check the URLs waiting for a robots.txt if no process reports that it has arrived.
RULES_CHECK_MS = 30_000
# How many URLs waiting for a robots.txt leave their line per check, at most.
MAX_RELEASED_BY_RULES = 1_000
# How often to check a paused crawl's line if no process reports that the crawl was resumed.
PAUSED_CHECK_MS = 5_000
# How many entries one check takes from a line with URLs of ended crawls.
MAX_ENDED_TAKEN = 200
# The maximum number of entries without slots per check, for all lines together. Reading 4,000 takes
# 60 ms.
MAX_TAKEN_WITHOUT_SLOTS = 4_000
# How often to check the line of a domain that is stopped or has quiet hours. Changes to the
# overrides trigger a check, too. This interval covers changes that no process saw, and the end of
# quiet hours.
STOPPED_CHECK_MS = 60_000
# A message arrives this long before its first URL's slot.
ARRIVAL_LEAD_MS = 500
# URLs whose slots are this close together share a message.
BATCH_SPAN_MS = 500


class RulesLookup(Protocol):
    """Reads the rules of origins (`aragog.crawl.politeness.robots_cache.RobotsCache`)."""

    def peek(self, origins: Sequence[str]) -> dict[str, CachedRules]:
        """Return each origin's current rules. This does not count as using them."""


@dataclass(slots=True)
class ReleaseStage:
    """
    Assigns slots to URLs waiting in line.

    Args:
        overrides: if a domain's override changes, its line is checked.
        sender: sends URLs to `fetch`.
        robots: the rules that URLs are waiting for.
        clock: this machine's wall clock.
        is_open: returns whether fetches may start now. If not, URLs stay in line.
        checks: drops URLs that no crawl wants anymore, and moves URLs of paused crawls.
    """

    lines: Lines
    limiter: Limiter
    overrides: Overrides
    sender: Sender
    robots: RulesLookup
    clock: Clock
    settings: Settings
    is_open: Callable[[], bool] = lambda: True
    traces: UrlTraces = TRACING_OFF
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    ended_lines: dict[str, int] = field(default_factory=dict, init=False)
    """Lines with ended crawls' URLs, and how many entries to take from each per check."""
    weights: Mapping[str, float] = field(init=False)
    """API tokens' weights, from `serving.quotas`."""
    _last_overrides: Mapping[str, Override] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        quotas = read_quotas(self.settings.serving.quotas)
        self.weights = {token: quota.weight for token, quota in quotas.items()}

    def run(self) -> int:
        """
        Check the due lines. Returns how many URLs were sent.

        Raises:
            BrokerUnavailable, LimiterUnavailable: taken entries return to their lines within a
                minute.
        """
        self._check_lines_with_new_rates()
        if not self.is_open():
            return 0
        open_next_hosts(self.lines, self.checks.registry.crawls())
        return sum(self._run_server(server) for server in self.lines.servers)

    def _run_server(self, server: LineServer) -> int:
        """Return how many URLs were sent."""
        sent_count = 0
        while due_lines := server.claim_due(MAX_LINES):
            check = _LineCheck(self, server, due_lines)
            check.run()
            sent_count += check.sent_count
            if len(due_lines) < MAX_LINES and not check.has_more:
                break
        return sent_count

    def _check_lines_with_new_rates(self) -> None:

        table = self.overrides.table()
        if table is self._last_overrides:
            return
        previous, self._last_overrides = self._last_overrides, table
        for server in self.lines.servers:
            if previous is None:
                server.check_now(list(server.domains()))
            else:
                names = _changed_names(previous, table)
                server.check_now([key for key in server.domains() if longest_match(key, names)])


class _LineCheck:
    def __init__(
        self, stage: ReleaseStage, server: LineServer, due_lines: Mapping[str, DueLine]
    ) -> None:
        self.stage = stage
        self.server = server
        self.due_lines = due_lines
        self.rules_wait_ms = {**self._read_rules_waits(), **self._read_paused_waits()}
        """How long URLs in the lines of origins and paused crawls must still wait, in ms; 0 if they
        may leave."""
        self.max_wait_ms = stage.settings.politeness.wait_inline_ms + RELEASE_LEAD_MS
        crawls = stage.checks.registry.crawls()
        self.shares = LineShares(
            stage.lines, crawls, stage.weights, due_lines, stage.limiter.interval_us
        )
        self.remaining_takes = MAX_TAKEN_WITHOUT_SLOTS
        self.take_counts = {
            key: self._count_to_take(key, line.waiting) for key, line in due_lines.items()
        }
        self.taken_counts: Counter[str] = Counter()
        self.sent_count = 0
        self.has_more = False
        """True if another check could take more entries right away."""
        self.ended_only_lines: set[str] = set()
        """Lines from which only entries of ended crawls were taken. More may follow."""

    def _read_rules_waits(self) -> dict[str, int]:
        origins = [key for key in self.due_lines if is_rules_line(key)]
        if not origins:
            return {}
        now_ms = self.stage.clock.now_ms()
        rules = self.stage.robots.peek(origins)
        return {origin_url: _rules_wait_ms(cached, now_ms) for origin_url, cached in rules.items()}

    def _read_paused_waits(self) -> dict[str, int]:
        crawls = {key: crawl for key in self.due_lines if (crawl := paused_crawl(key)) is not None}
        if not crawls:
            return {}
        paused = self.stage.checks.registry.crawls().paused
        return {key: PAUSED_CHECK_MS if crawl in paused else 0 for key, crawl in crawls.items()}

    def _count_to_take(self, key: str, waiting: int) -> int:
        limiter = self.stage.limiter
        if is_without_slots(key):
            count = (
                0
                if self.rules_wait_ms[key]
                else min(waiting, MAX_RELEASED_BY_RULES, self.remaining_takes)
            )
            self.remaining_takes -= count
            return count
        if limiter.is_closed(key) or key in self.shares.all_closed:
            return 0
        capacity = 1 + int(MIN_CHECK_INTERVAL_MS * 1000 / limiter.interval_us(key))
        extra_count = max(
            0, min(self.stage.ended_lines.get(key, 0) - capacity, self.remaining_takes)
        )
        self.remaining_takes -= extra_count
        return max(1, min(waiting, capacity + extra_count))

    def run(self) -> None:
        counts = {key: count for key, count in self.take_counts.items() if count}
        token, taken = self.server.take(counts, self.shares.costs)
        self.taken_counts.update(entry.key for entry in taken)
        jobs = [(entry, self._parse_job(entry)) for entry in taken]
        wanted_jobs = self._filter_wanted([(entry, job) for entry, job in jobs if job is not None])
        needing_slots = [
            (entry, job) for entry, job in wanted_jobs if not is_without_slots(entry.key)
        ]
        replies = self.stage.limiter.reserve(
            [self._slot_request(entry, job) for entry, job in needing_slots]
        )
        without_slots = [job for entry, job in wanted_jobs if is_without_slots(entry.key)]
        to_send: list[Delayed] = [
            (self.stage.traces.end_line_wait(job), 0) for job in without_slots
        ]
        entries_to_return: list[TakenEntry] = []
        free_at_ms: dict[str, int] = {}
        sent_counts: dict[str, Counter[int]] = {}
        for (entry, job), reply in zip(needing_slots, replies, strict=True):
            if isinstance(reply, RateExceeded):
                entries_to_return.append(entry)
                free_at_ms.setdefault(entry.key, reply.free_at_ms)
            else:
                to_send.append(self._assign_slot(job, reply))
                sent_counts.setdefault(entry.key, Counter())[job.crawl] += 1
        self._send(to_send)
        self.sent_count = len(to_send)
        next_checks = self._plan_next_checks(free_at_ms)
        remaining = self.server.settle(token, entries_to_return, next_checks)
        self.shares.report(sent_counts, remaining)

    def _filter_wanted(
        self, jobs: Sequence[tuple[TakenEntry, UrlJob]]
    ) -> list[tuple[TakenEntry, UrlJob]]:
        """
        Return the jobs that a crawl still wants. Moves paused crawls' jobs to those crawls' lines.

        If the process is killed before the entries are settled, they are taken again. Their URLs
        then end again, but are not counted twice.
        """
        wanted = self.stage.checks.wanted([job for _, job in jobs])
        if len(wanted.jobs) == len(jobs):
            self.stage.ended_lines.clear()
            return [(entry, job) for (entry, _), job in zip(jobs, wanted.jobs, strict=True)]
        if wanted.paused:
            WaitingLine(self.stage.lines, 0).park(wanted.line_entries())
        wanted_jobs = {job.url: job for job in wanted.jobs}
        kept = [(entry, wanted_jobs[job.url]) for entry, job in jobs if job.url in wanted_jobs]
        self._update_ended_lines([entry for entry, _ in jobs], [entry for entry, _ in kept])
        return kept

    def _update_ended_lines(self, taken: Sequence[TakenEntry], kept: Sequence[TakenEntry]) -> None:
        """Take more entries per check from lines with ended crawls' URLs, which need no slots."""
        taken_counts = Counter(entry.key for entry in taken)
        kept_counts = Counter(entry.key for entry in kept)
        for key, count in taken_counts.items():
            if kept_counts[key] < count:
                self.stage.ended_lines[key] = min(2 * count, MAX_ENDED_TAKEN)
            else:
                self.stage.ended_lines.pop(key, None)
        self.ended_only_lines = set(taken_counts.keys() - kept_counts.keys())

    def _slot_request(self, entry: TakenEntry, job: UrlJob) -> SlotRequest:
        return SlotRequest(
            self.stage.limiter.key_for(job.next_url),
            entry.crawl_delay_s,
            max_wait_ms=self.max_wait_ms,
            urgent=job.priority <= URGENT,
            for_other_process=True,
        )

    @staticmethod
    def _parse_job(entry: TakenEntry) -> UrlJob | None:
        try:
            return parse_line_job(entry.payload)
        except (InvalidMessage, ValueError):
            log.exception("skipping an invalid entry in the line of %s", entry.key)
            return None

    def _assign_slot(self, job: UrlJob, slot: Slot) -> Delayed:
        job = self.stage.traces.end_line_wait(job)
        return replace(job, slot_at_ms=slot.at_ms), slot.wait_ms

    def _send(self, jobs: Sequence[Delayed]) -> None:
        messages = delayed_batches(
            jobs,
            batch_size=self.stage.settings.pipeline.batch_size,
            span_ms=BATCH_SPAN_MS,
            elapsed_ms=ARRIVAL_LEAD_MS,
        )
        # These messages only move jobs that are already in Redis.
        self.stage.sender.send_all([replace(message, even_when_full=True) for message in messages])

    def _plan_next_checks(self, free_at_ms: Mapping[str, int]) -> dict[str, int]:
        """Return how long to wait before each line's next check, in ms."""
        delays_ms: dict[str, int] = {}
        for key in self.due_lines:
            if wait_ms := self.rules_wait_ms.get(key, 0):
                delays_ms[key] = min(wait_ms, RULES_CHECK_MS)
            elif key in self.ended_only_lines:
                delays_ms[key] = 0
                self.has_more = True
            elif not self.take_counts[key]:
                delays_ms[key] = 0 if is_without_slots(key) else STOPPED_CHECK_MS
                self.has_more |= self.remaining_takes <= 0
            elif key in free_at_ms:
                wait_ms = self.stage.limiter.wait_ms(key, free_at_ms[key]) - self.max_wait_ms
                delays_ms[key] = max(MIN_CHECK_INTERVAL_MS, wait_ms)
            elif key in self.shares.closed and self.taken_counts[key] < self.take_counts[key]:
                delays_ms[key] = STOPPED_CHECK_MS  # checked earlier if its host is opened
            else:
                delays_ms[key] = 0  # all taken URLs got slots, so more may be waiting
                self.has_more = True
        return delays_ms


def _rules_wait_ms(cached: CachedRules, now_ms: int) -> int:
    """Return how long URLs must still wait for an unreachable robots.txt, in ms."""
    if cached.unreachable:
        return max(MIN_CHECK_INTERVAL_MS, (cached.retry_at_ms or now_ms) - now_ms)
    if cached.fetched_at_ms is None:  # it must be requested again
        return 0
    return max(0, cached.fetched_at_ms + RULES_TTL_MS - now_ms)


def _changed_names(old: Mapping[str, Override], new: Mapping[str, Override]) -> set[str]:
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}
