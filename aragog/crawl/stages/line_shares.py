"""
Divides a domain's slots among crawls, according to the weights of crawls and API tokens.

A line is a domain's waiting queue, and a slot is the reserved time of one request. A line's slots
are divided among the API tokens whose crawls have requests in it, and then among each token's
crawls. Crawls without a token share one part. A crawl that limits its open hosts only gets slots in
lines that are open for it (`aragog.crawl.politeness.open_hosts`).

Safe to kill at any point: unreported requests only keep a host open longer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.politeness.lines import CLOSED, USUAL_COST, DueLine, Lines, is_without_slots
from aragog.crawl.politeness.open_hosts import SentUrls


def share_costs(
    shares: Iterable[int], crawls: Crawls, weights: Mapping[str, float], interval_s: float = 0.0
) -> dict[int, int]:
    """
    Return how much a request with priority 5 adds to each crawl's virtual time (fair queuing).

    Args:
        shares: numbers of the line's crawls.
        crawls: their records.
        weights: weights by token; the default is 1.
        interval_s: the interval between two requests to the domain. A crawl with a lower rate
            occupies the domain longer and costs proportionally more.
    """
    by_token: defaultdict[str, dict[int, float]] = defaultdict(dict)
    cost_factors: dict[int, float] = {}
    for share in shares:
        record = crawls.get_record(share)
        by_token[record.token][share] = record.weight
        if record.rate and interval_s:
            cost_factors[share] = max(1.0, 1 / (record.rate * interval_s))
    return {
        share: max(
            1,
            round(
                USUAL_COST
                * cost_factors.get(share, 1.0)
                * sum(token_weights.values())
                / (weight * weights.get(token, 1.0))
            ),
        )
        for token, token_weights in by_token.items()
        for share, weight in token_weights.items()
    }


def _interval_s(key: str, interval_us: Callable[[str], float]) -> float:
    return 0.0 if is_without_slots(key) else interval_us(key) / 1e6


def open_host_limits(crawls: Crawls) -> dict[int, int]:
    """
    Return the open-host limits of active crawls, by crawl number. Omits crawls without
    a limit.
    """
    return {
        record.number: record.max_open_hosts
        for record in crawls.records.values()
        if record.max_open_hosts and record.number not in crawls.ended | crawls.paused
    }


class LineShares:
    """
    The crawls' shares of the lines being checked.

    Args:
        lines: all lines, with the crawls' open hosts.
        crawls: the current crawls.
        weights: weights by token, see `share_costs`.
        due_lines: the lines to check now.
        interval_us: returns the interval between two requests, given a line's key.
    """

    def __init__(
        self,
        lines: Lines,
        crawls: Crawls,
        weights: Mapping[str, float],
        due_lines: Mapping[str, DueLine],
        interval_us: Callable[[str], float],
    ) -> None:
        self._lines = lines
        self._open: dict[int, frozenset[str]] = {}
        """Which of these lines are open, for each crawl that limits its open hosts."""
        self.costs: dict[str, dict[int, int]] = {
            key: share_costs(line.shares, crawls, weights, _interval_s(key, interval_us))
            for key, line in due_lines.items()
            if len(line.shares) > 1
        }
        self.closed: set[str] = set()
        """Lines that are not open for at least one of their crawls."""
        self.all_closed: set[str] = set()
        """Lines that are not open for any of their crawls."""
        limits = open_host_limits(crawls)
        for crawl, max_open in limits.items():
            self._open_hosts(crawl, max_open, due_lines)

    def _open_hosts(self, crawl: int, max_open: int, due_lines: Mapping[str, DueLine]) -> None:
        hosts = [
            k for k, line in due_lines.items() if crawl in line.shares and not is_without_slots(k)
        ]
        if not hosts:
            return
        opened = self._lines.open_hosts.open(crawl, max_open, hosts)
        self._lines.check(opened.others, 0)
        self._open[crawl] = opened.open
        for key in set(hosts) - opened.open:
            costs = self.costs.setdefault(key, {})
            costs[crawl] = CLOSED
            self.closed.add(key)
            if all(costs.get(share) == CLOSED for share in due_lines[key].shares):
                self.all_closed.add(key)

    def report(
        self, sent_counts: Mapping[str, Counter[int]], remaining: Mapping[str, frozenset[int]]
    ) -> None:
        """
        Report which requests were sent. Replaces hosts whose turn is over.

        Args:
            sent_counts: the numbers of requests, by line and crawl.
            remaining: each line's shares that still have requests.
        """
        for crawl, hosts in self._open.items():
            served = [
                SentUrls(
                    key,
                    sent_counts[key][crawl] if key in sent_counts else 0,
                    crawl not in remaining[key],
                )
                for key in sorted(hosts)
            ]
            if served := [
                sent_urls for sent_urls in served if sent_urls.urls or sent_urls.is_empty
            ]:
                self._lines.open_hosts.report_sent(crawl, served)


def open_next_hosts(lines: Lines, crawls: Crawls) -> None:
    """Open as many waiting hosts as the limits allow, and check their lines."""
    for crawl, max_open in open_host_limits(crawls).items():
        lines.check(lines.open_hosts.open(crawl, max_open, ()).others, 0)
