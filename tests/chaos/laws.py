"""The laws that hold in every scenario, judged from outside: origin, store, queues, processes."""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from aragog.bootstrap.redis_services import waiting_jobs
from aragog.bootstrap.stores import url_store
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.spool_reclaim import sweep
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore
from pinlater.admin import Admin
from tests.chaos.origin import POISON, Arrival, title
from tests.chaos.producer import FaultProducer
from tests.chaos.world import QPS, World, processes_of

NOISE_MS = 2.0
"""What two clocks and a scheduler may blur, as in the promise of docs/politeness.md."""
MAX_MEMORY_BYTES = 700 * 2**20
SWEEP_WITHIN_S = 180.0
IDLE_S = 1.0
CONTENTS = 2_000
"""Of about this number of pages the content is read, of the others the title alone."""
ALLOWED_EXTRA_FETCHES = 2
"""Answers of one URL beyond the first, per fault."""
QUEUES = ("fetch", "robots", "canonicalize", "store")
REPAIRS_NO_READER_SEES = frozenset(
    {
        "content that nothing points to",
        "record of a pack that no page has",
        "due row without its node",
    }
)
"""
A store worker that is killed before it deletes the page's last due row leaves it; readers compare
each due row with its node. One that is killed after it put a pack has its batch written again.
"""


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
    in_fault: int
    """URLs that were accepted while something was broken."""
    refusals: int
    """Calls of `enqueue` that were refused in the meantime."""
    late_acks: int
    """Acks that were refused because the worker had lost the job."""
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


def judge(world: World, *, may_refuse: bool) -> Verdict:
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
        violations += repairs(store)
    finally:
        store.close()
    if lost:
        violations.append(f"{lost} URLs lost")
    if early:
        violations.append(f"asked too early: {dict(itertools.islice(early.items(), 5))}")
    most = max(answers.values(), default=0)
    if most > 1 + ALLOWED_EXTRA_FETCHES * world.faults:
        violations.append(f"one URL was fetched {most} times")
    violations += _producing(world.producer, may_refuse=may_refuse)
    late_acks, broken = queues(world.system.settings)
    violations += broken
    if world.spool_share > 1:
        violations.append(f"the spool held {world.spool_share:.0%} of its bound")
    if (left := spool_bytes(world.spool, world.system.settings, world.check)) > 0:
        violations.append(f"{left} bytes are left in the spool")
    violations += [
        f"{name} used {used >> 20} MiB"
        for name, used in world.memory_bytes.items()
        if used > MAX_MEMORY_BYTES
    ]
    extra = sum(answers.values()) - len(answers)
    total = len(set(world.accepted))
    return Verdict(
        total, lost, dict(outcomes), early.total(), extra,
        len(world.producer.accepted), world.producer.refused.total(), late_acks, tuple(violations),
    )  # fmt: skip


def _producing(producer: FaultProducer, *, may_refuse: bool) -> Iterator[str]:
    """What producers met during the faults that they should not have met."""
    yield from (f"enqueue raised {error}" for error in producer.wrong[:3])
    if may_refuse:
        return
    for error, count in producer.refused.most_common(3):
        yield f"enqueue was refused {count} times during the fault: {error}"
    if not producer.accepted:
        yield "nothing was accepted during the fault"


def _stored(world: World, store: UrlStore) -> tuple[Counter[str], list[str]]:
    """Outcomes by name ("" for URLs without a record), and what is stored wrongly."""
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    urls = sorted(set(world.accepted))
    looked_into = set(urls[:: max(1, len(urls) // CONTENTS)])
    for start in range(0, len(urls), 500):
        batch = urls[start : start + 500]
        for url, record in zip(batch, store.get_many(batch), strict=True):
            outcome = str(record.facts.get("outcome", "")) if record else ""
            outcomes[outcome] += 1
            if record and outcome == "Fetched":
                host, _, path = url.removeprefix("http://").partition("/")
                page_title = json.loads(record.fields.get("page.title", b'""'))
                if page_title != (expected := title(host, f"/{path}")):
                    wrong.append(f"{url} has the title {page_title!r}")
                content = store.content(url) if url in looked_into else None
                if url in looked_into and (not content or expected.encode() not in content.body):
                    wrong.append(f"{url} has no content, or another page's")
            elif record and not record.facts.get("reason"):
                wrong.append(f"{url} is {outcome} without a reason")
            if url.endswith(POISON) and outcome != "Unreadable":
                wrong.append(f"{url} is {outcome or 'lost'}, not Unreadable")
    return outcomes, wrong[:5]


def repairs(store: UrlStore) -> Iterator[str]:
    """Compact all links, and report what a repair found that a reader would have seen."""
    while store.maintenance.compact_links().left:
        pass
    repaired = store.maintenance.repair(grace_s=0.0).repaired
    for problem, count in repaired.items():
        if problem not in REPAIRS_NO_READER_SEES:
            yield f"repair repaired {count}: {problem}"


def queues(settings: Settings) -> tuple[int, list[str]]:
    """Acks that were refused as late, and jobs that nobody will end or that nobody ended."""
    broker = settings.resolved().broker
    admin = Admin.connect(broker.url, broker.shards)
    late, broken = 0, []
    for name in QUEUES:
        status = admin.status(name)
        sizes, stats = status.sizes, Counter(status.stats)
        late += stats["stale"]
        if sizes.running or sizes.due:
            broken.append(f"{name}: {sizes.running} jobs run, {sizes.due} are due after the end")
        if sizes.failed:
            broken.append(f"{name}: {sizes.failed} jobs FAILED")
        ended = sum(stats[name] for name in ("succeeded", "failed", "deleted", "divided"))
        if stats["enqueued"] != ended + sizes.later + sizes.running + sizes.due:
            # A job that two workers could acknowledge would be counted twice.
            broken.append(f"{name}: {stats['enqueued']} jobs enqueued, {ended} ended: {stats}")
    return late, broken


def spool_bytes(spool: Spool, settings: Settings, check: Callable[[], object]) -> int:
    """
    What a sweep leaves in the spool that takes a body for idle after a second, not minutes.

    In the meantime, it calls `check` about once a second.
    """
    waiting = waiting_jobs(settings.resolved())
    until_s = time.monotonic() + SWEEP_WITHIN_S
    while (used := spool.state().used_bytes) and time.monotonic() < until_s:
        check()
        time.sleep(IDLE_S)
        sweep(spool, waiting, idle_s=IDLE_S)
    return used


def orphans(folder: Path) -> list[str]:
    """The command lines of processes that still belong to the system of this data folder."""
    return [line for _, line in processes_of(folder)]


def recovery_s(world: World) -> float:
    """Seconds from the end of the last fault until the next page was stored."""
    before = [stored for at, stored in world.stored_at if at <= world.last_fault_s]
    level = before[-1] if before else 0
    later = (at for at, stored in world.stored_at if at > world.last_fault_s and stored > level)
    return max(0.0, next(later, time.monotonic()) - world.last_fault_s)
