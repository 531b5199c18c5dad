"""When a URL whose fetch failed for a passing reason is tried again. Pure."""

from __future__ import annotations

import random
from dataclasses import replace

from aragog.pipeline.messages import UrlJob
from aragog.settings import PipelineSettings

# A Retry-After of weeks is a refusal; the refresh schedule will ask again in its own time.
LONGEST_WAIT_MS = 24 * 3_600_000


def again(
    job: UrlJob,
    settings: PipelineSettings,
    *,
    wait_at_least_ms: int | None = None,
    rng: random.Random,
) -> tuple[UrlJob, int] | None:
    """
    The job for its next attempt and how long it waits (ms), or None when it has had enough.

    Attempt n waits `retry_first_s`·2ⁿ, give or take a quarter, or `wait_at_least_ms` where the
    origin asked for that (at most a day). Redirects start again from the first URL.
    """
    if job.attempt + 1 >= settings.max_attempts:
        return None
    wait_ms = settings.retry_first_s * 1000 * 2**job.attempt * rng.uniform(0.75, 1.25)
    wait_ms = min(int(wait_ms), LONGEST_WAIT_MS)
    if wait_at_least_ms is not None:
        # What the origin asked for counts instead of our guess, with jitter against herds.
        wait_ms = min(max(0, wait_at_least_ms), LONGEST_WAIT_MS) + int(rng.uniform(0, 500))
    following = replace(
        job, attempt=job.attempt + 1, slot_at_ms=None, target=None, target_given=None, hops=()
    )
    return following, int(wait_ms)
