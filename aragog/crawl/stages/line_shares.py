"""
The shares of crawls in a domain's slots, by the weights of crawls and tokens.

A line's slots are shared between the tokens that have requests in it, and those of a token
between its crawls. What was started without a token counts as one more token. A crawl that has a
bound of open hosts has no share in the lines of others (`aragog.crawl.politeness.open_hosts`).

Safe to be killed at any point: what was not reported as sent only keeps its host open for longer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from aragog.crawl.pipeline.crawl_registry import Crawls
from aragog.crawl.politeness.lines import CLOSED, USUAL_COST, DueLine, Lines, is_without_slots
from aragog.crawl.politeness.open_hosts import SentOfHost


def costs_of(
    shares: Iterable[int], crawls: Crawls, weights: Mapping[str, float], interval_s: float = 0.0
) -> dict[int, int]:
    """
    What a request of priority 5 adds to the virtual time of each share.

    Args:
        shares: the numbers of the crawls in a line.
        crawls: their records.
        weights: by token; 1 if it is not there.
        interval_s: between two requests to the domain. A request of a crawl with a lower rate takes
            the domain for longer, and costs more by as much.
    """
    by_token: defaultdict[str, dict[int, float]] = defaultdict(dict)
    longer: dict[int, float] = {}
    for share in shares:
        record = crawls.of_number(share)
        by_token[record.token][share] = record.weight
        if record.rate and interval_s:
            longer[share] = max(1.0, 1 / (record.rate * interval_s))
    return {
        share: max(
            1,
            round(
                USUAL_COST
                * longer.get(share, 1.0)
                * sum(own.values())
                / (weight * weights.get(token, 1.0))
            ),
        )
        for token, own in by_token.items()
        for share, weight in own.items()
    }


def _interval_s(key: str, interval_us: Callable[[str], float]) -> float:
    return 0.0 if is_without_slots(key) else interval_us(key) / 1e6


def bounded(crawls: Crawls) -> dict[int, int]:
    """The most open hosts of each crawl that has such a bound and sends URLs, by its number."""
    return {
        record.number: record.max_open_hosts
        for record in crawls.records.values()
        if record.max_open_hosts and record.number not in crawls.ended | crawls.paused
    }


class LineShares:
    """
    Who has which share of the lines that are checked now.

    Args:
        lines: all lines; asked for places of crawls that have a bound of open hosts.
        crawls: as they are now.
        weights: by token, see `costs_of`.
        due: the lines.
        interval_us: between two requests to a domain, by the key of its line.
    """

    def __init__(
        self,
        lines: Lines,
        crawls: Crawls,
        weights: Mapping[str, float],
        due: Mapping[str, DueLine],
        interval_us: Callable[[str], float],
    ) -> None:
        self._lines = lines
        self._open: dict[int, frozenset[str]] = {}
        """By crawl with a bound, which of these lines are open for it."""
        self.costs: dict[str, dict[int, int]] = {
            key: costs_of(line.shares, crawls, weights, _interval_s(key, interval_us))
            for key, line in due.items()
            if len(line.shares) > 1
        }
        self.closed: set[str] = set()
        """Lines of which a share is closed."""
        self.all_closed: set[str] = set()
        """Lines of which every share is closed."""
        bounds = bounded(crawls)
        for crawl, most in bounds.items():
            self._ask(crawl, most, due)

    def _ask(self, crawl: int, most: int, due: Mapping[str, DueLine]) -> None:
        hosts = [k for k, one in due.items() if crawl in one.shares and not is_without_slots(k)]
        if not hosts:
            return
        asked = self._lines.open_hosts.ask(crawl, most, hosts)
        self._lines.look(asked.others, 0)
        self._open[crawl] = asked.open
        for key in set(hosts) - asked.open:
            costs = self.costs.setdefault(key, {})
            costs[crawl] = CLOSED
            self.closed.add(key)
            if all(costs.get(share) == CLOSED for share in due[key].shares):
                self.all_closed.add(key)

    def report(self, sent: Mapping[str, Counter[int]], left: Mapping[str, frozenset[int]]) -> None:
        """
        Report what was sent, so that hosts which had their turn give up their places.

        Args:
            sent: by line and crawl, how many requests got slots.
            left: the shares of each line that still have requests.
        """
        for crawl, hosts in self._open.items():
            served = [
                SentOfHost(key, sent[key][crawl] if key in sent else 0, crawl not in left[key])
                for key in sorted(hosts)
            ]
            if served := [one for one in served if one.urls or one.is_empty]:
                self._lines.open_hosts.served(crawl, served)


def open_next(lines: Lines, crawls: Crawls) -> None:
    """Open hosts that wait for a place, as far as places are free, and look at their lines."""
    for crawl, most in bounded(crawls).items():
        lines.look(lines.open_hosts.ask(crawl, most, ()).others, 0)
