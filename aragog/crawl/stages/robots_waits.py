"""
Routes URLs after their robots rules were requested: to the fetch stage or, after a delay, to the
robots stage again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from aragog.crawl.pipeline.messages import FetchBatch, RobotsBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from urlspelling.domain import origin

# The priority of refreshes that no URL is waiting for.
BACKGROUND = 8


class RulesWait(NamedTuple):
    """When the jobs of an origin are sent again."""

    wait_ms: int
    slot_at_ms: int | None = None
    """The slot (request time) for the origin's robots.txt."""
    claimed: bool = True
    """True if this batch holds the claim on the refresh."""


def route_jobs(
    batch: RobotsBatch, waits: Mapping[str, RulesWait], span_ms: int
) -> list[OutgoingMessage]:
    """Return the jobs' messages: to `fetch` if their rules are known, otherwise to `robots`."""
    ready = tuple(job for job in batch.jobs if origin(job.next_url) not in waits)
    outgoing = []
    if ready:
        priority = most_urgent_priority(ready)
        outgoing.append(OutgoingMessage(Destination.FETCH, FetchBatch(ready), priority=priority))
    for claimed in (True, False):
        waits_in_batch = {o: wait for o, wait in waits.items() if wait.claimed is claimed}
        for group in _group_by_wait(waits_in_batch, span_ms):
            retry = _retry_batch(batch, {o: waits_in_batch[o] for o in group}, claimed=claimed)
            if retry.jobs or claimed or batch.refresh:
                priority = min((job.priority for job in retry.jobs), default=BACKGROUND)
                delay_ms = waits_in_batch[group[0]].wait_ms
                outgoing.append(OutgoingMessage(Destination.ROBOTS, retry, delay_ms, priority))
    return outgoing


def _retry_batch(
    batch: RobotsBatch, waits: Mapping[str, RulesWait], *, claimed: bool
) -> RobotsBatch:
    jobs = tuple(job for job in batch.jobs if origin(job.next_url) in waits)
    slots = {o: at_ms for o, wait in waits.items() if (at_ms := wait.slot_at_ms)}
    return RobotsBatch(tuple(waits), jobs, claimed, batch.refresh, slots)


def _group_by_wait(waits: Mapping[str, RulesWait], span_ms: int) -> list[list[str]]:
    """Group origins whose waits differ by at most `span_ms`, to share a message."""
    groups: list[list[str]] = []
    for origin_url, wait in sorted(waits.items(), key=lambda item: item[1].wait_ms):
        if groups and wait.wait_ms <= waits[groups[-1][0]].wait_ms + span_ms:
            groups[-1].append(origin_url)
        else:
            groups.append([origin_url])
    return groups
