"""
URLs that are due are fetched again: behind the new ones, inside each domain's rate, spread evenly.

A tick takes what has come due since the one before. After an outage the oldest is taken first, at
a pace that grows with how late it is, so that all is caught up with in some `refresh.smooth_s` and
nothing comes in one go. Of one domain a tick takes `refresh.domain_share` of what its rate allows
until the next, and a tenth of that while its slots are given away to others; the rest is put off,
each to an instant of its own, in the due index itself.

Safe to run twice and by several beats at once: a tick is taken by check-and-put, a due row is
claimed before it is enqueued, and a URL that waits already is not enqueued again. A run that is
killed after the claim loses nothing: the claim runs out and the row is due once more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aragog.pipeline.bundles import PRIORITY_REFRESH
from aragog.pipeline.enqueue import Wanted
from aragog.pipeline.services import Services
from aragog.urlstore.records import Due

# Longer than a fetch takes from queue to store on a healthy system; the row is written anew then.
CLAIM_S = 900.0
TICK = "refresh"
TICK_S = 5.0
# Beats that are a little early must not lose their tick, two beats must not get two.
_EARLY_S = 0.8
# What a tick may catch up with after it was long away; more would come in one go.
_LONGEST_TICK_S = 60.0
# Steps of `refresh.batch` in one tick, at most.
_STEPS = 10
# Of a domain whose slots are given away: refreshing is slow there, but it does not stop.
_BUSY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Tick:
    """What one run did."""

    enqueued: int = 0
    put_off: int = 0
    lag_ms: int = 0
    """How late the oldest was."""


def enqueue_due(services: Services) -> Tick:
    """Enqueue what is due; nothing when another beat has just done so."""
    now_ms = services.clock.now_ms()
    passed_s = services.store.take_tick(TICK, now_ms, TICK_S * _EARLY_S)
    if passed_s is None:
        return Tick()
    passed_s = min(passed_s, _LONGEST_TICK_S)
    oldest_ms = services.store.oldest_due_ms(now_ms)
    if oldest_ms is None:
        return Tick()
    settings = services.settings.refresh
    upto_ms = horizon_ms(oldest_ms, now_ms, tick_s=passed_s, smooth_s=settings.smooth_s)
    wanted = Wanted(refresh=True, priority=PRIORITY_REFRESH)
    enqueued = put_off = 0
    used: Counter[str] = Counter()
    for _ in range(_STEPS):
        due = services.store.claim_due(now_ms, settings.batch, CLAIM_S, upto_ms=upto_ms)
        now, later = within_rates(due, services, used, now_ms=now_ms, tick_s=passed_s)
        services.store.put_off(later)
        enqueued += sum(1 for _ in services.enqueuer.enqueue([d.url for d in now], wanted))
        put_off += len(later)
        if not due:
            break
    return Tick(enqueued, put_off, now_ms - oldest_ms)


def horizon_ms(oldest_ms: int, now_ms: int, *, tick_s: float, smooth_s: float) -> int:
    """
    Up to which instant of the schedule a tick goes: now, unless much is late.

    What is `smooth_s` late is gone through at twice the pace of time, and so on: of a backlog
    about the same share is done in each tick, and what comes due meanwhile besides.
    """
    lag_ms = now_ms - oldest_ms
    tick_ms = tick_s * 1000
    if lag_ms <= 2 * tick_ms:
        return now_ms
    return min(now_ms, oldest_ms + int(tick_ms * (1 + lag_ms / (smooth_s * 1000))))


def within_rates(
    due: Sequence[Due], services: Services, used: Counter[str], *, now_ms: int, tick_s: float
) -> tuple[list[Due], list[tuple[Due, int]]]:
    """
    What may go now, and what is put off until when: no domain is asked more than its share.

    `used` counts what went of each domain in this tick.
    """
    limiter = services.limiter
    by_domain: dict[str, list[Due]] = defaultdict(list)
    for one in due:
        by_domain[limiter.key_for(one.url)].append(one)
    reports = limiter.describe(list(by_domain)) if by_domain else {}
    now: list[Due] = []
    over: dict[str, tuple[list[Due], float]] = {}
    for key, its in by_domain.items():
        report = reports[key]
        busy = report.backlog_ms > tick_s * 1000
        share = services.settings.refresh.domain_share * (_BUSY_SHARE if busy else 1.0)
        rate_per_s = max(report.qps * share, 1e-3)
        at_once = max(max(1, int(rate_per_s * tick_s)) - used[key], 0)
        used[key] += min(at_once, len(its))
        now += its[:at_once]
        if its[at_once:]:
            over[key] = (its[at_once:], rate_per_s)
    return now, _spread(over, services, from_ms=now_ms + int(tick_s * 1000))


def _spread(
    over: Mapping[str, tuple[list[Due], float]], services: Services, *, from_ms: int
) -> list[tuple[Due, int]]:
    """Instants for what is too much, behind those that were given out for its domain before."""
    later: list[tuple[Due, int]] = []
    booked = services.store.booked_ms(list(over)) if over else {}
    for key, (its, rate_per_s) in over.items():
        start_ms = max(from_ms, booked.get(key, 0))
        later += [(one, start_ms + int(n * 1000 / rate_per_s)) for n, one in enumerate(its)]
        booked[key] = start_ms + int(len(its) * 1000 / rate_per_s)
    if over:
        services.store.book({key: booked[key] for key in over})
    return later
