"""
Delivers results to Celery callers waiting for a URL, as in `chain(fetch.s(url), mine.s())`.

A job's `then` names the task to run when the job's URL is done, whatever the outcome. The stage
that ends the job sends a message to the task `aragog.finished`:

    {"v": 1, "then": "…", "answer": {"url": …, "canonical_url": …, "outcome": …, "status": …}}

`answer` is the result. It may include `reason`, and becomes the argument of the caller's task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import redis

from aragog.crawl.pipeline.messages import VERSION, UrlJob, check_version
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.errors import InvalidMessage
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.records import PageWrite, Record, Written
from pinlater.redis.errors import redis_errors

TTL_S = 172_800
"""Results are kept as long as an entry of the in-flight set, because after that no message is
delivered again."""
ERROR_SOURCE = "redis, finished URLs"
TAKEN_DOWN = "taken down"


@dataclass(frozen=True, slots=True)
class Finished:
    """The message to `aragog.finished`."""

    then: str
    answer: Mapping[str, Any]

    def wire(self) -> dict[str, Any]:
        return {"v": VERSION, "then": self.then, "answer": dict(self.answer)}

    @classmethod
    def read(cls, wire: Any) -> Self:
        """Parse the message. Raises InvalidMessage if it is unreadable."""
        check_version(wire, "finished")
        then, answer = wire.get("then"), wire.get("answer")
        if not isinstance(then, str) or not isinstance(answer, Mapping) or "url" not in answer:
            raise InvalidMessage("finished", "has no `then`, or no `answer` with a URL")
        return cls(then, answer)


def finished_messages(
    jobs: Iterable[UrlJob], results: Mapping[str, Mapping[str, Any]]
) -> list[OutgoingMessage]:
    """Return the messages for jobs with a waiting caller. `results` is keyed by URL."""
    return [
        OutgoingMessage(
            Destination.FINISHED,
            Finished(job.then, results[job.url]),
            priority=job.priority,
            even_when_full=True,
        )
        for job in jobs
        if job.then and job.url in results
    ]


def make_write_result(write: PageWrite, written: Written | None) -> dict[str, Any]:
    """Return the result for a URL that was just written."""
    canonical = written.canonical_url if written else write.canonical_url
    return _result(write.url, canonical, write.facts)


def make_record_result(url: str, record: Record | None) -> dict[str, Any]:
    """Return the result for a URL that was already stored."""
    canonical, facts = (record.canonical_url, record.facts) if record else (url, {})
    return _result(url, canonical, facts)


def takedown_results(urls: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the results for taken-down URLs, by URL."""
    facts = {"outcome": OutcomeKind.REFUSED.value, "reason": TAKEN_DOWN}
    return {url: _result(url, url, facts) for url in urls}


def _result(url: str, canonical: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: facts.get(name) for name in ("outcome", "status", "reason")}
    present = {name: value for name, value in values.items() if value not in (None, "")}
    return {"url": url, "canonical_url": canonical, **present}


class FinishedUrls:
    """
    The results already delivered for each caller's message, in one Redis hash per message.

    These records prevent duplicate deliveries, and collect all results of a message. Each call
    takes one round trip and may raise `BrokerUnavailable`.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}finished:"

    def contains(self, task_id: str, url: str) -> bool:
        with redis_errors(ERROR_SOURCE):
            return bool(self._redis.hexists(self._prefix + task_id, url))

    def record(self, task_id: str, url: str, result: bytes) -> list[bytes]:
        """Record a delivered result. Returns all results of the message so far."""
        key = self._prefix + task_id
        with redis_errors(ERROR_SOURCE), self._redis.pipeline() as pipe:
            pipe.hset(key, url, result)
            pipe.expire(key, TTL_S)
            pipe.hvals(key)
            results: Sequence[bytes] = pipe.execute()[-1]
        return list(results)
