"""The stages' ports in memory, so that tests of one stage need no server and no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.in_flight import DELETED
from aragog.crawl.pipeline.in_flight_values import (
    NO_CRAWL,
    Mark,
    MarkingCrawl,
    NextCrawl,
    UrlEnding,
)
from aragog.crawl.pipeline.outcome_log import DomainOutcome
from aragog.crawl.pipeline.ports import SpoolState
from aragog.crawl.pipeline.sitemap_walks import Walk, WalkSize
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_records import CachedRules, RobotsResult, RulesState, Validators
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.slots import DomainReport, RateExceeded, Slot, SlotRequest
from aragog.crawl.stages.access_rules import AccessRules, Forbidden
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.crawl.stages.waiting_line import WaitingJob
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Fetched, Outcome
from aragog.runtime.clock import ManualClock
from aragog.runtime.green_threads import GreenPool
from aragog.settings import FetchSettings, Settings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.pipeline_harness import Sent
from tests.support.stores import NOW_MS
from urlspelling.domain import registered_domain
from zengraph.tables.memory import MemoryTables

AGENT = "test (+http://test.test/)"


class MemorySpool:
    """Blobs in a dictionary. Accepts bodies of fetches while `open`, at most `most` at a time."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.open = True
        self.most = 1_000
        self._made = 0

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        tokens = [f"t{self._made + number}" for number in range(len(blobs))]
        self._made += len(blobs)
        self.blobs |= dict(zip(tokens, blobs, strict=True))
        return tokens

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        return [self.blobs.get(token) for token in tokens]

    def free(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            self.blobs.pop(token, None)

    def mark_packed(self, tokens: Sequence[str]) -> None:
        """Nothing is counted here."""

    def reserve(self, count: int, *, urgent: bool) -> str | None:
        return self.put_many([b""])[0] if self.open and count <= self.most else None

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        if not self.open:
            return None
        self.free([reservation])
        return self.put_many(blobs)

    def state(self) -> SpoolState:
        return SpoolState(sum(map(len, self.blobs.values())), not self.open, not self.open)


class MemoryInFlight:
    """URLs in a set, without regard to crawls."""

    def __init__(self) -> None:
        self.urls: set[str] = set()
        self.ended: list[UrlEnding] = []

    def mark(
        self, urls: Sequence[str], *, insist: bool = False, for_crawl: MarkingCrawl = NO_CRAWL
    ) -> list[Mark]:
        marks = [Mark.NEW if insist or u not in self.urls else Mark.WAITING for u in urls]
        self.urls |= set(urls)
        return marks

    def confirm(self, urls: Sequence[str]) -> None:
        self.urls |= set(urls)

    def count(self) -> int:
        return len(self.urls)

    def clear(self, urls: Sequence[str], outcome: str = DELETED) -> None:
        self.end([UrlEnding(url, 0, outcome, for_all=True) for url in urls])

    def end(self, endings: Sequence[UrlEnding]) -> list[NextCrawl | None]:
        self.ended += endings
        self.urls -= {ending.url for ending in endings}
        return [None] * len(endings)


class MemoryCounters:
    """Counts in a Counter."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.ticks = 0

    def add(self, counts: Mapping[str, int]) -> None:
        self.counts.update(counts)

    def record_tick(self) -> None:
        self.ticks += 1


class MemoryOutcomes:
    """Outcomes by domain, oldest first."""

    def __init__(self) -> None:
        self.of: dict[str, list[DomainOutcome]] = {}

    def note(self, outcomes: Mapping[str, Sequence[DomainOutcome]]) -> None:
        for key, answers in outcomes.items():
            self.of.setdefault(key, []).extend(answers)


class MemoryMarks:
    """Marks of runs that have started and not ended."""

    def __init__(self) -> None:
        self.begun: Counter[tuple[str, ...]] = Counter()

    def start_run(self, tokens: Sequence[str]) -> int:
        self.begun[tuple(tokens)] += 1
        return self.begun[tuple(tokens)] - 1

    def end_run(self, tokens: Sequence[str]) -> None:
        self.begun.pop(tuple(tokens), None)


class MemoryWalks:
    """Walks in dictionaries: enqueued files, and the URLs of those that were read."""

    def __init__(self) -> None:
        self.files: dict[Walk, set[str]] = {}
        self.urls: dict[Walk, dict[str, int]] = {}

    def forget_earlier(self, request_id: str, urls: Iterable[str]) -> None:
        for url in urls:
            self.files.pop(Walk(request_id, registered_domain(url)), None)
            self.urls.pop(Walk(request_id, registered_domain(url)), None)

    def unseen_files(self, walk: Walk, files: Sequence[str]) -> list[str]:
        return [url for url in dict.fromkeys(files) if url not in self.files.get(walk, ())]

    def record_enqueued(self, walk: Walk, files: Sequence[str]) -> None:
        self.files.setdefault(walk, set()).update(files)

    def record_read(self, walk: Walk, files: Sequence[str], urls: int) -> WalkSize:
        self.record_enqueued(walk, files)
        read = self.urls.setdefault(walk, {})
        read[files[0]] = urls
        return WalkSize(len(self.files[walk]), sum(read.values()) - urls)


class MemoryLimiter:
    """Slots immediately, or after `waits_ms`. Domains in `booked_out` have none."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.waits_ms: dict[str, int] = {}
        self.booked_out: dict[str, int] = {}
        self.reports: list[tuple[str, bool]] = []
        self.resumed: list[str] = []
        self.backlog_ms = 0

    def key_for(self, url: str) -> str:
        return registered_domain(url)

    def reserve(self, requests: Sequence[SlotRequest]) -> list[Slot | RateExceeded]:
        return [self._slot(request.key, request.max_wait_ms) for request in requests]

    def _slot(self, key: str, max_wait_ms: int | None) -> Slot | RateExceeded:
        if key in self.booked_out:
            return RateExceeded(key, self.clock.now_ms() + self.booked_out[key])
        wait_ms = self.waits_ms.get(key, 0)
        if max_wait_ms is not None and wait_ms > max_wait_ms:
            return RateExceeded(key, self.clock.now_ms() + wait_ms)
        return Slot(key, (self.clock.now_ms() + wait_ms) * 1000.0, wait_ms, 1e5, 1)

    def is_usable(self, slot_at_ms: int, key: str | None = None) -> bool:
        return slot_at_ms >= self.clock.now_ms()

    def resume(
        self,
        key: str,
        slot_at_ms: int,
        crawl_delay_s: float | None = None,
        *,
        urgent: bool = False,
    ) -> Slot:
        self.resumed.append(key)
        wait_ms = self.wait_ms(key, slot_at_ms)
        return Slot(key, slot_at_ms * 1000.0, wait_ms, 1e5, 1, urgent=urgent)

    def wait_ms(self, key: str, at_ms: int) -> int:
        return max(0, at_ms - self.clock.now_ms())

    def utc_s(self, url: str) -> float:
        return self.clock.now_ms() / 1000

    def record_latency(self, key: str, ms: float, address: str | None) -> None: ...

    def acquire_permit(self, slot: Slot) -> bool:
        return True

    def release_permit(self, slot: Slot) -> None: ...

    def end_request(self, slot: Slot) -> None: ...

    def report_many(self, reports: Iterable[tuple[str, bool]]) -> None:
        self.reports += reports

    def interval_us(self, key: str, crawl_delay_s: float | None = None) -> float:
        return max(1e5, (crawl_delay_s or 0) * 1e6)

    def describe(self, keys: Sequence[str]) -> dict[str, DomainReport]:
        return {key: DomainReport(key, 10.0, None, self.backlog_ms, 1.0, 0, None) for key in keys}


class MemoryLine:
    """The jobs that were put into lines."""

    def __init__(self) -> None:
        self.waiting: list[WaitingJob] = []
        self.released: list[str] = []

    def park(self, waiting: Sequence[WaitingJob]) -> None:
        self.waiting += waiting

    def release_rules_waiters(self, origins: Sequence[str]) -> None:
        self.released += origins


class MemoryRefreshes:
    """Claims on refreshes of robots.txt, and the origins that are due."""

    def __init__(self) -> None:
        self.claims: set[str] = set()
        self.held: dict[str, int] = {}
        self.due: list[str] = []

    def claim(self, origins: Iterable[str]) -> list[str]:
        claimed = [origin for origin in origins if origin not in self.claims]
        self.claims |= set(claimed)
        return claimed

    def release(self, origins: Iterable[str]) -> None:
        self.claims -= set(origins)

    def hold(self, waits_ms: Mapping[str, int]) -> None:
        self.held |= waits_ms

    def remaining_ms(self, origins: Sequence[str]) -> dict[str, int]:
        return {origin: self.held.get(origin, 0) for origin in origins}

    def take_expiring(self, before_ms: int, limit: int = 100) -> list[str]:
        due, self.due = self.due[:limit], self.due[limit:]
        return due


class MemoryRobots:
    """Rules by origin; those of an unknown origin are `MISSING`."""

    def __init__(self) -> None:
        self.cached: dict[str, CachedRules] = {}
        self.statuses: dict[str, int | None] = {}
        self.known_validators: dict[str, Validators] = {}
        self.refreshes = MemoryRefreshes()

    def know(
        self, origin: str, text: str = "", state: RulesState = RulesState.FRESH, **known: Any
    ) -> None:
        self.cached[origin] = CachedRules(state, RobotsRules.parse(text.encode()), **known)

    def get_many(self, origins: Iterable[str]) -> dict[str, CachedRules]:
        missing = CachedRules(RulesState.MISSING)
        return {origin: self.cached.get(origin, missing) for origin in origins}

    def rules_after_admission(self, origin: str) -> RobotsRules | None:
        return self.get_many([origin])[origin].rules

    def mark_insufficient(self, origins: Iterable[str]) -> None:
        """Errors replace all rules here."""

    def put(self, origin: str, status: int | None, body: bytes, fetched_at_ms: int) -> None:
        self.statuses[origin] = status
        self.refreshes.release([origin])
        self.know(origin, body.decode())

    def put_many(self, results: Iterable[RobotsResult]) -> None:
        for result in results:
            self.put(*result[:4])

    def validators(self, origins: Sequence[str]) -> dict[str, Validators]:
        return {origin: self.known_validators.get(origin, Validators()) for origin in origins}

    def forget(self, refused: Callable[[Iterable[str]], set[str]]) -> int:
        gone = [origin for origin in self.cached if refused({f"{origin}/"})]
        for origin in gone:
            del self.cached[origin]
        return len(gone)


@dataclass
class Web:
    """
    A fetcher with an outcome by URL. Other URLs are pages titled with their URL.

    A function gets the gate and returns the outcome.
    """

    outcomes: dict[str, Outcome | Exception | Callable[[Gate], Outcome]] = field(
        default_factory=dict
    )
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def fetch(self, url: str, **options: Any) -> Outcome:
        self.requests.append((url, options))
        outcome = self.outcomes.get(url)
        if isinstance(outcome, Exception):
            raise outcome
        if callable(outcome):
            return outcome(options["gate"])
        return outcome or fetched(url, f"<title>{url}</title>")

    def urls(self) -> list[str]:
        return [url for url, _ in self.requests]


def fetched(url: str, html: str) -> Fetched:
    """Return a page fetched with status 200."""
    body = html.encode()
    return Fetched(
        url=url, final_url=url, status=200, body=body, content_type="text/html",
        fetched_at_ms=NOW_MS, wire_bytes=len(body),
    )  # fmt: skip


class Anywhere:
    """An SSRF filter that allows every URL except those in `refused`."""

    def __init__(self) -> None:
        self.refused: dict[str, str] = {}

    def vet_url(self, url: str) -> str | None:
        return self.refused.get(url)


class MemoryPorts:
    """One of each."""

    def __init__(self) -> None:
        self.settings = Settings(fetch=FetchSettings(user_agent=AGENT))
        self.clock = ManualClock(NOW_MS)
        self.spool, self.in_flight = MemorySpool(), MemoryInFlight()
        self.counters, self.marks, self.sent = MemoryCounters(), MemoryMarks(), Sent()
        self.outcomes = MemoryOutcomes()
        self.limiter, self.robots = MemoryLimiter(self.clock), MemoryRobots()
        self.line = MemoryLine()
        self.web, self.ssrf_filter, self.pool = Web(), Anywhere(), GreenPool(8)
        self.store = UrlStore(
            MemoryTables(self.clock), MemoryContent(), self.settings.store, self.clock,
            self.settings.refresh,
        )  # fmt: skip
        self.walks = MemoryWalks()
        self.enqueuer = Enqueuer(
            self.in_flight, self.sent, self.counters, batch_size=25, walks=self.walks
        )
        self.returning_jobs = ReturningJobs(self.settings.pipeline, self.clock, self.counters)
        self.discovery = Discovery(self.enqueuer, self.store, self.settings, self.walks, self.clock)
        self.refused: dict[str, Forbidden] = {}
        """Blocked and taken-down URLs with the reason."""

    def forbidden(self, urls: Sequence[str], *, takedowns: bool = True) -> dict[str, Forbidden]:
        return {
            url: self.refused[url]
            for url in urls
            if url in self.refused
            and (takedowns or self.refused[url].cause is not RefusalCause.TAKEN_DOWN)
        }

    def access_rules(self) -> AccessRules:
        return AccessRules(
            limiter=self.limiter, robots=self.robots, overrides=Overrides(),
            takedowns=self.store.takedowns, ssrf_filter=self.ssrf_filter, settings=self.settings,
        )  # fmt: skip
