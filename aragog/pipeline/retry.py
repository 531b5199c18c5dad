"""When a URL whose fetch failed for a passing reason is tried again. Pure."""

from __future__ import annotations

import random
from dataclasses import replace

from aragog.pipeline.bundles import UrlJob
from aragog.settings import PipelineSettings

# A Retry-After of weeks is a refusal; the refresh schedule will ask again in its own time.
LONGEST_WAIT_MS = 24 * 3_600_000


def again(
    job: UrlJob,
    settings: PipelineSettings,
    *,
    now_ms: int,
    not_before_ms: int | None = None,
    rng: random.Random,
) -> tuple[UrlJob, int] | None:
    """
    The job for its next attempt and when (ms since the epoch), or None when it has had enough.

    Attempt n waits `retry_first_s`·2ⁿ, give or take a quarter, and at least until `not_before_ms`
    (what the origin asked for, at most a day). Redirects start again from the first URL.
    """
    if job.attempt + 1 >= settings.max_attempts:
        return None
    wait_ms = settings.retry_first_s * 1000 * 2**job.attempt * rng.uniform(0.75, 1.25)
    at_ms = now_ms + min(int(wait_ms), LONGEST_WAIT_MS)
    if not_before_ms is not None:
        asked_ms = min(not_before_ms, now_ms + LONGEST_WAIT_MS)
        # What the origin asked for counts instead of our guess, with jitter against herds.
        at_ms = asked_ms + int(rng.uniform(0, 500))
    following = replace(job, attempt=job.attempt + 1, slot_at_ms=None, target=None, hops=())
    return following, at_ms
