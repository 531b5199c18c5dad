"""
Estimates from a sample of messages how many URLs are waiting in the queues, and for what.

URLs that are not in their domain's waiting queue are in messages. A message may be delayed (such as
the later part of a long list), wait for robots.txt files, or be next for a worker. An exact count
would have to read all messages.
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
MAX_SAMPLED_MESSAGES = 100
"""Messages to read per queue. Each contains up to `pipeline.batch_size` URLs."""


class WaitingUrl(NamedTuple):
    """A URL in the sample."""

    url: str
    """The URL to request next."""
    cause: str
    """What the URL is waiting for: `SLOT`, `RETRY`, `ROBOTS` or `TURN`."""
    request_id: str
    weight: float
    """How many URLs of its queue this URL stands for."""


def sample(admin: Admin, max_messages: int = MAX_SAMPLED_MESSAGES) -> Iterator[WaitingUrl]:
    """
    Yield URLs from the first due messages of `fetch` and `robots`.

    Their weights add up to the estimated total number of URLs.

    Raises:
        BrokerUnavailable: the broker does not respond.
    """
    for queue in (Queue.FETCH, Queue.ROBOTS):
        pending = admin.status(queue).sizes.pending
        jobs = admin.jobs(queue, JobState.PENDING, limit=max_messages)
        weight = max(1.0, pending / len(jobs)) if jobs else 1.0
        for job in jobs:
            with suppress(InvalidMessage):
                for entry in _job_entries(arguments(job.body)):
                    url = str(entry.get("target") or entry.get("url") or "")
                    cause = ROBOTS if queue is Queue.ROBOTS else find_cause(entry)
                    yield WaitingUrl(url, cause, str(entry.get("request_id") or ""), weight)


def _job_entries(messages: list[object]) -> Iterator[Mapping[str, object]]:
    for message in messages:
        if isinstance(message, Mapping):
            urls = message.get("urls")
            yield from (e for e in urls if isinstance(e, Mapping)) if isinstance(urls, list) else ()


def find_cause(entry: Mapping[str, object]) -> str:
    """
    Return whether a URL in a fetch message is waiting for its slot (request time), its next
    attempt, or a worker.
    """
    if entry.get("slot_at_ms"):
        return SLOT
    return RETRY if entry.get("attempt") else TURN
