"""
Counts how many URLs were enqueued for each crawl, and their outcomes.

A crawl's counts are summed across the servers of the in-flight set. Only the scripts that add URLs
to a crawl or remove them (`in_flight`) change the counts. So on each server:

    enqueued = repeated + each outcome + waiting

An ended crawl's waiting URLs count as cancelled, although they are still in Redis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import redis

from aragog.crawl.pipeline.token_use import CrawlUse
from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors

STORED = "stored"
REPEATED = "repeated"
WAITING = "waiting"
UNCHANGED, DUPLICATE, TRAP, HELD = "unchanged", "duplicate", "trap", "held"
"""Names of additional counts: unchanged pages, duplicates of another canonical URL, links dropped
as parts of traps (endless URL spaces), and links held back until it is decided whether to follow
them (`aragog.crawl.traps.held_links`)."""
CANCELLED = "cancelled"
SITEMAP = "sitemap"
"""The outcome of a sitemap that was read: it has URLs, and is not stored as a page."""
_OUTCOME_PREFIX, _NOTE_PREFIX = "is ", "of "
RETAINED_HOURS, RETAINED_DAYS = 24 * 90, 2
_NO_FAILURES = frozenset({
    STORED, REPEATED, CANCELLED, SITEMAP, "superseded", "taken down", "deleted",
})  # fmt: skip
_REFUSAL_PREFIXES = ("refused", "reserved", "out of scope")


def is_failure(outcome: str) -> bool:
    """
    Return True if the site or the network failed, or if this crawler blocked the URL. URLs that the
    site or the crawl's scope excludes are not failures.
    """
    return outcome not in _NO_FAILURES and not outcome.startswith(_REFUSAL_PREFIXES)


@dataclass(frozen=True, slots=True)
class CrawlCounts:
    """The outcomes of a crawl's URLs."""

    enqueued: int = 0
    waiting: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    """URLs by outcome, including `stored` and `cancelled`, most frequent first."""
    repeated: int = 0
    """URLs that were enqueued again after the crawl had stored them."""
    bytes: int = 0
    notes: Mapping[str, int] = field(default_factory=dict)
    """Additional counts: `unchanged` and `duplicate` for stored URLs, `trap` and `held` for links
    that were not enqueued."""

    @property
    def stored(self) -> int:
        """Includes pages that were already stored."""
        return self.outcomes.get(STORED, 0)

    @property
    def held(self) -> int:
        return self.notes.get(HELD, 0)

    @property
    def traps(self) -> int:
        """Each dropped link is counted once."""
        return self.notes.get(TRAP, 0)

    @property
    def open(self) -> int:
        return self.waiting + self.held

    @property
    def is_exact(self) -> bool:
        return self.enqueued == self.waiting + self.repeated + sum(self.outcomes.values())


