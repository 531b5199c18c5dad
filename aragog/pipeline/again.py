"""URLs whose blobs the spool no longer has are fetched anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aragog.pipeline import tally
from aragog.pipeline.bundles import UrlJob, in_bundles
from aragog.pipeline.sending import FETCH, Send
from aragog.pipeline.services import Services


def from_the_beginning(jobs: Sequence[UrlJob], services: Services) -> list[Send]:
    """Bundles for `fetch`: the first URL, no slot, though it may be stored already."""
    fresh = [replace(job, slot_at_ms=None, target=None, hops=(), refresh=True) for job in jobs]
    services.tally.add({tally.RETRIED: len(fresh)})
    size = services.settings.pipeline.bundle_size
    return [Send(FETCH, bundle) for bundle in in_bundles(fresh, size)]
