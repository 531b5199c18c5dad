"""
Counts the URLs that a cancellation would cancel.

Unlike a real cancellation, a dry run reads all waiting URLs: the jobs in the domains' waiting
queues (called lines) and the messages in the queues `fetch` and `robots`. The in-flight set shows
whether a crawl still wants them. URLs that were cancelled earlier but are still in memory are not
counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.in_flight_values import CancelQuery
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.politeness.lines import Lines, is_without_slots
from aragog.crawl.stages.waiting_line import parse_line_job
from aragog.errors import InvalidMessage
from pinlater.admin import Admin
from pinlater.envelope import arguments
from pinlater.models import JobState
from urlspelling.domain import host, registered_domain

PAGE_SIZE = 200
CHUNK_SIZE = 1_000


@dataclass(frozen=True, slots=True)
class CancelDryRun:
    """
    Counts waiting URLs.

    Args:
        registry: ended crawls and cancelled URLs.
        in_flight: which crawls want each URL.
        lines: the domains' queues.
        admin: access to the broker's queues. If None, only the lines are counted, because not every
            broker can be searched.
    """

    registry: CrawlRegistry
    in_flight: InFlightSet
    lines: Lines
    admin: Admin | None

    def count(self, rules: Sequence[Cancellation]) -> int:
        """
        Return how many waiting URLs match at least one rule, each counted once.

        URLs that move between queues during the count may be missed or counted twice.

        Raises:
            BrokerUnavailable: a server did not respond, so its waiting URLs are unknown.
        """
        jobs = (job for job in self._jobs(rules) if any(rule.matches(job.url) for rule in rules))
        crawls = self.registry.read()
        total = 0
        while chunk := {job.url: job for job in islice(jobs, CHUNK_SIZE)}:
            queries = [
                CancelQuery(job.url, job.crawl, cancelled_until_s=crawls.cancelled_until_s(job.url))
                for job in chunk.values()
            ]
            now_s = crawls.now_ms // 1000
            total += sum(self.in_flight.are_wanted(queries, ended=crawls.ended, now_s=now_s))
        return total

    def _jobs(self, rules: Sequence[Cancellation]) -> Iterator[UrlJob]:
        """Yield all waiting jobs that match the rules, and possibly others."""
        may_match = _line_filter(rules)
        for server in self.lines.servers:
            for key in list(server.domains()):
                if is_without_slots(key) or may_match(key):
                    for payload in server.walk(key):
                        with suppress(InvalidMessage, ValueError):
                            yield parse_line_job(payload)
        for queue in (Queue.FETCH, Queue.ROBOTS) if self.admin else ():
            yield from self._jobs_in_messages(queue)

    def _jobs_in_messages(self, queue: Queue) -> Iterator[UrlJob]:
        for shard in self.admin.cluster.shards if self.admin else ():
            offset = 0
            while jobs := shard.jobs(queue, JobState.PENDING, limit=PAGE_SIZE, offset=offset):
                offset += len(jobs)
                for job in jobs:
                    with suppress(InvalidMessage, LookupError):
                        for entry in FetchBatch.entries(arguments(job.body)[0]):
                            yield UrlJob.read(entry)


def _line_filter(rules: Sequence[Cancellation]) -> Callable[[str], bool]:
    if any(rule.kind == "pattern" for rule in rules):
        return lambda _: True
    names = {host(r.value) if r.kind == "url" else r.value for r in rules}
    domains = {registered_domain(f"http://{name}/") for name in names}
    return partial(_is_in_domains, domains)


def _is_in_domains(domains: set[str], key: str) -> bool:
    return registered_domain(f"http://{key}/") in domains
