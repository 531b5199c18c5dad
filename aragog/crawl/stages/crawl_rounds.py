"""
Starts the rounds of scheduled crawls. A round enqueues the crawl's seeds and fetches its stored
pages again.

A round starts when it is due and none of the crawl's URLs are waiting, so rounds never overlap.
Each page and link is fetched once per round, conditionally if the origin sent validators. The
limits `max_urls`, `max_urls_per_host` and `max_bytes` apply to each round.

It is safe to run twice and to kill at any point. The crawl's record first states that the round has
started, and later that its seeds were enqueued. If the second statement is missing, the next run
enqueues all seeds again. Because all runs of a round share one `request_id`, waiting seeds are not
sent twice and each link is fetched once.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass

from aragog.crawl.pipeline.crawl_counts import CrawlCounters
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.crawls import is_past_deadline
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.errors import BadInput, QuotaExceeded
from aragog.fetch_record.known_fields import known_fields

log = logging.getLogger(__name__)


def next_round_ms(record: CrawlRecord, now_ms: int) -> int:
    """
    Return when the round after the one that starts now is due.

    The schedule does not drift. Rounds missed during an outage or a long round are skipped.
    """
    interval_ms = (record.every_s or 0) * 1000
    missed = max(0, now_ms - record.next_round_ms) // interval_ms if interval_ms else 0
    return record.next_round_ms + (missed + 1) * interval_ms


@dataclass(frozen=True, slots=True)
class CrawlRounds:
    """Starts the rounds of all crawls."""

    registry: CrawlRegistry
    counts: CrawlCounters
    seeds: CrawlSeeds
    enqueuer: Enqueuer

    def run(self) -> None:
        """
        Start all rounds that are due.

        Raises:
            TransientError: Redis or the broker did not respond, or the queues are full; run it
                again.
        """
        crawls = self.registry.read()
        for record in crawls.records.values():
            if record.state is not CrawlPhase.RUNNING or is_past_deadline(record, crawls.now_ms):
                continue
            with suppress(BadInput, QuotaExceeded):
                if record.is_seeding:
                    self._seed(record)
                elif record.every_s and 0 < record.next_round_ms <= crawls.now_ms:
                    self._start_round(record, crawls.now_ms)

    def _start_round(self, record: CrawlRecord, now_ms: int) -> None:
        counts = self.counts.totals([record.number])
        if counts.open:
            return
        self.counts.reset_host_counts([record.number])
        updated = self.registry.update_fields(
            record,
            round=record.round + 1,
            next_round_ms=next_round_ms(record, now_ms),
            is_seeding=True,
            round_urls=counts.enqueued - counts.repeated,
            round_bytes=counts.bytes,
        )
        if updated.is_seeding:
            self._seed(updated)

    def _seed(self, record: CrawlRecord) -> None:
        request_id = f"round-{record.number}-{record.round}"
        count = 0
        for options, urls in self.seeds.walk(record.name):
            enqueue_options = EnqueueOptions(
                **known_fields(EnqueueOptions, options),
                crawl=record.name,
                refresh=True,
                request_id=request_id,
            )
            count += sum(1 for _ in self.enqueuer.enqueue(urls, enqueue_options))
        self.registry.update_fields(record, is_seeding=False)
        log.info("round %d of crawl %s: %d seeds", record.round, record.name, count)
