"""Why URLs are not enqueued, and the results that callers get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from aragog.crawl.pipeline.enqueue_results import EnqueueResult, EnqueueStatus
from aragog.crawl.pipeline.in_flight_values import Mark
from aragog.errors import InvalidUrl


class Refusal(NamedTuple):
    """Why a valid URL is not enqueued."""

    status: EnqueueStatus
    reason: str


TAKEN_DOWN = Refusal(EnqueueStatus.TAKEN_DOWN, "it was taken down")
REFUSAL_BY_MARK = {
    Mark.MAX_URLS: Refusal(EnqueueStatus.OVER_BUDGET, "the crawl has reached max_urls"),
    Mark.MAX_PER_HOST: Refusal(
        EnqueueStatus.OVER_BUDGET, "the crawl has reached max_urls_per_host"
    ),
}


def make_result(
    url: str, normalized: str | InvalidUrl, new_urls: set[str], refusals: Mapping[str, Refusal]
) -> EnqueueResult:
    """
    Return the result for an input of a chunk.

    Args:
        url: the URL as given.
        normalized: its normalized form, or why it cannot be normalized.
        new_urls: the URLs that were sent. `normalized` is removed.
        refusals: the refused URLs.
    """
    if isinstance(normalized, InvalidUrl):
        return EnqueueResult(url, EnqueueStatus.INVALID, reason=normalized.reason)
    if refusal := refusals.get(normalized):
        return EnqueueResult(url, refusal.status, normalized, reason=refusal.reason)
    if normalized in new_urls:
        # Another form of the URL in the same chunk then counts as already in flight.
        new_urls.discard(normalized)
        return EnqueueResult(url, EnqueueStatus.ACCEPTED, normalized)
    return EnqueueResult(url, EnqueueStatus.WAITING, normalized)
