"""
Enqueues URLs: normalizes them, drops those already in flight, and sends batches to `fetch`.

It is safe to run twice and to kill at any point. A URL in flight is reported as such and not sent
again. If a producer adds a URL to the in-flight set and dies before sending it, the next caller
that enqueues the URL sends it (see `in_flight`). If the broker fails halfway, the caller enqueues
the same URLs again.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice, zip_longest

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.crawl_records import (
    BUILT_IN_NAMES,
    ENQUEUED,
    CrawlRecord,
    built_in_record,
)
from aragog.crawl.pipeline.crawl_seeds import CrawlSeeds
from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.followed_urls import FollowedUrls
from aragog.crawl.pipeline.in_flight import UNSENT, InFlightSet
from aragog.crawl.pipeline.in_flight_values import Mark, MarkingCrawl, UrlEnding
from aragog.crawl.pipeline.memory_limit import Admission
from aragog.crawl.pipeline.messages import UrlJob, split_into_batches
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, Sender
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.site_rules import original_form_for_robots
from aragog.crawl.pipeline.sitemap_walks import SitemapWalks
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.pipeline.token_use import TokenQuotas, TokenState
from aragog.crawl.pipeline.url_traces import TRACING_OFF, CallSpans, UrlTraces
from aragog.crawl.stages.crawl_checks import CrawlChecks, CrawlSource, NoCrawls
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.enqueue_refusals import (
    REFUSAL_BY_MARK,
    TAKEN_DOWN,
    Refusal,
    make_result,
)
from aragog.crawl.stages.first_visit_delays import (
    DelayedUrl,
    FirstVisitDelays,
    less_urgent_priority,
)
from aragog.errors import BadInput, BrokerUnavailable, InvalidUrl, SlowDown
from aragog.observability.logs import log_url
from aragog.runtime.clock import SystemClock
from aragog.settings import PolitenessSettings, Settings
from aragog.settings.token_quotas import read_quotas
from urlspelling import normalize
from urlspelling.domain import host, registered_domain

log = logging.getLogger(__name__)

CHUNK_SIZE = 1000


@dataclass(slots=True, eq=False)
class Enqueuer:
    """Sends URLs to the `fetch` queue."""

    in_flight: InFlightSet
    sender: Sender
    counts: counters.Counters
    _: KW_ONLY
    batch_size: int
    qps: float = PolitenessSettings().qps
    admission: Admission | None = None
    blocks: SiteBlocks | None = None
    followed: FollowedUrls | None = None
    """Records the URLs of each `aragog run`. Only set in workers."""
    walks: SitemapWalks | None = None
    traces: UrlTraces = TRACING_OFF
    crawls: CrawlSource = field(default_factory=NoCrawls)
    seeds: CrawlSeeds | None = None
    """Stores the seeds of crawls with rounds."""
    quotas: TokenQuotas | None = None
    _first_visit_delays: FirstVisitDelays = field(init=False)

    @classmethod
    def from_settings(
        cls,
        settings: Settings,
        shared: SharedState,
        sender: Sender,
        *,
        admission: Admission | None = None,
        followed: FollowedUrls | None = None,
        traces: UrlTraces = TRACING_OFF,
    ) -> Enqueuer:
        """Create an enqueuer from the settings. Workers pass `followed`."""
        return cls(
            shared.in_flight,
            sender,
            shared.counters,
            batch_size=settings.pipeline.batch_size,
            qps=settings.politeness.qps,
            admission=admission,
            blocks=shared.blocks,
            followed=followed,
            walks=shared.walks,
            traces=traces,
            crawls=shared.crawls,
            seeds=shared.crawl_seeds,
            quotas=TokenQuotas(read_quotas(settings.serving.quotas), shared.crawl_counts),
        )

    def __post_init__(self) -> None:
        self._first_visit_delays = FirstVisitDelays(self.qps)

    def enqueue(
        self,
        urls: Iterable[str],
        options: EnqueueOptions,
        on_wait: Callable[[SlowDown], None] | None = None,
    ) -> Iterator[EnqueueResult]:
        """
        Enqueue URLs and yield their results, in order and in constant memory.

        URLs are sent in chunks of 1,000. A chunk is sent when the caller reads its first result, so
        the iterator must be consumed.

        Raises:
            BrokerUnavailable: the current chunk was only partly accepted, or not at all. Earlier
                chunks were accepted.
            SlowDown: the queues are full, and the current chunk was not accepted. With `on_wait`,
                calls it before each wait instead, and sends the chunk once there is space.
            QuotaExceeded: no URL of the current chunk fits into the quota of the API token that
                started the crawl.
            BadInput: no crawl has this name, or the crawl has ended.
        """
        crawl = self._find_crawl(options)
        options = options.for_crawl(crawl)
        if not options.request_id:
            options = replace(options, request_id=secrets.token_urlsafe(6))
        inputs, spans = iter(urls), self.traces.call(options.caller, options.found_on)
        sites: set[str] = set()
        while chunk := list(islice(inputs, CHUNK_SIZE)):
            self._wait_for_admission(on_wait)
            if options.sitemap and not options.in_walk:
                self._start_walks(chunk, options.request_id, sites)
            yield from self._enqueue_chunk(chunk, options, crawl, spans)

    def _find_crawl(self, options: EnqueueOptions) -> CrawlRecord:
        if not options.crawl:
            return self.crawls.crawls().get_record(options.crawl_number)
        if options.crawl == BUILT_IN_NAMES[ENQUEUED]:
            return built_in_record(ENQUEUED)
        # A cached copy of the records may still have the number of a crawl that was just cancelled.
        record = self.crawls.read().records.get(options.crawl)
        if record is None:
            raise BadInput(
                f"crawl: there is no crawl {options.crawl[:80]!r}; `aragog crawl start` starts it"
            )
        if record.has_ended:
            raise BadInput(
                f"crawl: {record.name} was {record.state}; `aragog crawl start` starts it again"
            )
        return record

    def _start_walks(self, inputs: Sequence[str], request_id: str, sites: set[str]) -> None:
        """Start a sitemap walk for each site that is not in `sites`, and add the site there."""
        first_urls: dict[str, str] = {}
        for url in inputs:
            if not isinstance(normalized := _normalize(url), InvalidUrl):
                first_urls.setdefault(registered_domain(normalized), normalized)
        new_urls = [url for domain, url in first_urls.items() if domain not in sites]
        sites |= first_urls.keys()
        if self.walks is not None:
            self.walks.forget_earlier(request_id, new_urls)

    def _wait_for_admission(self, on_wait: Callable[[SlowDown], None] | None) -> None:
        while self.admission and (refusal := self.admission.refusal()):
            if on_wait is None:
                raise refusal
            on_wait(refusal)
            time.sleep(refusal.retry_after_s)

    def _enqueue_chunk(
        self,
        inputs: Sequence[str],
        options: EnqueueOptions,
        crawl: CrawlRecord,
        spans: CallSpans,
    ) -> list[EnqueueResult]:
        normalized = [_normalize(url) for url in inputs]
        valid_urls = list(dict.fromkeys(s for s in normalized if not isinstance(s, InvalidUrl)))
        refusals = self._refusals(valid_urls, options, crawl)
        valid_urls = [url for url in valid_urls if url not in refusals]
        if options.crawl and crawl.every_s and self.seeds:
            self.seeds.add(crawl.name, valid_urls, options.for_seeds())
        self._renew_cancelled(valid_urls)
        marking_crawl = _marking_crawl(crawl, options, self._token_state(crawl))
        marks = self.in_flight.mark(valid_urls, insist=options.insist, for_crawl=marking_crawl)
        new_urls = {url for url, mark in zip(valid_urls, marks, strict=True) if mark is Mark.NEW}
        refusals |= {
            url: REFUSAL_BY_MARK[mark]
            for url, mark in zip(valid_urls, marks, strict=True)
            if mark in REFUSAL_BY_MARK
        }
        refusals |= self._quota_refusals(valid_urls, marks, options, crawl)
        valid_urls = [url for url in valid_urls if url not in refusals]
        original_forms = _find_original_forms(inputs, normalized)
        if self.followed:  # before a worker can finish them
            self.followed.add_enqueued(options.request_id, list(new_urls), options.depth)
            in_flight = [url for url in valid_urls if url not in new_urls]
            self.followed.add_in_flight(options.request_id, in_flight, options.depth)
        options = replace(options, crawl_number=crawl.number)
        with spans.trace_sending(
            [url for url in valid_urls if url in new_urls], _span_attributes(options)
        ):
            self._send(
                _interleave_by_host([url for url in valid_urls if url in new_urls]),
                options,
                original_forms,
                spans,
            )
        self.counts.add({counters.ENQUEUED: len(new_urls)})
        if log.isEnabledFor(logging.INFO):
            for url in valid_urls:
                event = "enqueued" if url in new_urls else "already in flight"
                log_url(log, event, url, options.request_id, **spans.ids(url))
        return [
            make_result(url, url_or_error, new_urls, refusals)
            for url, url_or_error in zip(inputs, normalized, strict=True)
        ]

    def _token_state(self, crawl: CrawlRecord) -> TokenState | None:
        """Return what the crawl's API token has used of its quota, or None if it has no quota."""
        if self.quotas is None or crawl.token not in self.quotas.quotas:
            return None
        crawls = self.crawls.crawls()
        token_numbers = {
            n for r in crawls.records.values() if r.token == crawl.token for n in r.numbers
        }
        numbers = sorted(token_numbers.union(crawl.numbers))
        now_ms = crawls.now_ms or SystemClock().now_ms()
        return self.quotas.state(crawl.token, crawl.number, numbers, crawls.ended, now_ms)

    def _quota_refusals(
        self,
        urls: Sequence[str],
        marks: Sequence[Mark],
        options: EnqueueOptions,
        crawl: CrawlRecord,
    ) -> dict[str, Refusal]:
        """
        Return the refusals of URLs over the token's quota. Raises `QuotaExceeded` if none of the
        caller's URLs was enqueued.
        """
        over_quota = [url for url, mark in zip(urls, marks, strict=True) if mark is Mark.OVER_QUOTA]
        state = self._token_state(crawl) if over_quota else None
        if state is None:
            return {}
        error = state.refusal(len(over_quota))
        # Links over a quota are dropped silently, as with a crawl's other limits.
        if options.crawl and not any(mark <= Mark.JOINED for mark in marks):
            raise error
        return dict.fromkeys(over_quota, Refusal(EnqueueStatus.OVER_BUDGET, str(error)))

    def _refusals(
        self, urls: Sequence[str], options: EnqueueOptions, crawl: CrawlRecord
    ) -> dict[str, Refusal]:
        taken_down = self.blocks.refused(urls) if self.blocks else set()
        refusals = {url: TAKEN_DOWN for url in urls if url in taken_down}
        # Links were already checked when their page was analyzed.
        if options.crawl and crawl.scope.rules:
            for url in urls:
                accepted, rule = crawl.scope.decide(url)
                if not accepted and url not in refusals:
                    refusals[url] = Refusal(EnqueueStatus.OUT_OF_SCOPE, f"out of scope: {rule}")
        return refusals

    def _renew_cancelled(self, urls: Sequence[str]) -> None:
        """Remove cancelled URLs from the in-flight set, so that they can be enqueued again."""
        crawls = self.crawls.crawls()
        if crawls.cancellations or crawls.ended:
            CrawlChecks(self.crawls, self.in_flight).clear(urls)

    def _send(
        self,
        urls: Sequence[str],
        options: EnqueueOptions,
        original_forms: Mapping[str, str],
        spans: CallSpans,
    ) -> None:
        immediate, delayed = self._first_visit_delays.split(
            urls, options.priority, options.crawl_number
        )
        immediate_urls = [DelayedUrl(url, 0) for url in immediate]
        outgoing = self._messages_with_priority(
            immediate_urls, options, options.priority, original_forms, spans
        )
        outgoing += self._messages_with_priority(
            delayed, options, less_urgent_priority(options.priority), original_forms, spans
        )
        try:
            self.sender.send_all(outgoing)
        except BrokerUnavailable:
            with suppress(BrokerUnavailable):  # if this fails, others may send the URLs after 3 s
                unsent = [UrlEnding(url, options.crawl_number, UNSENT) for url in urls]
                self.in_flight.end(unsent)
            raise
        self.in_flight.confirm(urls)

    def _messages_with_priority(
        self,
        delayed: Sequence[DelayedUrl],
        options: EnqueueOptions,
        priority: int,
        original_forms: Mapping[str, str],
        spans: CallSpans,
    ) -> list[OutgoingMessage]:
        """
        Return the messages, each delayed until its first URL is due.

        `priority` applies to the messages. Their jobs keep the requested priority.
        """
        job_options = options.for_jobs()
        jobs = [
            UrlJob(
                url=url,
                given=original_forms.get(url),
                crawl=options.crawl_number,
                **job_options,
                **spans.job(url),
            )
            for url, _ in delayed
        ]
        size, run_after_ms = self.batch_size, _delay_ms(options.run_after_ms)
        delays_ms = [run_after_ms + first.delay_ms for first in delayed[::size]]
        return [
            OutgoingMessage(Destination.FETCH, batch, delay_ms or None, priority)
            for batch, delay_ms in zip(split_into_batches(jobs, size), delays_ms, strict=True)
        ]


