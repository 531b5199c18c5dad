"""
The queues of one PostgreSQL server.

Every operation is one SQL function, one transaction and one round trip for a whole batch, and uses
the server's clock.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pinlater import job_codec, models
from pinlater.errors import BrokerFull, BrokerUnavailable
from pinlater.models import JobState
from pinlater.postgres.link import PostgresLinks, Row, SqlCall, SqlRefused, call
from pinlater.postgres.poller import PostgresPoller
from pinlater.postgres.schema import QueueSchema
from pinlater.postgres.wire import (
    MAX_INT8,
    blob,
    blobs,
    float8,
    int2s,
    int4,
    int4s,
    int8,
    int8s,
    text,
    texts,
)  # fmt: skip
from pinlater.shard import MAX_BATCH, ClaimKey

logger = logging.getLogger(__name__)
WAKE_WITHIN_MS = 1000
MAX_STATEMENT_JOBS = 2000
"""More new jobs than this are sent as several statements in one round trip."""
MAX_DROPPED_JOBS = 5000
_MISSING_STATES = ("3F000", "42P01", "42883")
_RETRIABLE_STATES = ("40001", "40P01")
_MAX_TRIES = 5
_REASONS = {
    "25006": "it is a replica and accepts no writes: use the primary's URL, or wait for a failover",
    "57P01": "it is shutting down",
    "57P03": "it is starting, or recovering from a crash: try again soon",
    "53300": "it has no connection left: raise its max_connections, or use a connection pooler",
    "42501": (
        "the role may not create or use the schema pinlater: GRANT CREATE ON DATABASE to it once, "
        "or GRANT it the role that created the schema"
    ),
}
_FULL_STATES = ("53100", "53200")
IS_FULL = "its disk is full: free space there, add a shard, or delete ended jobs"


class PostgresShard:
    """
    A shard on a PostgreSQL server 14 or newer.

    Args:
        dsn: a libpq URL. Several hosts are one server and its replicas.
        name: used in job ids and for display; must be unique and stable among the shards.
        prefix: prepended to queue names.
        timeout_s: how long a call waits for its reply.
        schema: versions of tables and functions.
    """

    jobs_only = True
    """This server stores jobs only, no other messages."""

    def __init__(
        self,
        dsn: str,
        *,
        name: str = "0",
        prefix: str = "",
        timeout_s: float = 5.0,
        schema: QueueSchema | None = None,
    ) -> None:
        self.name = name
        self.prefix = prefix
        self.schema = schema or QueueSchema()
        self.links = PostgresLinks(dsn, timeout_s, self.schema.check)

    def _queue_name(self, queue: str) -> tuple[int, bytes | None]:
        return text(self.prefix + queue)

    def _run(self, function: str, *arguments: tuple[int, bytes | None]) -> list[Row]:
        return self.run_all([call(function, *arguments)])[0]

    def run_all(self, statements: Sequence[SqlCall]) -> list[list[Row]]:
        """Run statements in one round trip; raises the errors of `Shard`."""
        with self._translate_errors():
            return self._run_with_retries(statements)

    def upgrade(self, report: Callable[[str], None]) -> int:
        """
        Upgrade the tables to this program's version, and return it. Workers may keep running.

        Args:
            report: called with a line of text before each step. A step may take a long time.

        Raises:
            BrokerUnavailable: a newer program has upgraded them, the role may not change them, or
                the server does not answer.
        """
        with self._translate_errors():
            return self.schema.upgrade(self.links, report)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        where = f"shard {self.name}"
        try:
            yield
        except SqlRefused as error:
            if error.sqlstate in _FULL_STATES:
                raise BrokerFull(where, IS_FULL) from error
            reason = _REASONS.get(error.sqlstate, f"{error.message} ({error.sqlstate})")
            raise BrokerUnavailable(where, reason) from error
        except OSError as error:
            raise BrokerUnavailable(where, str(error) or type(error).__name__) from error

    def _run_with_retries(self, statements: Sequence[SqlCall]) -> list[list[Row]]:
        """Retry after a deadlock or conflict, or after creating a missing schema."""
        for retries_left in reversed(range(_MAX_TRIES)):
            try:
                return self.links.run_all(statements)
            except SqlRefused as error:
                if not retries_left or error.sqlstate not in (*_MISSING_STATES, *_RETRIABLE_STATES):
                    raise
                if error.sqlstate in _MISSING_STATES:
                    self.schema.install(self.links)
        raise AssertionError

    def enqueue(self, queue: str, jobs: Sequence[models.NewJob]) -> list[models.Enqueued]:
        batches = [
            jobs[start : start + MAX_STATEMENT_JOBS]
            for start in range(0, len(jobs), MAX_STATEMENT_JOBS)
        ]
        statements = [
            call("enqueue", self._queue_name(queue), *_new_job_arguments(batch))
            for batch in batches
        ]
        is_due_soon = any(job.delay_ms <= WAKE_WITHIN_MS for job in jobs)
        results = self.run_all(statements + self._wake_calls(queue, is_due_soon=is_due_soon))
        return [
            models.Enqueued(format_job_id(number), existing)
            for rows in results[: len(batches)]
            for number, existing in rows
        ]

    def _wake_calls(self, queue: str, *, is_due_soon: bool) -> list[SqlCall]:
        return [call("wake_one", self._queue_name(queue))] if is_due_soon else []

    def collect(self, queue: str, frame: models.JobFrame, items: Sequence[models.JobItem]) -> None:
        escape = job_codec.escape
        delays_ms = [max(0, int(item.delay_ms)) for item in items]
        statement = call(
            "collect", self._queue_name(queue), int4(frame.priority), int4(frame.max_attempts),
            blob(f"{escape(frame.name)}|{escape(frame.key)}|".encode()),
            blob(escape(frame.group).encode()), int8(frame.span_ms), int4(frame.max_items),
            blob(frame.prefix), blob(frame.suffix), int8s(delays_ms), blobs(i.data for i in items),
        )  # fmt: skip
        is_due_soon = any(delay_ms <= WAKE_WITHIN_MS for delay_ms in delays_ms)
        self.run_all([statement, *self._wake_calls(queue, is_due_soon=is_due_soon)])

    def claim(self, queue: str, request: models.ClaimRequest) -> models.ClaimResult:
        rows = self._run(
            "claim", self._queue_name(queue), int4(request.limit), int8(request.timeout_ms),
            blob(job_codec.escape(request.worker).encode()), float8(request.share),
            int4(request.lowest), int8(0),
        )  # fmt: skip
        now_ms, next_due_ms, more, _ = rows.pop()
        return models.ClaimResult(
            now_ms=now_ms,
            next_due_ms=next_due_ms if next_due_ms >= 0 else None,
            more=bool(more),
            claims=tuple(
                models.Claimed(format_job_id(number), token, attempt, record, now_ms)
                for number, token, attempt, record in rows
            ),
        )

    def ack(self, queue: str, claim_keys: Sequence[ClaimKey]) -> list[bool]:
        rows = (
            self._run("ack", self._queue_name(queue), *_claim_arguments(claim_keys))
            if claim_keys
            else []
        )
        accepted = {position for (position,) in rows}
        return [position in accepted for position in range(1, len(claim_keys) + 1)]

    def nack(self, queue: str, nacks: Sequence[models.Nack]) -> list[models.JobState | None]:
        claims = [(n.job_id, n.token) for n in nacks]
        rows = self._run(
            "nack", self._queue_name(queue), *_claim_arguments(claims),
            texts(n.step for n in nacks), int8s(n.delay_ms for n in nacks),
            blobs(job_codec.shorten_problem(n.problem).encode() for n in nacks),
        )  # fmt: skip
        return [models.JobState(state) if state else None for (state,) in rows]

    def extend(self, queue: str, claim_keys: Sequence[ClaimKey], *, timeout_ms: int) -> list[bool]:
        rows = self._run(
            "extend", self._queue_name(queue), *_claim_arguments(claim_keys), int8(timeout_ms)
        )
        accepted = {position for (position,) in rows}
        return [position in accepted for position in range(1, len(claim_keys) + 1)]

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> models.SweepResult:
        [[swept]] = self._run("sweep", self._queue_name(queue), int8(reap_before_ms), int4(limit))
        return models.SweepResult(*swept)

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        worker_prefix = blob(job_codec.escape(worker).encode())
        [[released]] = self._run(
            "release", self._queue_name(queue), worker_prefix, _job_numbers(ids)
        )
        return int(released)

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        if not ids and limit <= 0:
            return 0
        max_jobs = int4(min(limit, MAX_BATCH))
        [[retried]] = self._run("retry", self._queue_name(queue), _job_numbers(ids), max_jobs)
        return int(retried)

    def delete(
        self, queue: str, state: models.JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        if not ids and limit <= 0:
            return 0
        [[deleted]] = self._run(
            "delete",
            self._queue_name(queue),
            text(state),
            _job_numbers(ids),
            int4(min(limit, MAX_BATCH)),
        )
        return int(deleted)

    def sizes(self, queue: str) -> models.Sizes:
        [[numbers]] = self._run("sizes", self._queue_name(queue))
        now_ms, due, *pending, running, succeeded, failed, oldest_ms = numbers
        return models.Sizes(
            due=due, later=sum(pending) - due, running=running, succeeded=succeeded, failed=failed,
            by_priority=tuple(pending), oldest_due_ms=max(0, now_ms - oldest_ms),
        )  # fmt: skip

    def jobs(
        self, queue: str, state: models.JobState, *, limit: int, offset: int = 0
    ) -> list[models.JobInfo]:
        rows = self._run("jobs", self._queue_name(queue), text(state), int4(limit), int4(offset))
        return [_job_info(queue, JobState(state), row) for row in rows]

    def jobs_by_id(
        self, queue: str, state: models.JobState, ids: Sequence[str]
    ) -> list[models.JobInfo]:
        rows = self._run("named", self._queue_name(queue), text(state), _job_numbers(ids))
        return [_job_info(queue, JobState(state), row) for row in rows]

    def delayed_jobs(self, queue: str, *, limit: int) -> list[models.JobInfo]:
        rows = self._run("later", self._queue_name(queue), int4(limit))
        return [_job_info(queue, JobState.PENDING, row) for row in rows]

    def settings(self, queue: str) -> dict[str, float]:
        statement = SqlCall(
            "SELECT settings::text FROM pinlater.queue WHERE name = $1", [self._queue_name(queue)]
        )
        [rows] = self.run_all([statement])
        return {name: float(value) for [row] in rows for name, value in json.loads(row).items()}

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        values = {name: None if value is None else float(value) for name, value in changes.items()}
        self.run_all(
            [
                SqlCall(
                    "SELECT pinlater.configure($1, $2::text::jsonb)",
                    [self._queue_name(queue), text(json.dumps(values))],
                )
            ]
        )

    def stats(self, queue: str) -> dict[str, int]:
        [[document]] = self._run("stats", self._queue_name(queue))
        return {name: int(value) for name, value in json.loads(document).items()}

    def ping(self) -> None:
        # A write without effect, which a replica refuses.
        self.run_all([SqlCall("UPDATE pinlater.meta SET one = one WHERE false")])

    def queues(self) -> set[str]:
        [rows] = self.run_all([SqlCall("SELECT name FROM pinlater.queue")])
        prefix_length = len(self.prefix)
        return {name[prefix_length:] for (name,) in rows if name.startswith(self.prefix)}

    def wake(self, queue: str) -> None:
        self._run("wake_one", self._queue_name(queue))

    def poller(self) -> PostgresPoller:
        return PostgresPoller(self)

    def time_and_uptime_ms(self) -> tuple[int, int]:
        sql = (
            "SELECT pinlater.now_ms(), "
            "(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000)::bigint"
        )
        [[(now_ms, uptime_ms)]] = self.run_all([SqlCall(sql)])
        return now_ms, max(0, uptime_ms)

    def config_warnings(self) -> list[str]:
        names = "autovacuum", "fsync", "full_page_writes"
        columns = ", ".join(f"current_setting('{name}')" for name in names)
        [[values]] = self.run_all([SqlCall(f"SELECT {columns}")])
        return [
            _WARNINGS[name] for name, value in zip(names, values, strict=True) if value == "off"
        ]

    def drop(self, queue: str) -> None:
        """Delete a queue, in steps of `MAX_DROPPED_JOBS` jobs."""
        while not self._run("drop", self._queue_name(queue), int4(MAX_DROPPED_JOBS))[0][0]:
            logger.debug("%d jobs of %s were dropped", MAX_DROPPED_JOBS, queue)


_WARNINGS = {
    "autovacuum": (
        "never vacuums (autovacuum off): dead rows of ended jobs stay, and claims become slow; set "
        "autovacuum to on"
    ),
    "fsync": "loses jobs when its machine stops (fsync off); set fsync to on",
    "full_page_writes": (
        "may damage its tables when its machine stops (full_page_writes off); set it to on"
    ),
}


def format_job_id(number: int) -> str:
    """Return a job's id: its hexadecimal number, so that ids sort by age."""
    return f"{number:016x}"


