"""Jobs that come back by ETA, in as few messages as their times allow. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aragog.pipeline.bundles import FetchBundle, UrlJob
from aragog.pipeline.sending import FETCH, Send


def in_time(jobs: Iterable[tuple[UrlJob, int]], *, bundle_size: int, span_ms: int) -> list[Send]:
    """
    Bundles whose ETA is the instant (ms) of their first job.

    Jobs within `span_ms` of the first share its message: `fetch` waits that long inside the task,
    so a domain at 10 requests a second costs one message a second, not ten.
    """
    sends: list[Send] = []
    group: list[tuple[UrlJob, int]] = []
    for job, at_ms in sorted(jobs, key=lambda pair: pair[1]):
        if group and (len(group) >= bundle_size or at_ms > group[0][1] + span_ms):
            sends.append(_send(group))
            group = []
        group.append((job, at_ms))
    return [*sends, _send(group)] if group else sends


def _send(group: Sequence[tuple[UrlJob, int]]) -> Send:
    jobs = tuple(job for job, _ in group)
    return Send(FETCH, FetchBundle(jobs), group[0][1], min(job.priority for job in jobs))
