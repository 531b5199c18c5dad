"""The causes that URLs of a run wait for, from a sample of the messages on the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from aragog.errors import BrokerUnavailable, InvalidMessage
from aragog.pinlater.admin import Admin
from aragog.pinlater.envelope import arguments
from aragog.pinlater.models import JobState
from aragog.pipeline.routing import Queue
from aragog.politeness.lines import Lines

SLOT, RETRY, ROBOTS, TURN = "a slot", "a retry", "robots.txt", "a worker"
SAMPLED_MESSAGES = 100
"""Of each queue; a message has up to `pipeline.batch_size` URLs."""


def waiting_for(admin: Admin, lines: Lines, request_id: str) -> Counter[str]:
    """
    URLs that wait for a slot, a retry, robots.txt or a worker; empty without an answer.

    Those that wait for a slot are of all calls, the others of the call with this request id.

    Where more than `SAMPLED_MESSAGES` wait in a queue, its numbers are projected from them.
    """
    causes: Counter[str] = Counter()
    with suppress(BrokerUnavailable):
        causes[SLOT] = lines.total()
        for queue in (Queue.FETCH, Queue.ROBOTS):
            pending = admin.status(queue).sizes.pending
            jobs = admin.jobs(queue, JobState.PENDING, limit=SAMPLED_MESSAGES)
            sampled: Counter[str] = Counter()
            for job in jobs:
                with suppress(InvalidMessage):
                    sampled.update(_causes(queue, arguments(job.body), request_id))
            factor = max(1.0, pending / len(jobs)) if jobs else 1.0
            causes.update({cause: round(count * factor) for cause, count in sampled.items()})
    return causes


def _causes(queue: Queue, messages: list[object], request_id: str) -> list[str]:
    """The cause for each URL of the call in a task's messages."""
    entries = [
        entry
        for message in messages
        if isinstance(message, Mapping)
        for entry in message.get("urls", ())
        if isinstance(entry, Mapping) and entry.get("request_id") == request_id
    ]
    return [ROBOTS if queue is Queue.ROBOTS else cause(entry) for entry in entries]


def cause(entry: Mapping[str, object]) -> str:
    """Why one URL of a fetch message waits: its reserved slot, its next attempt, or a worker."""
    if entry.get("slot_at_ms"):
        return SLOT
    return RETRY if entry.get("attempt") else TURN
