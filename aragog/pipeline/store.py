"""
Write what a bundle of fetches came to: content first, then the records that point to it.

Safe to run twice and late: content is replaced by the same content, a write never replaces a newer
one, and links go through the journal. Killed in the middle, the message comes back; its tokens are
freed only when all is written.
"""

from __future__ import annotations

from aragog.pipeline import tally
from aragog.pipeline.again import from_the_beginning
from aragog.pipeline.bundles import PageBundle
from aragog.pipeline.page_writes import from_blob, with_body
from aragog.pipeline.sending import Send
from aragog.pipeline.services import Services


def store_bundle(bundle: PageBundle, services: Services) -> list[Send]:
    """
    Fetches of URLs whose blobs had expired; nothing when all was written.

    Raises:
        TransientError: the store, the content store or Redis did not answer; runs again.
    """
    blob, *bodies = services.spool.get_many([bundle.token, *bundle.bodies])
    if blob is None:
        # Either this message ran to its end before (its URLs are fetched once more, for nothing),
        # or it waited longer than the spool keeps things.
        return from_the_beginning(bundle.jobs, services)
    body_of = dict(zip(bundle.bodies, bodies, strict=True))
    planned = from_blob(blob)
    lost = {p.write.url for p in planned if p.token and body_of.get(p.token) is None}
    writes = [
        with_body(p, body_of[p.token] if p.token else None)
        for p in planned
        if p.write.url not in lost
    ]
    services.store.write_pages(writes)
    services.waiting.clear([job.url for job in bundle.jobs if job.url not in lost])
    services.spool.free([bundle.token, *bundle.bodies])
    services.tally.add({tally.STORED: sum(1 for write in writes if write.content)})
    return from_the_beginning([job for job in bundle.jobs if job.url in lost], services)
