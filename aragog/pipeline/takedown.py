"""
Remove what Redis and the broker hold of URLs that were taken down, instead of waiting for it.

Stages refuse such URLs when their messages come up; this is for what would stay longer: FAILED
messages (kept for days), bodies in the spool, deliveries that webhooks have not taken yet, and the
robots.txt rules of taken-down sites. Run it after the takedown; safe to repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from aragog.errors import InvalidMessage, InvalidUrl
from aragog.pinlater.admin import Admin
from aragog.pinlater.models import JobInfo, JobState
from aragog.pinlater.shard import Shard
from aragog.pinlater.transport.envelope import arguments
from aragog.pipeline.messages import FetchBatch, UrlJob
from aragog.pipeline.routing import Destination, OutgoingMessage, Sender
from aragog.pipeline.spool.reclaim import tokens_of
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.webhooks import Delivery
from aragog.politeness.robots.cache import RobotsCache
from aragog.urls.normalize import normalize

Refused = Callable[[Iterable[str]], set[str]]
"""Those of the normalized URLs that were taken down: `UrlStore.takedowns.refused`."""

PAGE = 200
_WEBHOOKS = Destination.WEBHOOK.queue


@dataclass(slots=True)
class Purged:
    """What was removed."""

    failed: int = 0
    """FAILED messages; what else they named is fetched again."""
    bodies: int = 0
    """Bodies in the spool; other pages of their messages are fetched again."""
    deliveries: int = 0
    """Webhook deliveries, sent again without the changes of these URLs."""
    origins: int = 0
    """Origins whose robots.txt rules were kept."""


@dataclass(frozen=True, slots=True)
class Purge:
    """Purges one Redis and one broker."""

    refused: Refused
    robots: RobotsCache
    spool: Spool
    admin: Admin | None
    """The queues; None on a broker that cannot be asked."""
    sender: Sender
    """For what is sent again."""

    def run(self) -> Purged:
        """
        Purge; a walk over all keys of Redis, and all PENDING and FAILED messages.

        Raises:
            BrokerUnavailable, SpoolUnavailable, RobotsUnavailable: run it again.
        """
        done = Purged(origins=self.robots.forget(self.refused))
        for queue in self.admin.queues() if self.admin else ():
            self._of_queue(queue, done)
        return done

    def _of_queue(self, queue: str, done: Purged) -> None:
        for shard, job in list(self._naming(queue, JobState.FAILED)):
            done.bodies += self._free(job)
            # Sent before it is deleted: killed in between, it is sent once more.
            self._send_rest(job)
            done.failed += shard.delete(queue, JobState.FAILED, ids=[job.job_id])
        for shard, job in list(self._naming(queue, JobState.PENDING)):
            if queue == _WEBHOOKS:
                self._send_rest(job)
                done.deliveries += shard.delete(queue, JobState.PENDING, ids=[job.job_id])
            else:
                done.bodies += self._free(job)

    def _naming(self, queue: str, state: JobState) -> Iterator[tuple[Shard, JobInfo]]:
        """The messages of a queue that name a taken-down URL."""
        for shard in self.admin.cluster.shards if self.admin else ():
            offset = 0
            while jobs := shard.jobs(queue, state, limit=PAGE, offset=offset):
                offset += len(jobs)
                urls = [set(_urls(_message(job))) for job in jobs]
                refused = self.refused(set().union(*urls))
                yield from (
                    (shard, job)
                    for job, its in zip(jobs, urls, strict=True)
                    if not refused.isdisjoint(its)
                )

    def _free(self, job: JobInfo) -> int:
        tokens = list(tokens_of(job))
        self.spool.free(tokens)
        return len(tokens)

    def _send_rest(self, job: JobInfo) -> None:
        """What else the message was for."""
        message = _message(job)
        if job.queue == _WEBHOOKS:
            with suppress(InvalidMessage):
                self._send_delivery(Delivery.read(message), job)
            return
        jobs = _jobs(message)
        refused = self.refused({each.url for each in jobs})
        rest = tuple(replace(each, attempt=0) for each in jobs if each.url not in refused)
        if rest:
            self.sender.send(
                OutgoingMessage(Destination.FETCH, FetchBatch(rest), priority=job.priority)
            )

    def _send_delivery(self, delivery: Delivery, job: JobInfo) -> None:
        named = [set(_urls(change)) for change in delivery.changes]
        refused = self.refused(set().union(*named))
        pairs = zip(delivery.changes, named, strict=True)
        rest = tuple(change for change, urls in pairs if refused.isdisjoint(urls))
        if rest:
            wait_ms = max(0, job.due_at_ms - job.created_at_ms)
            self.sender.send(
                OutgoingMessage(Destination.WEBHOOK, replace(delivery, changes=rest), wait_ms)
            )


def _message(job: JobInfo) -> Any:
    """The message of a job; None of one that cannot be read."""
    try:
        return arguments(job.body)[0]
    except (InvalidMessage, LookupError):
        return None


def _jobs(message: Any) -> list[UrlJob]:
    """The URL jobs of a message of any stage, those that can be read."""
    if not isinstance(message, Mapping):
        return []
    items = [*(message.get("urls") or ()), *(message.get("results") or ())]
    found = []
    for item in items:
        with suppress(InvalidMessage, TypeError):
            found.append(UrlJob.read(item.get("job", item) if isinstance(item, Mapping) else item))
    return found


def _urls(value: Any) -> Iterator[str]:
    """Every URL in a JSON value, normalized: also those of redirects, headers and origins."""
    if isinstance(value, str):
        if "://" in value:
            with suppress(InvalidUrl):
                yield normalize(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _urls(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _urls(each)
