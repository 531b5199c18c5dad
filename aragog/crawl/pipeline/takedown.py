"""
Applies a takedown outside the store: informs producers, and purges Redis and the broker.

`SiteBlocks` is a copy of the store's takedowns in Redis, so that callers are informed immediately
and no message is sent. If the copy is lost or outdated, the fetch and store stages still refuse the
URLs, because they check the store itself.

Stages refuse taken-down URLs when they process their messages. `Purge` removes what would remain
until then: pending and FAILED messages, bodies in the spool, webhook deliveries that were not
accepted yet, and taken-down sites' robots.txt rules. A message that also has other URLs is replaced
by a message with only those URLs. Run the purge after the takedown. It is idempotent, and workers
need not be stopped: the stages refuse URLs in messages that are claimed in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import redis

from aragog.crawl.pipeline.finished_urls import finished_messages, takedown_results
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.ports import InFlight
from aragog.crawl.pipeline.routing import FETCH_BY_MODULE, Destination, OutgoingMessage, Sender
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.spool_reclaim import tokens_in
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.errors import InvalidMessage, InvalidUrl
from aragog.urlstore.tombstones import DOMAIN, HOST, URL
from pinlater.admin import Admin
from pinlater.envelope import arguments
from pinlater.models import JobInfo, JobState
from pinlater.redis.errors import redis_errors
from pinlater.shard import Shard
from urlspelling import normalize
from urlspelling.domain import host
from urlspelling.hosts import and_parents


class SiteBlocks:
    """
    Taken-down hosts, domains and URLs in one Redis set.

    Every call raises `BrokerUnavailable` if Redis does not respond.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}taken_down"

    def refused(self, urls: Iterable[str]) -> set[str]:
        """
        Return the normalized URLs that were taken down, individually or with their site. Usually
        one round trip.
        """
        urls = list(urls)
        with redis_errors("taken down hosts"):
            if not urls or not self._redis.scard(self._key):
                return set()
            names = {name: _host_entries(name) for name in map(host, urls)}
            entries = sorted(set().union(*names.values(), (f"{URL}:{url}" for url in urls)))
            replies = self._redis.smismember(self._key, entries)
            blocked_entries = {
                entry for entry, is_member in zip(entries, replies, strict=True) if is_member
            }
        return {
            url
            for url in urls
            if f"{URL}:{url}" in blocked_entries or blocked_entries & names[host(url)]
        }

    def replace(self, store_entries: Iterable[tuple[str, str]]) -> None:
        """Replace the copy with (kind, name) pairs from the store (`Takedowns.listed`)."""
        entries = [f"{kind}:{name}" for kind, name in store_entries]
        with redis_errors("taken down hosts"), self._redis.pipeline() as pipe:
            pipe.delete(self._key)
            if entries:
                pipe.sadd(self._key, *entries)
            pipe.execute()


def _host_entries(name: str) -> set[str]:
    return {f"{HOST}:{name}", *(f"{DOMAIN}:{parent}" for parent in and_parents(name))}


FindRefused = Callable[[Iterable[str]], set[str]]
"""Returns those of the normalized URLs that were taken down (`UrlStore.takedowns.refused`)."""

PAGE_SIZE = 200
MAX_PASSES = 3
"""How many times to list the queues. A listing can miss messages that move in the meantime."""
_DESTINATIONS = {destination.task: destination for destination in Destination} | {
    FETCH_BY_MODULE: Destination.FETCH
}
# These messages contain no page data, and a caller waits for them.
_DESTINATIONS.pop(Destination.FINISHED.task)
_STAGES = (
    Destination.FETCH, Destination.ROBOTS, Destination.RENDER, Destination.CANONICALIZE,
    Destination.STORE,
)  # fmt: skip
_ENTRY_LISTS = ("urls", "results", "changes", "origins")
"""The lists in all stages' messages. A list's entries are independent of each other."""


@dataclass(slots=True)
class PurgeCounts:
    """Counts of removed entries."""

    messages: int = 0
    """Removed pending or FAILED messages, without webhook deliveries. On brokers other than
    pinlater: removed dead letters."""
    bodies: int = 0
    """Bodies removed from the spool."""
    deliveries: int = 0
    """Webhook deliveries that were deleted, or replaced by deliveries without these URLs."""
    origins: int = 0
    """Origins whose robots.txt rules were removed."""


@dataclass(frozen=True, slots=True)
class _JsonMessage:
    value: Any

    def wire(self) -> Any:
        return self.value


