"""Reads domains' backlogs, errors and latencies from the limiter's servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aragog.crawl.politeness.lines import Lines, is_rules_line
from aragog.crawl.politeness.nodes.ring import NodeRing
from aragog.crawl.politeness.rates import Rates
from aragog.crawl.politeness.slots import DomainReport, ceil_ms, lengthen_interval_us, unpack_state


class Backlogs:
    """Reads domains' state. May raise `LimiterUnavailable`, or `BrokerUnavailable` for queues."""

    def __init__(self, nodes: NodeRing, rates: Rates, lines: Lines | None) -> None:
        self._nodes = nodes
        self._rates = rates
        self._lines = lines

    def describe(self, keys: Sequence[str]) -> dict[str, DomainReport]:
        """
        Return the domains' states.

        Takes one round trip per limiter node, and one per server with queues (`lines`).
        """
        waiting = self._lines.waiting(keys) if self._lines else {}
        reports: dict[str, DomainReport] = {}
        for node, group in self._nodes.group((key, key) for key in keys):
            states = node.get_many([node.key("slot", key) for key in group])
            now_us = node.now_us()
            for key, packed in zip(group, states, strict=True):
                state = unpack_state(packed)
                factors = state.factor / 100, state.latency_factor
                interval_us = lengthen_interval_us(self._rates.interval_us(key), *factors)
                latency_ms, usual_latency_ms = state.latencies_ms
                next_us = state.planned_us + interval_us
                wait_us = max(0.0, next_us - now_us)
                waiting_count = waiting.get(key, 0)
                reports[key] = DomainReport(
                    key=key,
                    qps=1e6 / interval_us,
                    next_slot_at_ms=ceil_ms(next_us) if wait_us else None,
                    backlog_ms=int((wait_us + waiting_count * interval_us) // 1000),
                    backoff_factor=factors[0],
                    errors_in_a_row=state.errors_in_a_row,
                    max_concurrent=self._rates.max_concurrent(key),
                    stopped=self._rates.is_stopped(key),
                    quiet_ms=int(self._rates.quiet_s(key, node.now_us) * 1000),
                    waiting=waiting_count,
                    paused_ms=max(0, ceil_ms(state.last_us - now_us)),
                    latency_factor=factors[1],
                    latency_ms=latency_ms,
                    usual_latency_ms=usual_latency_ms,
                )
        return reports

    def busiest_domains(self, count: int = 20) -> list[DomainReport]:
        """
        Return the domains with the longest queues, sorted by the time needed to empty them.

        Takes two round trips per server with queues, and one per node.
        """
        longest = self._lines.longest(count) if self._lines else {}
        reports = self.describe([key for key in longest if not is_rules_line(key)]).values()
        return sorted(reports, key=lambda report: -report.backlog_ms)

    def failing_domains(self, count: int = 20) -> list[DomainReport]:
        """
        Return domains with consecutive errors or a backoff, most errors first.

        Takes two round trips per node, and one per server with queues. A node keeps the 1,000
        domains with the latest errors for an hour.
        """
        reports = [
            report
            for report in self._failing(count)
            if report.errors_in_a_row or report.backoff_factor > 1
        ]
        return sorted(
            reports, key=lambda report: (-report.errors_in_a_row, -report.backoff_factor)
        )[:count]

    def _failing(self, count: int) -> Iterable[DomainReport]:
        keys = [
            name.decode()
            for node in self._nodes
            for name in node.last_members(node.key("slots", "failing"), count)
        ]
        return self.describe(keys).values()
