"""The laws of every scenario, checked from outside: origin, store, queues, processes."""

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
"""Tolerance for two clocks and a scheduler, as in docs/politeness.md."""
MAX_MEMORY_BYTES = 700 * 2**20
MAX_SWEEP_S = 180.0
MAX_REDELIVERY_S = 90.0
"""More than `broker.claim_timeout_s`."""
IDLE_S = 1.0
CONTENT_CHECKS = 2_000
"""The content of about this many pages is checked, and only the title of the others."""
MAX_EXTRA_FETCHES = 2
"""Extra responses of one URL allowed per fault."""
QUEUES = ("fetch", "robots", "canonicalize", "store")
INVISIBLE_REPAIRS = frozenset(
    {
        "content that nothing points to",
        "record of a pack that no page has",
        "due row without its node",
    }
)
"""
A store worker that is killed before it deletes a page's last due row leaves the row; readers compare
each due row with its node. The batch of one that is killed after it put a pack is written again.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one scenario."""

    urls: int
    lost: int
    outcomes: dict[str, int]
    early: int
    """Requests that came earlier than the interval allows."""
    extra_fetches: int
    """Responses with a page, without the first of each URL."""
    accepted_in_fault: int
    """URLs that were accepted while something was broken."""
    refusals: int
    """Calls of `enqueue` that were refused during faults."""
    late_acks: int
    """Acks that were refused because the worker had lost the job."""
    violations: tuple[str, ...]


def early_requests(arrivals: list[Arrival]) -> Counter[str]:
    """Count the requests by host that came earlier than the interval allows."""
    arrivals_ms: dict[str, list[float]] = defaultdict(list)
    for arrival in arrivals:
        arrivals_ms[arrival.host].append(arrival.at_ms)
    min_gap_ms = 1000 / QPS - NOISE_MS
    return Counter(
        {
            host: early
            for host, stamps in arrivals_ms.items()
            if (early := sum(b - a < min_gap_ms for a, b in itertools.pairwise(stamps)))
        }
    )


def judge(world: World, *, may_refuse: bool) -> Verdict:
    """Check the world after its crawl has ended, while the system still runs."""
    arrivals = world.origin.arrivals()
    answers = Counter((a.host, a.path) for a in arrivals if a.status == 200)
    early = early_requests(arrivals)
    violations: list[str] = []
    store = url_store(world.system.settings)
    try:
        outcomes, problems = _check_stored(world, store)
        lost = outcomes.pop("", 0)
        violations += problems
        violations += repairs(store)
    finally:
        store.close()
    if lost:
        violations.append(f"{lost} URLs lost")
    if early:
        violations.append(f"requested too early: {dict(itertools.islice(early.items(), 5))}")
    max_fetches = max(answers.values(), default=0)
    if max_fetches > 1 + MAX_EXTRA_FETCHES * world.faults:
        violations.append(f"one URL was fetched {max_fetches} times")
    violations += _producer_violations(world.producer, may_refuse=may_refuse)
    late_acks, problems_of_queues = queues(world.system.settings, world.check)
    violations += problems_of_queues
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


def _producer_violations(producer: FaultProducer, *, may_refuse: bool) -> Iterator[str]:
    """Yield what producers should not have met during the faults."""
    yield from (f"enqueue raised {error}" for error in producer.unexpected_errors[:3])
    if may_refuse:
        return
    for error, count in producer.refused.most_common(3):
        yield f"enqueue was refused {count} times during the fault: {error}"
    if not producer.accepted:
        yield "nothing was accepted during the fault"


