"""
Read the pages of a batch and decide what each is: canonical URL, links, fields, next refresh.

Safe to run twice: it writes nothing but a new blob in the spool, and links that are followed are
coalesced with those of the first run.

A page may kill the process that reads it: by a crash in a parser's C code, or because the kernel
enforced the page's limits (`page_limits`). The broker then delivers the batch again, and its mark
(`run_marks`) shows that a run was lost. A batch that has lost a run is cut into its pages. A page
that has lost two more runs on its own is stored as Unreadable without being read.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.errors import TransientError
from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline import counters
from aragog.pipeline.faults import damaged
from aragog.pipeline.messages import FetchResult, PageBatch, ResultBatch
from aragog.pipeline.pages.analysis import PageAnalysis, candidates, decided, read_page
from aragog.pipeline.pages.limits import PageTooExpensive, limited
from aragog.pipeline.pages.run_marks import MAX_RUNS_LOST
from aragog.pipeline.pages.updates import PageUpdate, failure_write, page_write, to_blob
from aragog.pipeline.refetch import from_the_beginning
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent
from aragog.pipeline.services import Services
from aragog.pipeline.stages.enqueue import EnqueueOptions
from aragog.pipeline.stages.sitemaps import enqueue_entries
from aragog.urls.canonical.decision import KnownPage
from aragog.urls.domain import registered_domain
from aragog.urlstore.content.compression import decompress

log = logging.getLogger(__name__)

FAILED = "aragog failed to read the page; see its log"


@dataclass(frozen=True, slots=True)
class _Analyzed:
    """What came of the pages of a batch, by URL: their readings, or why there is none."""

    read: dict[str, PageAnalysis] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def canonicalize_batch(batch: ResultBatch, services: Services) -> list[OutgoingMessage]:
    """
    One message to `store` for the whole batch, and fetches of URLs whose body has expired; or one
    message to `canonicalize` a page, when an earlier run of the batch was lost.

    A page that cannot be read, for whatever reason, is stored as such and fails no other.

    Raises:
        TransientError: Redis or the store did not answer; the batch runs again.
    """
    batch = _without_taken_down(batch, services)
    tokens = [a.token for a in batch.results if a.token]
    lost = services.run_marks.begin(tokens) if tokens else 0
    if lost:
        services.counters.add({counters.RUNS_LOST: 1})
        log.warning("a process was lost while it read %s", _named(batch))
        if len(tokens) > 1:
            # The mark stays: should the messages not be sent, the next run cuts the batch again.
            return _apart(batch)
    try:
        return _canonicalized(batch, tokens, services, hopeless=lost >= MAX_RUNS_LOST)
    finally:
        services.run_marks.end(tokens)


def _named(batch: ResultBatch) -> str:
    first, *others = [a.final_url for a in batch.results if a.token]
    return f"{first} and {len(others)} other pages" if others else first


def _apart(batch: ResultBatch) -> list[OutgoingMessage]:
    """Each page on its own, and what brought no body together."""
    alone = [(a,) for a in batch.results if a.token]
    others = tuple(a for a in batch.results if not a.token)
    return [
        OutgoingMessage(
            Destination.CANONICALIZE,
            ResultBatch(results),
            priority=min(a.job.priority for a in results),
        )
        for results in (*alone, others)
        if results
    ]


def _canonicalized(
    batch: ResultBatch, tokens: Sequence[str], services: Services, *, hopeless: bool
) -> list[OutgoingMessage]:
    bodies = dict(zip(tokens, services.spool.get_many(tokens), strict=True))
    expired = [a for a in batch.results if a.token and bodies[a.token] is None]
    present = [a for a in batch.results if a not in expired] if expired else batch.results
    done = _Analyzed()
    for a in present:
        if a.token:
            _analyze(a, bodies[a.token] or b"", services, done, hopeless=hopeless)
    _count(done, services)
    writes = _writes(present, done, services)
    _follow(present, done.read, services)
    outgoing = [_to_store(present, writes, services)] if writes else []
    return outgoing + from_the_beginning([a.job for a in expired], services)


def _without_taken_down(batch: ResultBatch, services: Services) -> ResultBatch:
    """The batch without pages of URLs that were taken down meanwhile: their bodies are dropped."""
    ways = [{a.job.url, a.final_url, *(hop.url for hop in a.hops)} for a in batch.results]
    refused = services.store.takedowns.refused(set().union(*ways))
    if not refused:
        return batch
    gone = [a for a, way in zip(batch.results, ways, strict=True) if way & refused]
    services.spool.free([a.token for a in gone if a.token])
    services.in_flight.clear([a.job.url for a in gone])
    return replace(batch, results=tuple(a for a in batch.results if a not in gone))


def _analyze(
    result: FetchResult, blob: bytes, services: Services, done: _Analyzed, *, hopeless: bool
) -> None:
    """
    Read one page, or enqueue what one sitemap lists, within the limits of a page. One page must
    never take the others of its batch along.
    """
    url, limits = result.job.url, services.settings.pipeline
    if hopeless:
        done.problems[url] = "each process that read the page was lost"
        return
    try:
        if result.job.sitemap:
            enqueue_entries(result, decompress(blob), services)
            return
        with limited(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            done.read[url] = read_page(
                result, decompress(blob), max_links=limits.max_links_per_page
            )
    except TransientError:
        raise
    except PageTooExpensive as error:
        done.problems[url] = error.reason
    except MemoryError:
        done.problems[url] = f"took more than {limits.page_max_memory_bytes} bytes of memory"
    except Exception:
        log.exception("a page could not be read: %s", result.final_url)
        done.problems[url] = FAILED


def _count(done: _Analyzed, services: Services) -> None:
    for url, problem in done.problems.items():
        log.warning("stored as Unreadable: %s: %s", url, problem)
    degraded = sum(1 for reading in done.read.values() if reading.problems)
    services.counters.add({counters.UNREADABLE: len(done.problems), counters.DEGRADED: degraded})


def _writes(
    results: Sequence[FetchResult], done: _Analyzed, services: Services
) -> list[PageUpdate]:
    read = done.read
    wanted = set().union(*(candidates(r.evidence) for r in read.values())) if read else set()
    known = _known(sorted(wanted), services)
    writes = []
    for result in results:
        reading = read.get(result.job.url)
        if reading is None:
            writes.append(failure_write(_told(result, done.problems), services.settings))
        else:
            decision = decided(reading.evidence, known)
            writes.append(page_write(result, reading, decision, services.settings))
    return writes


def _known(urls: Sequence[str], services: Services) -> dict[str, KnownPage]:
    """What is stored of other URLs; one whose rows cannot be read now is taken for unknown."""
    known: dict[str, KnownPage] = {}
    damaged.apart(urls, lambda some: known.update(services.store.pages.known(some)))
    return known


def _told(result: FetchResult, problems: Mapping[str, str]) -> FetchResult:
    """The answer of a page that brought no reading, with the reason."""
    failed = result.job.url in problems
    if not failed and (result.outcome is not OutcomeKind.FETCHED or result.job.sitemap):
        return result
    return replace(result, outcome=OutcomeKind.UNREADABLE, why=problems.get(result.job.url, FAILED))


def _to_store(
    results: Sequence[FetchResult], writes: Sequence[PageUpdate], services: Services
) -> OutgoingMessage:
    (token,) = services.spool.put_many([to_blob(writes)])
    bodies = tuple(a.token for a in results if a.token)
    jobs = tuple(a.job for a in results)
    return OutgoingMessage(
        Destination.STORE, PageBatch(token, jobs, bodies), priority=most_urgent(jobs)
    )


def _follow(
    results: Sequence[FetchResult], read: Mapping[str, PageAnalysis], services: Services
) -> None:
    """Links of pages with depth left are enqueued, within the page's registered domain."""
    by_way: dict[tuple[int, int], list[str]] = {}
    for result in results:
        reading = read.get(result.job.url)
        if reading is None or result.job.depth < 1:
            continue
        obey = services.settings.politeness.obey_nofollow
        if obey and reading.nofollow:
            continue
        home = registered_domain(result.final_url)
        by_way.setdefault((result.job.depth - 1, result.job.priority), []).extend(
            link.url
            for link in reading.links
            if registered_domain(link.url) == home and not (obey and link.nofollow)
        )
    for (depth, priority), urls in by_way.items():
        for _ in services.enqueuer.enqueue(urls, EnqueueOptions(depth=depth, priority=priority)):
            pass
