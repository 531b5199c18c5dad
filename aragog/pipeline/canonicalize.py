"""
Read the pages of a bundle and decide what each is: canonical URL, links, fields, next refresh.

Safe to run twice: it writes nothing but a new blob in the spool, and links that are followed are
coalesced with those of the first run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aragog.pipeline import damaged
from aragog.pipeline.again import from_the_beginning
from aragog.pipeline.bundles import Answer, AnswerBundle, PageBundle
from aragog.pipeline.enqueue import Wanted
from aragog.pipeline.page_writes import Planned, failure_write, page_write, to_blob
from aragog.pipeline.reading import Reading, candidates, decided, read_page
from aragog.pipeline.sending import STORE, Send
from aragog.pipeline.services import Services
from aragog.pipeline.sitemaps import enqueue_entries
from aragog.urls.canonical import KnownPage
from aragog.urls.domain import registered_domain
from aragog.urlstore.compression import decompress

log = logging.getLogger(__name__)


def canonicalize_bundle(bundle: AnswerBundle, services: Services) -> list[Send]:
    """
    One message to `store` for the whole bundle, and fetches of URLs whose body has expired.

    A page that cannot be read, for whatever reason, is stored as such and fails no other.

    Raises:
        TransientError: Redis or the store did not answer; the bundle runs again.
    """
    bundle = _without_taken_down(bundle, services)
    tokens = [a.token for a in bundle.answers if a.token]
    bodies = dict(zip(tokens, services.spool.get_many(tokens), strict=True))
    expired = [a for a in bundle.answers if a.token and bodies[a.token] is None]
    present = [a for a in bundle.answers if a not in expired] if expired else bundle.answers
    for answer in present:
        if answer.job.sitemap and answer.token:
            enqueue_entries(answer, decompress(bodies[answer.token] or b""), services)
    read = {
        a.job.url: reading
        for a in present
        if a.token and not a.job.sitemap
        if (reading := _read(a, bodies[a.token] or b"", services))
    }
    writes = _writes(present, read, services)
    _follow(present, read, services)
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


def _read(answer: Answer, blob: bytes, services: Services) -> Reading | None:
    """The reading, or None where our own code failed on the page: logged, stored as Unreadable."""
    try:
        limit = services.settings.pipeline.max_links_per_page
        return read_page(answer, decompress(blob), max_links=limit)
    except Exception:
        # One hostile page must never take the other URLs of its bundle with it, again and again.
        log.exception("a page could not be read: %s", answer.final_url)
        return None


def _writes(
    answers: Sequence[Answer], read: Mapping[str, Reading], services: Services
) -> list[Planned]:
    wanted = set().union(*(candidates(r.evidence) for r in read.values())) if read else set()
    known = _known(sorted(wanted), services)
    writes = []
    for answer in answers:
        reading = read.get(answer.job.url)
        if reading is None:
            writes.append(failure_write(_told(answer), services.settings))
        else:
            decision = decided(reading.evidence, known)
            writes.append(page_write(answer, reading, decision, services.settings))
    return writes


def _known(urls: Sequence[str], services: Services) -> dict[str, KnownPage]:
    """What is stored of other URLs; one whose rows cannot be read now is taken for unknown."""
    known: dict[str, KnownPage] = {}
    damaged.apart(urls, lambda some: known.update(services.store.known_pages(some)))
    return known


def _told(answer: Answer) -> Answer:
    """The answer of a page that brought no reading, saying so."""
    if answer.kind != "Fetched" or answer.job.sitemap:
        return answer
    return replace(answer, kind="Unreadable", why="aragog failed to read the page; see its log")


def _to_store(answers: Sequence[Answer], writes: Sequence[Planned], services: Services) -> Send:
    (token,) = services.spool.put_many([to_blob(writes)])
    bodies = tuple(a.token for a in answers if a.token)
    return Send(STORE, PageBundle(token, tuple(a.job for a in answers), bodies))


def _follow(answers: Sequence[Answer], read: Mapping[str, Reading], services: Services) -> None:
    """Links of pages with depth left are enqueued, within the page's registered domain."""
    by_depth: dict[int, list[str]] = {}
    for answer in answers:
        reading = read.get(answer.job.url)
        if reading is None or answer.job.depth < 1:
            continue
        obey = services.settings.politeness.obey_nofollow
        if obey and reading.nofollow:
            continue
        home = registered_domain(answer.final_url)
        by_depth.setdefault(answer.job.depth - 1, []).extend(
            link.url
            for link in reading.links
            if registered_domain(link.url) == home and not (obey and link.nofollow)
        )
    for depth, urls in by_depth.items():
        for _ in services.enqueuer.enqueue(urls, Wanted(depth=depth)):
            pass
