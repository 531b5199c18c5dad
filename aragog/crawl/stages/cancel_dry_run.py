"""
Count the URLs that a cancellation would cancel; nothing is changed.

A cancellation searches nothing, so only a dry run reads what waits: the lines, and the messages of
`fetch` and `robots`. A message or an entry of a line says that a URL has a job; whether a crawl
still wants it is in the in-flight set. What was cancelled before, and is still in memory, does not
count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.in_flight import InFlightSet, Question
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.politeness.lines import Lines, is_without_slots
from aragog.crawl.stages.waiting_line import job_of
from aragog.errors import InvalidMessage
from pinlater.admin import Admin
from pinlater.envelope import arguments
from pinlater.models import JobState
from urlspelling.domain import host, registered_domain

PAGE = 200
CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class CancelDryRun:
    """
    Counts.

    Args:
        registry: which crawls have ended, and what was cancelled.
        in_flight: who wants each URL.
        lines: where URLs wait.
        admin: the queues; None on a broker that cannot be asked: the lines alone are counted.
    """

    registry: CrawlRegistry
    in_flight: InFlightSet
    lines: Lines
    admin: Admin | None

    def count(self, rules: Sequence[Cancellation]) -> int:
        """
        How many URLs wait that match one of the rules; each once, however many rules it matches.

        URLs that move meanwhile may be missed or counted twice.

        Raises:
            BrokerUnavailable: a server does not answer, so that nobody knows what waits on it.
        """
        jobs = (job for job in self._jobs(rules) if any(rule.matches(job.url) for rule in rules))
        crawls = self.registry.read()
        total = 0
        while chunk := {job.url: job for job in islice(jobs, CHUNK)}:
            questions = [
                Question(job.url, job.crawl, cut_s=crawls.cut_s(job.url)) for job in chunk.values()
            ]
            now_s = crawls.now_ms // 1000
            total += sum(self.in_flight.wanted(questions, ended=crawls.ended, now_s=now_s))
        return total

    def _jobs(self, rules: Sequence[Cancellation]) -> Iterator[UrlJob]:
        """Jobs that wait, at least those that the rules match."""
        is_of = _line_filter(rules)
        for server in self.lines.servers:
            for key in list(server.domains()):
                if is_without_slots(key) or is_of(key):
                    for payload in server.walk(key):
                        with suppress(InvalidMessage, ValueError):
                            yield job_of(payload)
        for queue in (Queue.FETCH, Queue.ROBOTS) if self.admin else ():
            yield from self._in_messages(queue)

    def _in_messages(self, queue: Queue) -> Iterator[UrlJob]:
        for shard in self.admin.cluster.shards if self.admin else ():
            offset = 0
            while jobs := shard.jobs(queue, JobState.PENDING, limit=PAGE, offset=offset):
                offset += len(jobs)
                for job in jobs:
                    with suppress(InvalidMessage, LookupError):
                        for entry in FetchBatch.entries(arguments(job.body)[0]):
                            yield UrlJob.read(entry)


def _line_filter(rules: Sequence[Cancellation]) -> Callable[[str], bool]:
    """Which lines of domains can have URLs that the rules match."""
    if any(rule.kind == "pattern" for rule in rules):
        return lambda _: True
    names = {host(r.value) if r.kind == "url" else r.value for r in rules}
    domains = {registered_domain(f"http://{name}/") for name in names}
    return partial(_is_below, domains)


def _is_below(domains: set[str], key: str) -> bool:
    return registered_domain(f"http://{key}/") in domains
