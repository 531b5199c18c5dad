"""The laws that hold in every scenario, judged from outside: origin, store, queues, processes."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aragog.bootstrap.stores import url_store
from aragog.pinlater.admin import Admin
from aragog.urlstore.store import UrlStore
from tests.chaos.origin import POISON, Arrival, title
from tests.chaos.world import QPS, World, processes_of

NOISE_MS = 2.0
"""What two clocks and a scheduler may blur, as in the promise of docs/politeness.md."""
MOST_MEMORY_BYTES = 700 * 2**20
ALLOWED_EXTRA_FETCHES = 2
"""Answers of one URL beyond the first, per fault."""
QUEUES = ("fetch", "robots", "canonicalize", "store")
REPAIRS_NO_READER_SEES = frozenset({"content object nothing points to"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one scenario came to."""

    urls: int
    lost: int
    outcomes: dict[str, int]
    early: int
    """Requests that came sooner than the interval allows."""
    extra_fetches: int
    """Answers with a page beyond the first of each URL."""
    violations: tuple[str, ...]


def early_requests(arrivals: list[Arrival]) -> Counter[str]:
    """Requests by host that came sooner after the one before than the interval allows."""
    at_ms: dict[str, list[float]] = defaultdict(list)
    for arrival in arrivals:
        at_ms[arrival.host].append(arrival.at_ms)
    shortest = 1000 / QPS - NOISE_MS
    return Counter(
        {
            host: early
            for host, stamps in at_ms.items()
            if (early := sum(b - a < shortest for a, b in itertools.pairwise(stamps)))
        }
    )


def judge(world: World, *, moved_domains: bool) -> Verdict:
    """Judge the world after its crawl ended; the system still runs."""
    arrivals = world.origin.arrivals()
    answers = Counter((a.host, a.path) for a in arrivals if a.status == 200)
    early = early_requests(arrivals)
    violations: list[str] = []
    store = url_store(world.system.settings)
    try:
        outcomes, wrong = _stored(world, store)
        lost = outcomes.pop("", 0)
        violations += wrong
        violations += _repairs(store)
    finally:
        store.close()
    if lost:
        violations.append(f"{lost} URLs lost")
    allowed = 1 if moved_domains else 0
    if too_early := {host: n for host, n in early.items() if n > allowed}:
        violations.append(f"asked too early: {dict(itertools.islice(too_early.items(), 5))}")
    most = max(answers.values(), default=0)
    if most > 1 + ALLOWED_EXTRA_FETCHES * world.faults:
        violations.append(f"one URL was fetched {most} times")
    violations += _queues(world)
    violations += [
        f"{name} used {used >> 20} MiB"
        for name, used in world.memory_bytes.items()
        if used > MOST_MEMORY_BYTES
    ]
    extra = sum(answers.values()) - len(answers)
    total = len(set(world.accepted))
    return Verdict(total, lost, dict(outcomes), early.total(), extra, tuple(violations))


def _stored(world: World, store: UrlStore) -> tuple[Counter[str], list[str]]:
    """Outcomes by name ("" for URLs without a record), and what is stored wrongly."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    urls = sorted(set(world.accepted))
    for start in range(0, len(urls), 500):
        batch = urls[start : start + 500]
        for url, record in zip(batch, store.get_many(batch), strict=True):
            outcome = str(record.facts.get("outcome", "")) if record else ""
            outcomes[outcome] += 1
            if record and outcome == "Fetched":
                host, _, path = url.removeprefix("http://").partition("/")
                found = json.loads(record.fields.get("page.title", b'""'))
                if found != title(host, f"/{path}"):
                    wrong.append(f"{url} has the title {found!r}")
            elif record and not record.facts.get("reason"):
                wrong.append(f"{url} is {outcome} without a reason")
            if url.endswith(POISON) and outcome != "Unreadable":
                wrong.append(f"{url} is {outcome or 'lost'}, not Unreadable")
    return outcomes, wrong[:5]


def _repairs(store: UrlStore) -> Iterator[str]:
    while store.maintenance.compact_links().left:
        pass
    mended = store.maintenance.repair(grace_s=0.0).mended
    for problem, count in mended.items():
        if problem not in REPAIRS_NO_READER_SEES:
            yield f"repair mended {count}: {problem}"


def _queues(world: World) -> Iterator[str]:
    """Jobs that nobody will end."""
    broker = world.system.settings.resolved().broker
    admin = Admin.connect(broker.url, broker.shards)
    for name in QUEUES:
        sizes = admin.status(name).sizes
        if sizes.running or sizes.due:
            yield f"{name}: {sizes.running} jobs run and {sizes.due} are due after the end"
        if sizes.failed:
            yield f"{name}: {sizes.failed} jobs FAILED"


def orphans(folder: Path) -> list[str]:
    """The command lines of processes that still belong to the system of this data folder."""
    return [line for _, line in processes_of(folder)]


def recovery_s(world: World) -> float:
    """Seconds from the end of the last fault until the next page was stored."""
    before = [stored for at, stored in world.stored_at if at <= world.last_fault_s]
    level = before[-1] if before else 0
    later = (at for at, stored in world.stored_at if at > world.last_fault_s and stored > level)
    return max(0.0, next(later, time.monotonic()) - world.last_fault_s)
