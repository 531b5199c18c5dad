"""
The registry of crawls, in the Redis of `redis.url`: records, numbers of ended crawls, and
cancellations.

    crawls            hash    name -> its record, as JSON
    crawls.ended      hash    number -> when its waiting URLs were cancelled (ms)
    crawls.cancelled  list    cancellations of hosts, domains, patterns and URLs, as JSON
    crawls.version    string  counts changes to the three keys above
    crawls.number     string  the last number that was assigned
    crawls.seeds:<name>  hash  URL -> options of the seed, as JSON; for crawls with a schedule

The registry is in Redis, like the waiting URLs, so neither can be lost without the other. The
append-only file preserves both if a process is killed. Each change is one transaction. Every
process reads the version once per second, and the rest if the version has changed, so changes apply
everywhere within about a second.

A URL is cancelled if its crawl's number is in `crawls.ended`, or if it matches a cancellation made
after it was enqueued. Waiting URLs need not be searched: `crawl_checks` checks each URL before each
stage.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import orjson
import redis
from redis.client import Pipeline

from aragog.crawl.pipeline.crawl_cancellations import Cancellation
from aragog.crawl.pipeline.crawl_records import (
    BUILT_IN_NAMES,
    FIRST_NUMBER,
    OPTIONS,
    CrawlPhase,
    CrawlRecord,
    built_in_record,
    check_name,
    validate,
    with_changes,
    with_new_number,
    with_next_round,
)
from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.crawls import Crawls, is_past_deadline
from aragog.crawl.pipeline.in_flight import NAMED_ENTRY_TTL_S
from aragog.errors import BadInput
from aragog.runtime.clock import Clock, SystemClock
from pinlater.redis.errors import redis_errors

CACHE_TTL_S = 1.0
MAX_CRAWLS = 10_000
MAX_CANCELLATIONS = 1_000
RETENTION_S = NAMED_ENTRY_TTL_S + 5 * 86_400
"""How long ended crawls' numbers and cancellations are kept. Slightly longer than a URL can stay in
the in-flight set."""


def _utc(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class CrawlRegistry:
    """
    The registry of one installation. Thread-safe; every call may raise `BrokerUnavailable`.

    Args:
        client: a client of `redis.url`.
        prefix: the start of every key.
        clock: its monotonic time limits the age of cached records.
    """

    def __init__(self, client: redis.Redis, *, prefix: str, clock: Clock | None = None) -> None:
        self._redis = client
        self._clock = clock or SystemClock()
        self._records, self._ended = f"{prefix}crawls", f"{prefix}crawls.ended"
        self._cancelled, self._version = f"{prefix}crawls.cancelled", f"{prefix}crawls.version"
        self._number = f"{prefix}crawls.number"
        self._lock = threading.Lock()
        self._cached: tuple[float, bytes | None, Crawls] | None = None

    def crawls(self) -> Crawls:
        """Return all crawls, from a copy that is at most one second old."""
        now_s = self._clock.monotonic_s()
        cached = self._cached
        if cached is not None and now_s - cached[0] < CACHE_TTL_S:
            return cached[2]
        return self.read()

    def read(self) -> Crawls:
        """Read all crawls. Takes one round trip, or two after a change."""
        with self._lock, _translate_errors():
            now_s, cached = self._clock.monotonic_s(), self._cached
            with self._redis.pipeline(transaction=False) as pipe:
                pipe.get(self._version)
                pipe.time()
                version, (seconds, micros) = pipe.execute()
            now_ms = int(seconds) * 1000 + int(micros) // 1000
            if cached is not None and cached[1] == version:
                last_read = cached[2]
                crawls = (
                    last_read
                    if version is None
                    else Crawls.from_records(
                        last_read.records, self._ended_numbers, last_read.cancellations, now_ms
                    )
                )
            else:
                crawls = self._read_all(now_ms) if version is not None else Crawls()
            self._cached = now_s, version, crawls
            return crawls

    _ended_numbers: frozenset[int] = frozenset()

    def _read_all(self, now_ms: int) -> Crawls:
        with self._redis.pipeline() as pipe:
            pipe.hgetall(self._records)
            pipe.hkeys(self._ended)
            pipe.lrange(self._cancelled, 0, -1)
            records, ended, cancelled = pipe.execute()
        self._ended_numbers = frozenset(map(int, ended))
        parsed = [CrawlRecord.read(wire) for wire in records.values()]
        rules = [Cancellation(*orjson.loads(rule)) for rule in cancelled]
        oldest_s = now_ms // 1000 - RETENTION_S
        return Crawls.from_records(
            {record.name: record for record in sorted(parsed, key=lambda r: r.name)},
            self._ended_numbers,
            tuple(rule for rule in rules if rule.at_s > oldest_s),
            now_ms,
        )

    def get(self, name: str) -> CrawlRecord:
        """
        Read a crawl's record.

        Raises:
            BadInput: no crawl has this name.
        """
        for number, built_in_name in BUILT_IN_NAMES.items():
            if name == built_in_name:
                return built_in_record(number)
        record = self.read().records.get(name)
        if record is None:
            raise _unknown_crawl(name)
        return record

    def start(self, name: str, options: Mapping[str, Any], *, token: str = "") -> CrawlRecord:
        """
        Start a crawl, or change an existing one and resume it.

        A crawl that has ended gets a new number, so its cancelled URLs stay cancelled.

        Args:
            name: the crawl's name.
            options: some of `OPTIONS`. Others keep their values.
            token: the name of the caller's API token.

        Raises:
            BadInput: the name or an option is invalid, the deadline has passed, or there are
                already `MAX_CRAWLS` crawls.
        """
        if unknown := options.keys() - set(OPTIONS):
            raise BadInput(f"crawl: {min(unknown)} is not an option of a crawl")
        values = {**options, "reason": "", "state": CrawlPhase.RUNNING}
        if "scope" in values and not isinstance(values["scope"], Scope):
            values["scope"] = Scope.from_rules(values["scope"])
        validate(CrawlRecord(name=name, number=FIRST_NUMBER, **values))

        def start_or_change(record: CrawlRecord | None, now_ms: int, pipe: Pipeline) -> CrawlRecord:
            if (values.get("until_ms") or now_ms + 1) <= now_ms:
                raise BadInput(
                    f"until: {_utc(values['until_ms'])} is in the past, now is {_utc(now_ms)}; the "
                    "crawl would end before it fetches anything"
                )
            if record is None:
                if pipe.hlen(self._records) >= MAX_CRAWLS:
                    raise BadInput(f"crawl: there are {MAX_CRAWLS} crawls; delete one first")
                number = self._next_number()
                created = CrawlRecord(name=name, number=number, token=token, created_at_ms=now_ms)
                return validate(with_next_round(with_changes(created, now_ms, **values), now_ms))
            is_new = record.has_ended or is_past_deadline(record, now_ms)
            if is_new:
                if "until_ms" not in values and is_past_deadline(record, now_ms):
                    values["until_ms"] = None
                record = with_new_number(record, now_ms, self._next_number())
            every_s = record.every_s
            record = with_changes(record, now_ms, **values)
            if is_new or record.every_s != every_s:
                record = with_next_round(record, now_ms)
            return validate(record)

        return self._replace_record(name, start_or_change)

    def _next_number(self) -> int:
        return int(self._redis.incr(self._number)) + FIRST_NUMBER - 1

    def set_state(self, name: str, state: CrawlPhase, reason: str = "") -> CrawlRecord:
        """
        Pause, resume, cancel or end a crawl. Returns its new record. Idempotent.

        Raises:
            BadInput: there is no such crawl, or it has ended and can no longer be paused or
                resumed.
        """

        def transition(record: CrawlRecord | None, now_ms: int, _pipe: Pipeline) -> CrawlRecord:
            if record is None:
                raise _unknown_crawl(name)
            if record.has_ended:
                if state in (CrawlPhase.CANCELLED, CrawlPhase.ENDED):
                    return record
                raise BadInput(
                    f"crawl: {name} was {record.state}; `aragog crawl start {name}` starts it again"
                )
            return with_changes(record, now_ms, state=state, reason=reason)

        return self._replace_record(name, transition)

    def update_fields(self, record: CrawlRecord, **values: Any) -> CrawlRecord:
        """
        Change fields that periodic tasks maintain. Returns the new record.

        Changes nothing if another round has started since `record` was read, or if the crawl has a
        new number.

        Raises:
            BadInput: the crawl was deleted.
        """

        def update(
            current: CrawlRecord | None, _now_ms: int, _pipe: Pipeline
        ) -> CrawlRecord | None:
            is_unchanged = current and (current.number, current.round) == (
                record.number,
                record.round,
            )
            return dataclasses.replace(current, **values) if current and is_unchanged else current

        return self._replace_record(record.name, update)

    def end_round(self, record: CrawlRecord) -> CrawlRecord:
        """Cancel a crawl's waiting URLs before its next round. Its schedule stays."""

        def renumber(
            current: CrawlRecord | None, now_ms: int, _pipe: Pipeline
        ) -> CrawlRecord | None:
            if current is None or current.number != record.number:
                return current
            return with_new_number(current, now_ms, self._next_number())

        return self._replace_record(record.name, renumber)

    def delete(self, name: str) -> CrawlRecord:
        """Delete a crawl's record and cancel its waiting URLs. Its counts are not deleted."""
        return self._replace_record(name, lambda *_: None)

    def cancel(self, kind: str, values: Sequence[str]) -> list[Cancellation]:
        """
        Cancel all matching URLs that were enqueued before now.

        Args:
            kind: see `Cancellation.kind`.
            values: the hosts, domains, patterns or URLs.

        Raises:
            BadInput: there were too many cancellations in the last 35 days.
        """
        self.delete_expired()
        with _translate_errors():
            at_s = int(self._redis.time()[0])
            created = [Cancellation(kind, value, at_s) for value in values]
            if len(created) + int(self._redis.llen(self._cancelled)) > MAX_CANCELLATIONS:
                raise BadInput(
                    f"cancel: there are {MAX_CANCELLATIONS} cancellations; use a host, domain or "
                    "pattern for many URLs"
                )
            with self._redis.pipeline() as pipe:
                pipe.lpush(self._cancelled, *(orjson.dumps(list(rule)) for rule in created))
                pipe.incr(self._version)
                pipe.execute()
            self._wait_for_disk()
        self._cached = None
        return created

    def delete_expired(self) -> None:
        """
        Delete cancellations and ended crawls' numbers that are older than 35 days. No URL waits
        longer.
        """
        with _translate_errors():
            now_ms = int(self._redis.time()[0]) * 1000
            ended: Any = self._redis.hgetall(self._ended)
            old_numbers = [
                number
                for number, at_ms in ended.items()
                if int(at_ms) < now_ms - RETENTION_S * 1000
            ]
            rules: Any = self._redis.lrange(self._cancelled, 0, -1)
            expired_rules = [r for r in rules if orjson.loads(r)[2] < now_ms // 1000 - RETENTION_S]
            if not (old_numbers or expired_rules):
                return
            with self._redis.pipeline() as pipe:
                if old_numbers:
                    pipe.hdel(self._ended, *old_numbers)
                for rule in expired_rules:
                    pipe.lrem(self._cancelled, 1, rule)
                pipe.incr(self._version)
                pipe.execute()

    def _replace_record(
        self,
        name: str,
        change: Callable[[CrawlRecord | None, int, Pipeline], CrawlRecord | None],
    ) -> CrawlRecord:
        """
        Replace a record with the result of `change`, or delete it if the result is None. Cancels
        waiting URLs whose number is no longer current.

        Raises:
            BadInput: the crawl is built in, or `change` raised this error.
        """
        check_name(name)
        result: list[CrawlRecord] = []

        def run(pipe: Pipeline) -> None:
            wire: Any = pipe.hget(self._records, name)
            seconds, micros = pipe.time()
            now_ms = int(seconds) * 1000 + int(micros) // 1000
            old = CrawlRecord.read(wire) if wire else None
            new = change(old, now_ms, pipe)
            if old is None and new is None:
                raise _unknown_crawl(name)
            numbers = {*(old.numbers if old else ()), *(new.numbers if new else ())}
            current_numbers = () if new is None or new.has_ended else (new.number,)
            pipe.multi()
            if new is None:
                pipe.hdel(self._records, name)
            else:
                pipe.hset(self._records, name, new.wire())
            for number in sorted(numbers - set(current_numbers)):
                pipe.hsetnx(self._ended, str(number), str(now_ms))
            pipe.incr(self._version)
            result[:] = [record for record in (new or old,) if record]

        with _translate_errors():
            self._redis.transaction(run, self._records)
            self._wait_for_disk()
        self._cached = None
        return result[0]

    def _wait_for_disk(self) -> None:
        """Wait up to 2 s until the change is on the server's disk, if the server supports that."""
        try:
            self._redis.waitaof(1, 0, 2000)
        except redis.ResponseError:  # an older server, or one without an append-only file
            return


def _unknown_crawl(name: str) -> BadInput:
    return BadInput(f"crawl: there is no crawl {name[:80]!r}; `aragog crawl list` lists them")


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("redis.url, crawls")
