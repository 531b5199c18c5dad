"""
URLs whose blobs the spool no longer has are fetched anew.

Each time counts as an attempt, so that it has an end whatever takes the blobs away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline import counters
from aragog.pipeline.fetch_results import without_fetch
from aragog.pipeline.messages import ResultBatch, UrlJob, into_batches
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent
from aragog.pipeline.services import Services

LOST = "what was fetched was lost before it was stored, at every attempt"


def from_the_beginning(jobs: Sequence[UrlJob], services: Services) -> list[OutgoingMessage]:
    """
    Batches for `fetch`: the first URL, no slot, though it may be stored already; and for
    `canonicalize` the failures of those that had `pipeline.max_attempts`.
    """
    settings = services.settings.pipeline
    left = [job for job in jobs if job.attempt + 1 < settings.max_attempts]
    spent = [job for job in jobs if job.attempt + 1 >= settings.max_attempts]
    fresh = [
        replace(job, attempt=job.attempt + 1, slot_at_ms=None, target=None, hops=(), refresh=True)
        for job in left
    ]
    services.counters.add({counters.RETRIED: len(fresh), counters.FAILED: len(spent)})
    outgoing = [
        OutgoingMessage(Destination.FETCH, batch, priority=most_urgent(batch.jobs))
        for batch in into_batches(fresh, settings.batch_size)
    ]
    if spent:
        results = tuple(
            without_fetch(job, OutcomeKind.UNREACHABLE, LOST, services.clock.now_ms())
            for job in spent
        )
        outgoing.append(
            OutgoingMessage(
                Destination.CANONICALIZE, ResultBatch(results), priority=most_urgent(spent)
            )
        )
    return outgoing
