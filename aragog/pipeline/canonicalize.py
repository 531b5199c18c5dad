"""
Read the pages of a bundle and decide what each is: canonical URL, links, fields, next refresh.

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
from aragog.pipeline import damaged, tally
from aragog.pipeline.again import from_the_beginning
from aragog.pipeline.bundles import Answer, AnswerBundle, PageBundle
from aragog.pipeline.enqueue import Wanted
from aragog.pipeline.page_limits import PageTooExpensive, limited
from aragog.pipeline.page_writes import Planned, failure_write, page_write, to_blob
from aragog.pipeline.reading import Reading, candidates, decided, read_page
from aragog.pipeline.run_marks import MAX_RUNS_LOST
from aragog.pipeline.sending import CANONICALIZE, STORE, Send, most_urgent
from aragog.pipeline.services import Services
from aragog.pipeline.sitemaps import enqueue_entries
from aragog.urls.canonical import KnownPage
from aragog.urls.domain import registered_domain
from aragog.urlstore.compression import decompress

log = logging.getLogger(__name__)

FAILED = "aragog failed to read the page; see its log"


@dataclass(frozen=True, slots=True)
class _Analyzed:
    """What came of the pages of a batch, by URL: their readings, or why there is none."""

    read: dict[str, Reading] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def canonicalize_bundle(bundle: AnswerBundle, services: Services) -> list[Send]:
    """
    One message to `store` for the whole bundle, and fetches of URLs whose body has expired; or one
    message to `canonicalize` a page, when an earlier run of the bundle was lost.

    A page that cannot be read, for whatever reason, is stored as such and fails no other.

    Raises:
        TransientError: Redis or the store did not answer; the bundle runs again.
    """
    bundle = _without_taken_down(bundle, services)
    tokens = [a.token for a in bundle.answers if a.token]
    lost = services.run_marks.begin(tokens) if tokens else 0
    if lost:
        services.tally.add({tally.RUNS_LOST: 1})
        log.warning("a process was lost while it read %s", _named(bundle))
        if len(tokens) > 1:
            # The mark stays: should the messages not be sent, the next run cuts the bundle again.
            return _apart(bundle)
    try:
        return _canonicalized(bundle, tokens, services, hopeless=lost >= MAX_RUNS_LOST)
    finally:
        services.run_marks.end(tokens)


def _named(bundle: AnswerBundle) -> str:
    first, *others = [a.final_url for a in bundle.answers if a.token]
    return f"{first} and {len(others)} other pages" if others else first


def _apart(bundle: AnswerBundle) -> list[Send]:
    """Each page on its own, and what brought no body together."""
    alone = [(a,) for a in bundle.answers if a.token]
    others = tuple(a for a in bundle.answers if not a.token)
    return [
        Send(CANONICALIZE, AnswerBundle(answers), priority=min(a.job.priority for a in answers))
        for answers in (*alone, others)
        if answers
    ]


def _canonicalized(
    bundle: AnswerBundle, tokens: Sequence[str], services: Services, *, hopeless: bool
) -> list[Send]:
    bodies = dict(zip(tokens, services.spool.get_many(tokens), strict=True))
    expired = [a for a in bundle.answers if a.token and bodies[a.token] is None]
    present = [a for a in bundle.answers if a not in expired] if expired else bundle.answers
    done = _Analyzed()
    for a in present:
        if a.token:
            _analyze(a, bodies[a.token] or b"", services, done, hopeless=hopeless)
    _count(done, services)
    writes = _writes(present, done, services)
    _follow(present, done.read, services)
    sends = [_to_store(present, writes, services)] if writes else []
    return sends + from_the_beginning([a.job for a in expired], services)


def _without_taken_down(bundle: AnswerBundle, services: Services) -> AnswerBundle:
    """The bundle without pages of URLs that were taken down meanwhile: their bodies are dropped."""
    ways = [{a.job.url, a.final_url, *(hop.url for hop in a.hops)} for a in bundle.answers]
    refused = services.store.refused(set().union(*ways))
    if not refused:
        return bundle
    gone = [a for a, way in zip(bundle.answers, ways, strict=True) if way & refused]
    services.spool.free([a.token for a in gone if a.token])
    services.waiting.clear([a.job.url for a in gone])
    return replace(bundle, answers=tuple(a for a in bundle.answers if a not in gone))


def _analyze(
    answer: Answer, blob: bytes, services: Services, done: _Analyzed, *, hopeless: bool
) -> None:
    """
    Read one page, or enqueue what one sitemap lists, within the limits of a page. One page must
    never take the others of its batch along.
    """
    url, limits = answer.job.url, services.settings.pipeline
    if hopeless:
        done.problems[url] = "each process that read the page was lost"
        return
    try:
        if answer.job.sitemap:
            enqueue_entries(answer, decompress(blob), services)
            return
        with limited(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            done.read[url] = read_page(
                answer, decompress(blob), max_links=limits.max_links_per_page
            )
    except TransientError:
        raise
    except PageTooExpensive as error:
        done.problems[url] = error.reason
    except MemoryError:
        done.problems[url] = f"took more than {limits.page_max_memory_bytes} bytes of memory"
    except Exception:
        log.exception("a page could not be read: %s", answer.final_url)
        done.problems[url] = FAILED


def _count(done: _Analyzed, services: Services) -> None:
    for url, problem in done.problems.items():
        log.warning("stored as Unreadable: %s: %s", url, problem)
    degraded = sum(1 for reading in done.read.values() if reading.problems)
    services.tally.add({tally.UNREADABLE: len(done.problems), tally.DEGRADED: degraded})


def _writes(answers: Sequence[Answer], done: _Analyzed, services: Services) -> list[Planned]:
    read = done.read
    wanted = set().union(*(candidates(r.evidence) for r in read.values())) if read else set()
    known = _known(sorted(wanted), services)
    writes = []
    for answer in answers:
        reading = read.get(answer.job.url)
        if reading is None:
            writes.append(failure_write(_told(answer, done.problems), services.settings))
        else:
            decision = decided(reading.evidence, known)
            writes.append(page_write(answer, reading, decision, services.settings))
    return writes


def _known(urls: Sequence[str], services: Services) -> dict[str, KnownPage]:
    """What is stored of other URLs; one whose rows cannot be read now is taken for unknown."""
    known: dict[str, KnownPage] = {}
    damaged.apart(urls, lambda some: known.update(services.store.known_pages(some)))
    return known


def _told(answer: Answer, problems: Mapping[str, str]) -> Answer:
    """The answer of a page that brought no reading, with the reason."""
    failed = answer.job.url in problems
    if not failed and (answer.kind != "Fetched" or answer.job.sitemap):
        return answer
    return replace(answer, kind="Unreadable", why=problems.get(answer.job.url, FAILED))


def _to_store(answers: Sequence[Answer], writes: Sequence[Planned], services: Services) -> Send:
    (token,) = services.spool.put_many([to_blob(writes)])
    bodies = tuple(a.token for a in answers if a.token)
    jobs = tuple(a.job for a in answers)
    return Send(STORE, PageBundle(token, jobs, bodies), priority=most_urgent(jobs))


def _follow(answers: Sequence[Answer], read: Mapping[str, Reading], services: Services) -> None:
    """Links of pages with depth left are enqueued, within the page's registered domain."""
    by_way: dict[tuple[int, int], list[str]] = {}
    for answer in answers:
        reading = read.get(answer.job.url)
        if reading is None or answer.job.depth < 1:
            continue
        obey = services.settings.politeness.obey_nofollow
        if obey and reading.nofollow:
            continue
        home = registered_domain(answer.final_url)
        by_way.setdefault((answer.job.depth - 1, answer.job.priority), []).extend(
            link.url
            for link in reading.links
            if registered_domain(link.url) == home and not (obey and link.nofollow)
        )
    for (depth, priority), urls in by_way.items():
        for _ in services.enqueuer.enqueue(urls, Wanted(depth=depth, priority=priority)):
            pass