class CrawlCounters:
    """
    Reads, resets and deletes the counts of crawls.

    Every call may raise `BrokerUnavailable`. Calls for domains, days or hours scan the counts in
    several round trips per server. The others take one or two.
    """

    def __init__(self, nodes: redis.Redis | RedisNodes, *, prefix: str) -> None:
        self._nodes = RedisNodes.wrap(nodes)
        self._prefix = f"{prefix}crawl:"

    def totals(self, numbers: Sequence[int], *, ended: Iterable[int] = ()) -> CrawlCounts:
        """
        Return the total counts of these crawls. Waiting URLs of the crawls in `ended` count as
        cancelled.
        """
        total: Counter[str] = Counter()
        ended_numbers = set(ended)
        with _translate_errors():
            for client in self._nodes.clients:
                with client.pipeline(transaction=False) as pipe:
                    for number in numbers:
                        pipe.hgetall(f"{self._prefix}{number}")
                    for number, counts in zip(numbers, pipe.execute(), strict=True):
                        total.update(_parse_counts(counts, has_ended=number in ended_numbers))
        return _to_crawl_counts(total)

    def use(self, numbers: Sequence[int], day: int) -> list[dict[int, CrawlUse]]:
        """
        Return how many URLs of these crawls are waiting, and how many URLs and bytes they used on a
        day (days since the epoch), by server.
        """
        use_by_server = []
        with _translate_errors():
            for client in self._nodes.clients:
                with client.pipeline(transaction=False) as pipe:
                    for number in numbers:
                        pipe.hget(f"{self._prefix}{number}", WAITING)
                        pipe.hmget(f"{self._prefix}{number}:use", [f"{day} urls", f"{day} bytes"])
                    replies = pipe.execute()
                pairs = zip(numbers, replies[::2], replies[1::2], strict=True)
                use_by_server.append(
                    {
                        number: CrawlUse(int(waiting or 0), *(int(value or 0) for value in values))
                        for number, waiting, values in pairs
                    }
                )
        return use_by_server

    def domains(self, numbers: Sequence[int]) -> dict[str, Counter[str]]:
        """
        Return outcomes by registered domain.

        Once a server counts 50,000 pairs of domain and outcome, `*` stands for all further domains.
        """
        outcomes: dict[str, Counter[str]] = {}
        for domain, outcome, count in self._scan_table(numbers, "domains"):
            if outcome != WAITING:
                outcomes.setdefault(domain, Counter())[outcome] += count
        return outcomes

    def has_no_waiting_urls(self, number: int, domain: str) -> bool:
        """
        Return True if the crawl has no waiting URLs of this registered domain.

        Reads all servers twice, because a page on one server may enqueue links on a server that has
        already been read. The second reading then shows more enqueued URLs.
        """
        waiting, enqueued = self._count_waiting(number, domain)
        return not waiting and self._count_waiting(number, domain) == (0, enqueued)

    def _count_waiting(self, number: int, domain: str) -> tuple[int, int]:
        key, sums = f"{self._prefix}{number}", Counter[str]()
        with _translate_errors():
            for client in self._nodes.clients:
                with client.pipeline(transaction=True) as pipe:
                    pipe.hmget(key, [WAITING, "enqueued"])
                    pipe.hmget(f"{key}:domains", [f"{domain} {WAITING}", f"* {WAITING}"])
                    names = ("all", "enqueued", "domain", "*")
                    values = (int(value or 0) for pair in pipe.execute() for value in pair)
                    sums.update(dict(zip(names, values, strict=True)))
        has_no_waiting_urls = sums["all"] <= 0 or (sums["domain"] <= 0 and sums["*"] <= 0)
        return 0 if has_no_waiting_urls else max(1, sums["domain"]), sums["enqueued"]

    def open_domains(self, number: int) -> Counter[str]:
        """
        Return the approximate number of waiting URLs by registered domain.

        `*` has the same meaning as in `domains`.
        """
        waiting = Counter[str]()
        for domain, outcome, count in self._scan_table([number], "domains"):
            if outcome == WAITING:
                waiting[domain] += count
        return +waiting

    def days(self, numbers: Sequence[int]) -> dict[int, Counter[tuple[str, str]]]:
        """Return URL counts by day since the epoch, domain and outcome, without stored URLs."""
        outcomes: dict[int, Counter[tuple[str, str]]] = {}
        for day, rest, count in self._scan_table(numbers, "days"):
            domain, _, outcome = rest.partition(" ")
            outcomes.setdefault(int(day), Counter())[domain, outcome] += count
        return outcomes

    def hours(self, numbers: Sequence[int]) -> dict[int, Counter[str]]:
        """Return outcomes for each hour since the epoch."""
        outcomes: dict[int, Counter[str]] = {}
        for hour, outcome, count in self._scan_table(numbers, "hours"):
            outcomes.setdefault(int(hour), Counter())[outcome] += count
        return dict(sorted(outcomes.items()))

    def _scan_table(self, numbers: Sequence[int], name: str) -> Iterable[tuple[str, str, int]]:
        with _translate_errors():
            for client in self._nodes.clients:
                for number in numbers:
                    for key, count in client.hscan_iter(
                        f"{self._prefix}{number}:{name}", count=500
                    ):
                        first_part, _, outcome = key.decode().partition(" ")
                        yield first_part, outcome, int(count)

    def delete_before(self, numbers: Sequence[int], table: str, first: int) -> None:
        """
        Delete the counts of hours (table `hours`) or days (`days`) before `first`, but not the
        totals.
        """
        with _translate_errors():
            for client in self._nodes.clients:
                for number in numbers:
                    key = f"{self._prefix}{number}:{table}"
                    names = [n for n, _ in client.hscan_iter(key) if int(n.split(b" ")[0]) < first]
                    if names:
                        client.hdel(key, *names)

    def reset_host_counts(self, numbers: Sequence[int]) -> None:
        """Reset the numbers of URLs per host, because the limit applies to each round."""
        with _translate_errors():
            for client in self._nodes.clients:
                client.unlink(*(f"{self._prefix}{number}:hosts" for number in numbers))

    def delete(self, numbers: Sequence[int]) -> None:
        if not numbers:
            return
        keys = [
            f"{self._prefix}{number}{table}"
            for number in numbers
            for table in ("", ":domains", ":days", ":hours", ":hosts", ":use", ":left")
        ]
        with _translate_errors():
            for client in self._nodes.clients:
                client.unlink(*keys)


def _parse_counts(counts: Mapping[bytes, bytes], *, has_ended: bool) -> Counter[str]:
    values: Counter[str] = Counter({name.decode(): int(count) for name, count in counts.items()})
    if has_ended:
        values[_OUTCOME_PREFIX + CANCELLED] += values.pop("waiting", 0)
        values.pop(_NOTE_PREFIX + HELD, 0)
    return values


def _to_crawl_counts(total: Counter[str]) -> CrawlCounts:
    outcomes = {
        n.removeprefix(_OUTCOME_PREFIX): c
        for n, c in total.most_common()
        if n.startswith(_OUTCOME_PREFIX) and c
    }
    notes = {
        n.removeprefix(_NOTE_PREFIX): c
        for n, c in total.items()
        if n.startswith(_NOTE_PREFIX) and c
    }
    return CrawlCounts(
        total["enqueued"], total[WAITING], outcomes, total[REPEATED], total["bytes"], notes
    )


def _translate_errors() -> AbstractContextManager[Any]:
    return redis_errors("redis, counts of crawls")