def _parse_job_id(job_id: str) -> int:
    """Return a job id's number, or 0, which no job has, if it is not a number."""
    try:
        number = int(job_id, 16)
    except ValueError:
        return 0
    return number if 0 < number <= MAX_INT8 else 0


def _job_numbers(ids: Sequence[str]) -> tuple[int, bytes | None]:
    return int8s(map(_parse_job_id, ids))


def _claim_arguments(claim_keys: Sequence[ClaimKey]) -> tuple[tuple[int, bytes | None], ...]:
    return _job_numbers([job_id for job_id, _ in claim_keys]), int8s(
        token for _, token in claim_keys
    )


def _new_job_arguments(jobs: Sequence[models.NewJob]) -> tuple[tuple[int, bytes | None], ...]:
    escape, version = job_codec.escape, job_codec.VERSION
    keys = [escape(job.unique_key).encode() for job in jobs]
    return (
        int2s(job.priority for job in jobs),
        int8s(max(0, int(job.delay_ms)) for job in jobs),
        int4s(job.max_attempts for job in jobs),
        blobs(f"{version}|{job.priority}|{job.max_attempts}|".encode() for job in jobs),
        blobs(key or None for key in keys),
        blobs(
            b"%b|%b|%b|" % (key, escape(job.name).encode(), escape(job.key).encode())
            for key, job in zip(keys, jobs, strict=True)
        ),
        blobs(job.body for job in jobs),
    )


def _job_info(queue: str, state: models.JobState, row: Row) -> models.JobInfo:
    number, at_ms, record, entry = row
    position = job_codec.JobPosition(queue, format_job_id(number), state, at_ms)
    if state in (JobState.SUCCEEDED, JobState.FAILED):
        return job_codec.ended_job(position, record, entry)
    return job_codec.unfinished_job(position, record, entry)
