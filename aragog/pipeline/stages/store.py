"""
Write what a batch of fetches came to: content first, then the records that point to it.

Safe to run twice and late: content is replaced by the same content, a write never replaces a newer
one, and links go through the journal. Killed in the middle, the message comes back; its tokens are
freed only when all is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from aragog.pipeline import counters
from aragog.pipeline.faults import damaged
from aragog.pipeline.messages import PageBatch
from aragog.pipeline.pages.updates import from_blob, with_body
from aragog.pipeline.refetch import from_the_beginning
from aragog.pipeline.routing import OutgoingMessage
from aragog.pipeline.services import Services
from aragog.urlstore.pages.page_updates import urls_of
from aragog.urlstore.records import PageWrite


def store_batch(batch: PageBatch, services: Services) -> list[OutgoingMessage]:
    """
    Fetches of URLs whose blobs had expired, and later ones of those whose rows lie in a damaged
    file; nothing when all was written.

    Raises:
        TransientError: the store, the content store or Redis did not answer; runs again.
    """
    blob, *bodies = services.spool.get_many([batch.token, *batch.bodies])
    if blob is None:
        # Either this message ran to its end before (its URLs are fetched once more, for nothing),
        # or it waited longer than the spool keeps things.
        return from_the_beginning(batch.jobs, services)
    body_of = dict(zip(batch.bodies, bodies, strict=True))
    planned = from_blob(blob)
    lost = {p.write.url for p in planned if p.token and body_of.get(p.token) is None}
    writes = [
        with_body(p, body_of[p.token] if p.token else None)
        for p in planned
        if p.write.url not in lost
    ]
    stuck = {write.url for write in _write(writes, services)}
    left = lost | stuck
    services.in_flight.clear([job.url for job in batch.jobs if job.url not in left])
    services.spool.free([batch.token, *batch.bodies])
    stored = sum(1 for write in writes if write.content and write.url not in stuck)
    services.counters.add({counters.STORED: stored})
    in_flight = [job for job in batch.jobs if job.url in stuck]
    later = damaged.postponed(in_flight, fetched=True)
    again = from_the_beginning([job for job in batch.jobs if job.url in lost], services)
    return again + damaged.messages(later, services)


def _write(writes: Sequence[PageWrite], services: Services) -> list[PageWrite]:
    """Write the pages; returns those that must wait until a damaged file is replaced."""

    def served(write: PageWrite) -> bool:
        return all(map(services.store.serves, urls_of(write)))

    stuck = [write for write in writes if not served(write)]
    well = [write for write in writes if served(write)] if stuck else writes
    # What else a page touches, such as aliases of aliases, shows when it is written.
    return stuck + damaged.apart(well, services.store.write_pages)
