"""Jobs that come back later, in as few messages as their times allow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aragog.pipeline.messages import FetchBatch, UrlJob
from aragog.pipeline.routing import Destination, OutgoingMessage, most_urgent


def in_time(
    jobs: Iterable[tuple[UrlJob, int]], *, batch_size: int, span_ms: int, passed_ms: int = 0
) -> list[OutgoingMessage]:
    """
    Batches that are delayed as long as their first job.

    Each job comes with how long it waits (ms), counted from one moment, since which `passed_ms`
    have gone by.

    Jobs within `span_ms` of the first share its message: `fetch` waits that long inside the task,
    so a domain at 10 requests a second costs one message a second, not ten.
    """
    outgoing: list[OutgoingMessage] = []
    group: list[tuple[UrlJob, int]] = []
    for job, wait_ms in sorted(jobs, key=lambda pair: pair[1]):
        if group and (len(group) >= batch_size or wait_ms > group[0][1] + span_ms):
            outgoing.append(_send(group, passed_ms))
            group = []
        group.append((job, wait_ms))
    return [*outgoing, _send(group, passed_ms)] if group else outgoing


def _send(group: Sequence[tuple[UrlJob, int]], passed_ms: int) -> OutgoingMessage:
    jobs = tuple(job for job, _ in group)
    delay_ms = max(0, group[0][1] - passed_ms)
    return OutgoingMessage(Destination.FETCH, FetchBatch(jobs), delay_ms, most_urgent(jobs))
