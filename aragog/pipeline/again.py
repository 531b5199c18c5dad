"""
URLs whose blobs the spool no longer has are fetched anew.

Each time counts as an attempt, so that it has an end whatever takes the blobs away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aragog.fetcher.outcome import Unreachable
from aragog.pipeline import tally
from aragog.pipeline.answers import without_fetch
from aragog.pipeline.bundles import AnswerBundle, UrlJob, in_bundles
from aragog.pipeline.sending import CANONICALIZE, FETCH, Send, most_urgent
from aragog.pipeline.services import Services

LOST = "what was fetched was lost before it was stored, at every attempt"


def from_the_beginning(jobs: Sequence[UrlJob], services: Services) -> list[Send]:
    """
    Bundles for `fetch`: the first URL, no slot, though it may be stored already; and for
    `canonicalize` the failures of those that had `pipeline.max_attempts`.
    """
    settings = services.settings.pipeline
    left = [job for job in jobs if job.attempt + 1 < settings.max_attempts]
    spent = [job for job in jobs if job.attempt + 1 >= settings.max_attempts]
    fresh = [
        replace(job, attempt=job.attempt + 1, slot_at_ms=None, target=None, hops=(), refresh=True)
        for job in left
    ]
    services.tally.add({tally.RETRIED: len(fresh), tally.FAILED: len(spent)})
    sends = [
        Send(FETCH, bundle, priority=most_urgent(bundle.jobs))
        for bundle in in_bundles(fresh, settings.bundle_size)
    ]
    if spent:
        answers = tuple(
            without_fetch(Unreachable, job, services, kind="spool", why=LOST) for job in spent
        )
        sends.append(Send(CANONICALIZE, AnswerBundle(answers), priority=most_urgent(spent)))
    return sends