@dataclass(slots=True, eq=False)
class Purge:
    """
    Purges one Redis and one broker.

    Args:
        refused: returns which URLs were taken down, for many URLs at once.
        robots: the cache of robots.txt rules.
        in_flight: URLs in deleted messages are removed from it, so they can be enqueued again
            later.
        admin: access to the queues, or None if the broker cannot list its messages.
        sender: sends the messages for other URLs.
        drop_dead_letters: on brokers other than pinlater, removes the dead letters whose arguments
            match. Returns how many.
    """

    refused: FindRefused
    robots: RobotsCache
    spool: Spool
    in_flight: InFlight
    admin: Admin | None
    sender: Sender
    drop_dead_letters: Callable[[Callable[[Any], bool]], int] = lambda _: 0

    def run(self) -> PurgeCounts:
        """
        Purge everything. Walks all keys of Redis, and all PENDING and FAILED messages.

        Raises:
            BrokerUnavailable, SpoolUnavailable, RobotsUnavailable: run it again.
        """
        purged = PurgeCounts(origins=self.robots.forget(self.refused))
        purged.messages += self.drop_dead_letters(
            lambda message: bool(self.refused(set(_urls_in(message))))
        )
        for _ in range(MAX_PASSES):
            before = purged.messages + purged.deliveries
            for queue in self.admin.queues() if self.admin else ():
                for state in (JobState.PENDING, JobState.FAILED):
                    self._purge_queue(queue, state, purged)
            if purged.messages + purged.deliveries == before:
                break
        return purged

    def _purge_queue(self, queue: str, state: JobState, purged: PurgeCounts) -> None:
        for shard, job, message in list(self._messages_with_refused(queue, state)):
            refused = self.refused(set(_urls_in(message)))
            remainder = _drop_refused(message, refused)
            if remainder == message:
                continue
            # Send the new message before deleting the old one. If the process is killed in between,
            # it is sent again.
            if (outgoing := _remainder_message(job, remainder)) is not None:
                self.sender.send(outgoing)
            self.sender.send_all(_replies_to_callers(message, refused))
            tokens = _body_tokens(message) - (
                set() if _needs_refetch(job) else _body_tokens(remainder)
            )
            self.spool.free(sorted(tokens))
            self.in_flight.clear(sorted(refused), "taken down")
            deleted = shard.delete(queue, state, ids=[job.job_id])
            purged.bodies += len(tokens)
            if job.name == Destination.WEBHOOK.task:
                purged.deliveries += deleted
            else:
                purged.messages += deleted

    def _messages_with_refused(
        self, queue: str, state: JobState
    ) -> Iterator[tuple[Shard, JobInfo, Any]]:
        for shard in self.admin.cluster.shards if self.admin else ():
            offset = 0
            while jobs := shard.jobs(queue, state, limit=PAGE_SIZE, offset=offset):
                offset += len(jobs)
                readable = [(job, _read_message(job)) for job in jobs if job.name in _DESTINATIONS]
                urls = [set(_urls_in(message)) for _, message in readable]
                refused = self.refused(set().union(*urls))
                for (job, message), job_urls in zip(readable, urls, strict=True):
                    if not refused.isdisjoint(job_urls):
                        yield shard, job, message


def _read_message(job: JobInfo) -> Any:
    try:
        return arguments(job.body)[0]
    except (InvalidMessage, LookupError):
        return None


def _drop_refused(message: Any, refused: set[str]) -> Any:
    """Return the message without entries that contain a refused URL; None if no entry is left."""

    def keep_others(entries: list[Any]) -> list[Any]:
        return [entry for entry in entries if refused.isdisjoint(_urls_in(entry))]

    if isinstance(message, list):
        return keep_others(message) or None
    if not isinstance(message, Mapping):
        return message if refused.isdisjoint(_urls_in(message)) else None
    lists = {n: keep_others(message[n]) for n in _ENTRY_LISTS if isinstance(message.get(n), list)}
    remainder = {**message, **lists}
    if isinstance(message.get("slots"), Mapping):
        origins = set(lists.get("origins", ()))
        remainder["slots"] = {
            name: slot_at_ms for name, slot_at_ms in message["slots"].items() if name in origins
        }
    return remainder if any(lists.values()) else None


def _needs_refetch(job: JobInfo) -> bool:
    """
    Return True if the message's other URLs must be fetched again.

    A batch's page updates are one value in the spool and cannot be split. A FAILED message would
    only fail again.
    """
    destination = _DESTINATIONS[job.name]
    is_failed = job.state is JobState.FAILED and destination in _STAGES
    return is_failed or destination is Destination.STORE


def _remainder_message(job: JobInfo, remainder: Any) -> OutgoingMessage | None:
    if remainder is None:
        return None
    wait_ms = max(0, job.due_at_ms - job.created_at_ms) or None
    if not _needs_refetch(job):
        return OutgoingMessage(
            _DESTINATIONS[job.name], _JsonMessage(remainder), wait_ms, job.priority
        )
    jobs = tuple(replace(job, attempt=0) for job in _readable_jobs(remainder))
    return (
        OutgoingMessage(Destination.FETCH, FetchBatch(jobs), priority=job.priority)
        if jobs
        else None
    )


def _replies_to_callers(message: Any, refused: set[str]) -> list[OutgoingMessage]:
    jobs = [
        job
        for job in _readable_jobs(message)
        if job.then and not refused.isdisjoint(_urls_in(job.wire()))
    ]
    return finished_messages(jobs, takedown_results(job.url for job in jobs))


def _body_tokens(message: Any) -> set[str]:
    return set(tokens_in(message))


def _readable_jobs(message: Any) -> list[UrlJob]:
    if not isinstance(message, Mapping):
        return []
    items = [*(message.get("urls") or ()), *(message.get("results") or ())]
    result = []
    for item in items:
        with suppress(InvalidMessage, TypeError):
            result.append(UrlJob.read(item.get("job", item) if isinstance(item, Mapping) else item))
    return result


def _urls_in(value: Any) -> Iterator[str]:
    """Yield every URL in a JSON value, normalized, even those in redirects and headers."""
    if isinstance(value, str):
        if "://" in value:
            with suppress(InvalidUrl):
                yield normalize(value)
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _urls_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _urls_in(member)