def _span_attributes(options: EnqueueOptions) -> dict[str, str | int | bool]:
    return {
        "aragog.request_id": options.request_id,
        "aragog.priority": options.priority,
        "aragog.depth": options.depth,
        "aragog.refresh": options.refresh,
    }


def _delay_ms(run_after_ms: int | None) -> int:
    if run_after_ms is None:
        return 0
    return max(0, run_after_ms - SystemClock().now_ms())


def _normalize(url: str) -> str | InvalidUrl:
    try:
        return normalize(url)
    except InvalidUrl as error:
        return error


def _find_original_forms(
    inputs: Sequence[str], normalized: Sequence[str | InvalidUrl]
) -> dict[str, str]:
    """Return the original forms that robots.txt must also allow, by normalized URL."""
    original_forms: dict[str, str] = {}
    for url, normal_url in zip(inputs, normalized, strict=True):
        if not isinstance(normal_url, InvalidUrl) and (
            original_form := original_form_for_robots(url, normal_url)
        ):
            original_forms.setdefault(normal_url, original_form)
    return original_forms


def _marking_crawl(
    crawl: CrawlRecord, options: EnqueueOptions, quota: TokenState | None
) -> MarkingCrawl:
    max_urls = None if crawl.max_urls is None else crawl.max_urls + crawl.round_urls
    return MarkingCrawl(crawl.number, options.depth, max_urls, crawl.max_urls_per_host, quota)


def _interleave_by_host(urls: Sequence[str]) -> list[str]:
    """
    Return the URLs with hosts interleaved. Each host's URLs keep their order.

    Lists are often sorted by host, and a batch with a single host would wait for one slot (reserved
    request time) after another.
    """
    by_host: dict[str, list[str]] = defaultdict(list)
    for url in urls:
        by_host[host(url)].append(url)
    rounds = zip_longest(*by_host.values())
    return [url for one_round in rounds for url in one_round if url is not None]