def _check_stored(world: World, store: UrlStore) -> tuple[Counter[str], list[str]]:
    """Return outcomes by name ("" for URLs without a record), and what is stored wrongly."""
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    urls = sorted(set(world.accepted))
    with_content = set(urls[:: max(1, len(urls) // CONTENT_CHECKS)])
    for start in range(0, len(urls), 500):
        batch = urls[start : start + 500]
        for url, record in zip(batch, store.get_many(batch), strict=True):
            outcome = str(record.facts.get("outcome", "")) if record else ""
            outcomes[outcome] += 1
            if record and outcome == "Fetched":
                host, _, path = url.removeprefix("http://").partition("/")
                page_title = json.loads(record.fields.get("page.title", b'""'))
                if page_title != (expected := title(host, f"/{path}")):
                    problems.append(f"{url} has the title {page_title!r}")
                content = store.content(url) if url in with_content else None
                if url in with_content and (not content or expected.encode() not in content.body):
                    problems.append(f"{url} has no content, or another page's")
            elif record and not record.facts.get("reason"):
                problems.append(f"{url} is {outcome} without a reason")
            if url.endswith(POISON) and outcome != "Unreadable":
                problems.append(f"{url} is {outcome or 'lost'}, not Unreadable")
    return outcomes, problems[:5]


def repairs(store: UrlStore) -> Iterator[str]:
    """Compact all links, and yield the repairs whose problem a reader would have seen."""
    while store.maintenance.compact_links().left:
        pass
    repaired = store.maintenance.repair(grace_s=0.0).repaired
    for problem, count in repaired.items():
        if problem not in INVISIBLE_REPAIRS:
            yield f"{count} repairs: {problem}"


def queues(settings: Settings, check: Callable[[], object]) -> tuple[int, list[str]]:
    """
    Return the late acks that were refused, and the problems of the queues.

    Calls `check` about once a second while it waits for jobs whose ack was lost with a server: they
    run again when their claims expire.
    """
    broker = settings.resolved().broker
    admin = Admin.connect(broker.url, broker.shards)
    deadline_s = time.monotonic() + MAX_REDELIVERY_S
    while time.monotonic() < deadline_s and any(
        sizes.running or sizes.due for sizes in (admin.status(name).sizes for name in QUEUES)
    ):
        check()
        time.sleep(IDLE_S)
    late_acks, problems_of_queues = 0, []
    for name in QUEUES:
        status = admin.status(name)
        sizes, stats = status.sizes, Counter(status.stats)
        late_acks += stats["stale"]
        if sizes.running or sizes.due:
            problems_of_queues.append(
                f"{name}: {sizes.running} jobs run, {sizes.due} are due after the end"
            )
        if sizes.failed:
            problems_of_queues.append(f"{name}: {sizes.failed} jobs FAILED")
        ended = sum(stats[name] for name in ("succeeded", "failed", "deleted", "divided"))
        if stats["enqueued"] != ended + sizes.later + sizes.running + sizes.due:
            # A job that two workers could acknowledge would be counted twice.
            problems_of_queues.append(
                f"{name}: {stats['enqueued']} jobs enqueued, {ended} ended: {stats}"
            )
    return late_acks, problems_of_queues


def spool_bytes(spool: Spool, settings: Settings, check: Callable[[], object]) -> int:
    """
    Return the bytes left in the spool by sweeps that treat a body as idle after a second.

    Calls `check` about once a second.
    """
    waiting = waiting_jobs(settings.resolved())
    deadline_s = time.monotonic() + MAX_SWEEP_S
    while (used := spool.state().used_bytes) and time.monotonic() < deadline_s:
        check()
        time.sleep(IDLE_S)
        sweep(spool, waiting, idle_s=IDLE_S)
    return used


def orphans(folder: Path) -> list[str]:
    """Return the command lines of processes that still use this data folder."""
    return [line for _, line in processes_of(folder)]


def recovery_s(world: World) -> float:
    """Return the seconds from the end of the last fault until the next page was stored."""
    before = [stored for at, stored in world.stored_at if at <= world.last_fault_s]
    stored_before = before[-1] if before else 0
    recovered = (
        at for at, stored in world.stored_at if at > world.last_fault_s and stored > stored_before
    )
    return max(0.0, next(recovered, time.monotonic()) - world.last_fault_s)
