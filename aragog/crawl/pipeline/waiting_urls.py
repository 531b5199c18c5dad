"""
URLs that wait in the queues, and what each waits for, from a sample of the messages.

A URL of a domain with a line waits in it. All others are in messages: those that are delayed, such
as the later part of a long list, those whose site's robots.txt is not known or does not answer, and
those that a worker will take next. Counting them all would read every message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from aragog.crawl.pipeline.routing import Queue
from aragog.errors import InvalidMessage
from pinlater.admin import Admin
from pinlater.envelope import arguments
from pinlater.models import JobState

SLOT, RETRY, ROBOTS, TURN = "a slot", "a retry", "robots.txt", "a worker"
SAMPLED_MESSAGES = 100
"""The number of messages that are read per queue, of up to `pipeline.batch_size` URLs each."""


class WaitingUrl(NamedTuple):
    """A URL of the sample."""

    url: str
    """The URL to be asked next."""
    cause: str
    """The reason why it waits: `SLOT`, `RETRY`, `ROBOTS` or `TURN`."""
    request_id: str
    weight: float
    """The number of URLs of its queue that it represents."""


def sample(admin: Admin, most: int = SAMPLED_MESSAGES) -> Iterator[WaitingUrl]:
    """
    A sample from the first due messages of `fetch` and `robots`; the weights add up to all URLs.

    Raises:
        BrokerUnavailable: the broker does not answer.
    """
    for queue in (Queue.FETCH, Queue.ROBOTS):
        pending = admin.status(queue).sizes.pending
        jobs = admin.jobs(queue, JobState.PENDING, limit=most)
        weight = max(1.0, pending / len(jobs)) if jobs else 1.0
        for job in jobs:
            with suppress(InvalidMessage):
                for entry in _entries(arguments(job.body)):
                    url = str(entry.get("target") or entry.get("url") or "")
                    why = ROBOTS if queue is Queue.ROBOTS else cause(entry)
                    yield WaitingUrl(url, why, str(entry.get("request_id") or ""), weight)


def _entries(messages: list[object]) -> Iterator[Mapping[str, object]]:
    for message in messages:
        if isinstance(message, Mapping):
            urls = message.get("urls")
            yield from (e for e in urls if isinstance(e, Mapping)) if isinstance(urls, list) else ()


def cause(entry: Mapping[str, object]) -> str:
    """Why one URL of a fetch message waits: its reserved slot, its next attempt, or a worker."""
    if entry.get("slot_at_ms"):
        return SLOT
    return RETRY if entry.get("attempt") else TURN
