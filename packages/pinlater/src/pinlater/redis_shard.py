"""
The queues of one Redis server.

Every operation that changes jobs is a Lua script (lua/), which uses the server's clock and handles
up to `MAX_BATCH` jobs in one round trip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import redis

from pinlater import job_codec, models
from pinlater.redis.errors import redis_errors
from pinlater.redis.queue_keys import LAYOUT, QueueKeys, queue_keys
from pinlater.redis.scripts import LuaScript, load_script
from pinlater.redis_poller import RedisPoller
from pinlater.shard import MAX_BATCH, ClaimKey

T = TypeVar("T")


def _script(verb: str) -> LuaScript:
    return load_script("pinlater", verb, prelude="prelude")


class RedisShard:
    """
    A shard on a Redis server 6.2 or newer, with `maxmemory-policy noeviction`.

    Args:
        client: a client that returns bytes. Threads may share it; processes may not.
        name: used in job ids and for display; must be unique and stable among the shards.
        prefix: prepended to every key.
    """

    def __init__(self, client: redis.Redis, *, name: str = "0", prefix: str = "") -> None:
        self.client = client
        self.name = name
        self.prefix = prefix
        self._keys: dict[str, QueueKeys] = {}
        self._registered: set[str] = set()

    def keys(self, queue: str) -> QueueKeys:
        keys = self._keys.get(queue)
        if keys is None:
            keys = self._keys[queue] = queue_keys(self.prefix, queue)
        return keys

    def wake_key(self, queue: str) -> str:
        """Return the key of the wake list, from which workers pop; see lua/prelude.lua."""
        return self.keys(queue).wake

    @property
    def _index_key(self) -> str:
        return f"{self.prefix}{LAYOUT}:queues"

    def _run(self, verb: str, queue: str, *args: object) -> Any:
        with redis_errors(f"shard {self.name}"):
            return _script(verb).call(self.client, self.keys(queue), args)

    def _register(self, queue: str) -> None:
        if queue not in self._registered:
            with redis_errors(f"shard {self.name}"):
                self.client.sadd(self._index_key, queue)
            self._registered.add(queue)

    def enqueue(self, queue: str, jobs: Sequence[models.NewJob]) -> list[models.Enqueued]:
        self._register(queue)
        calls = [_new_job_args(part) for part in split_batches(jobs)]
        return [
            models.Enqueued(reply[i].decode(), bool(reply[i + 1]))
            for reply in self._run_all("enqueue", queue, calls)
            for i in range(1, len(reply), 2)
        ]

    def collect(self, queue: str, frame: models.JobFrame, items: Sequence[models.JobItem]) -> None:
        self._register(queue)
        calls = [_frame_args(frame) + _item_args(part) for part in split_batches(items)]
        self._run_all("collect", queue, calls)

    def _run_all(self, verb: str, queue: str, calls: Sequence[Sequence[object]]) -> list[Any]:
        if len(calls) == 1:
            return [self._run(verb, queue, *calls[0])]
        script, keys = _script(verb), self.keys(queue)
        pipe = self.client.pipeline(transaction=False)
        with redis_errors(f"shard {self.name}"), pipe:
            # Load it first, because a pipeline cannot react to a missing script.
            pipe.script_load(script.script)
            for args in calls:
                pipe.evalsha(script.sha, len(keys), *keys, *args)  # type: ignore[arg-type]
            return list(pipe.execute())[1:]

    def claim(self, queue: str, request: models.ClaimRequest) -> models.ClaimResult:
        reply = self._run(
            "claim", queue, request.limit, request.timeout_ms, job_codec.escape(request.worker),
            request.share, request.lowest,
        )  # fmt: skip
        return models.ClaimResult(
            now_ms=reply[0],
            next_due_ms=reply[1] if reply[1] >= 0 else None,
            more=bool(reply[2]),
            claims=tuple(
                models.Claimed(
                    reply[i].decode(), int(reply[i + 1]), reply[i + 2], reply[i + 3], reply[0]
                )
                for i in range(3, len(reply), 4)
            ),
        )

    def ack(self, queue: str, claim_keys: Sequence[ClaimKey]) -> list[bool]:
        return [
            result == 1
            for part in split_batches(claim_keys)
            for result in self._run("ack", queue, *(x for claim_key in part for x in claim_key))
        ]

    def nack(self, queue: str, nacks: Sequence[models.Nack]) -> list[models.JobState | None]:
        states: list[models.JobState | None] = []
        for part in split_batches(nacks):
            args = (
                x
                for n in part
                for x in (
                    n.job_id,
                    n.token,
                    n.step,
                    n.delay_ms,
                    job_codec.shorten_problem(n.problem),
                )
            )
            reply = self._run("nack", queue, *args)
            states += [models.JobState(state.decode()) if state else None for state in reply]
        return states

    def extend(self, queue: str, claim_keys: Sequence[ClaimKey], *, timeout_ms: int) -> list[bool]:
        extended: list[bool] = []
        for part in split_batches(claim_keys):
            reply = self._run(
                "extend", queue, timeout_ms, *(x for claim_key in part for x in claim_key)
            )
            extended += map(bool, reply[1:])
        return extended

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> models.SweepResult:
        return models.SweepResult(*self._run("sweep", queue, reap_before_ms, limit))

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        prefix = job_codec.escape(worker)
        return sum(sum(self._run("release", queue, prefix, *part)) for part in split_batches(ids))

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        return int(self._run("retry", queue, 0 if ids else min(limit, MAX_BATCH), *ids))

    def delete(
        self, queue: str, state: models.JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        deleted = 0
        keys = self.keys(queue)
        for key in keys.for_state(state):
            max_jobs = 0 if ids else min(limit - deleted, MAX_BATCH)
            if ids or max_jobs > 0:
                # The script takes the 1-based index of the key.
                deleted += int(self._run("delete", queue, keys.index(key) + 1, max_jobs, *ids))
        return deleted

    def sizes(self, queue: str) -> models.Sizes:
        keys = self.keys(queue)
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            with self.client.pipeline(transaction=False) as pipe:
                for key in (keys.running, keys.succeeded, keys.failed):
                    pipe.zcard(key)
                for key in keys.priorities:
                    pipe.zcount(key, "-inf", now_ms)
                    pipe.zcard(key)
                    pipe.zrange(key, 0, 0, withscores=True)
                running, succeeded, failed, *pending = pipe.execute()
        due, totals, first_entries = pending[0::3], pending[1::3], pending[2::3]
        oldest = min((int(entry[0][1]) for entry in first_entries if entry), default=now_ms)
        return models.Sizes(
            due=sum(due), later=sum(totals) - sum(due), running=running, succeeded=succeeded,
            failed=failed, by_priority=tuple(totals), oldest_due_ms=max(0, now_ms - oldest),
        )  # fmt: skip

    def jobs(
        self, queue: str, state: models.JobState, *, limit: int, offset: int = 0
    ) -> list[models.JobInfo]:
        result: list[models.JobInfo] = []
        with redis_errors(f"shard {self.name}"):
            for key in self.keys(queue).for_state(state):
                max_jobs = limit - len(result)
                if max_jobs <= 0:
                    break
                result += self._read_page(queue, state, key, offset, max_jobs)
                if state is models.JobState.PENDING:
                    size: Any = self.client.zcard(key)
                    offset = max(0, offset - size)
        return result

    def jobs_by_id(
        self, queue: str, state: models.JobState, ids: Sequence[str]
    ) -> list[models.JobInfo]:
        with redis_errors(f"shard {self.name}"):
            return self._job_infos(queue, state, [(job_id.encode(), 0) for job_id in ids])

    def delayed_jobs(self, queue: str, *, limit: int) -> list[models.JobInfo]:
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            with self.client.pipeline(transaction=False) as pipe:
                for key in self.keys(queue).priorities:
                    pipe.zrangebyscore(key, f"({now_ms}", "+inf", 0, limit, withscores=True)
                rows = [row for page in pipe.execute() for row in page]
            rows.sort(key=lambda row: row[1])
            return self._job_infos(queue, models.JobState.PENDING, rows[:limit])

    def _read_page(
        self, queue: str, state: models.JobState, key: str, offset: int, limit: int
    ) -> list[models.JobInfo]:
        has_ended = state in (models.JobState.SUCCEEDED, models.JobState.FAILED)
        rows: Any = self.client.zrange(
            key, offset, offset + limit - 1, desc=has_ended, withscores=True
        )
        return self._job_infos(queue, state, rows)

    def _job_infos(
        self, queue: str, state: models.JobState, rows: Sequence[tuple[bytes, float]]
    ) -> list[models.JobInfo]:
        if not rows:
            return []
        keys = self.keys(queue)
        has_ended = state in (models.JobState.SUCCEEDED, models.JobState.FAILED)
        ids = [row[0] for row in rows]
        bodies: Any = self.client.hmget(keys.bodies, ids)
        entries: Any = self.client.hmget(keys.ended if has_ended else keys.claims, ids)
        result: list[models.JobInfo] = []
        for (job_id, at_ms), body, entry in zip(rows, bodies, entries, strict=True):
            position = job_codec.JobPosition(queue, job_id.decode(), state, int(at_ms))
            # A job missing here changed its state between the reads.
            if has_ended and entry is not None:
                result.append(job_codec.ended_job(position, entry, body))
            elif not has_ended and body is not None:
                result.append(job_codec.unfinished_job(position, body, entry))
        return result

    def settings(self, queue: str) -> dict[str, float]:
        with redis_errors(f"shard {self.name}"):
            stored: Any = self.client.hgetall(self.keys(queue).config)
        return {
            name.decode(): float(value)
            for name, value in stored.items()
            if name not in (b"tokens", b"filled_at", b"run", b"run_token")
        }

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        self._register(queue)
        key = self.keys(queue).config
        deleted = [name for name, value in changes.items() if value is None]
        values: dict[Any, Any] = {
            name: repr(float(value)) for name, value in changes.items() if value is not None
        }
        with redis_errors(f"shard {self.name}"), self.client.pipeline() as pipe:
            if deleted:
                pipe.hdel(key, *deleted)
            if values:
                pipe.hset(key, mapping=values)
            if "rate" in changes or "burst" in changes:
                pipe.hdel(key, "tokens", "filled_at")
            # Wake a worker, so that it reads the new settings.
            pipe.lpush(self.wake_key(queue), "1")
            pipe.execute()

    def stats(self, queue: str) -> dict[str, int]:
        with redis_errors(f"shard {self.name}"):
            stored: Any = self.client.hgetall(self.keys(queue).stats)
        return {name.decode(): int(value) for name, value in stored.items()}

    def ping(self) -> None:
        with redis_errors(f"shard {self.name}"):
            # A write without effect, which a replica or a server with a full disk refuses.
            self.client.srem(self._index_key, "")

    def queues(self) -> set[str]:
        with redis_errors(f"shard {self.name}"):
            names: Any = self.client.smembers(self._index_key)
        return {name.decode() for name in names}

    def wake(self, queue: str) -> None:
        with redis_errors(f"shard {self.name}"):
            self.client.lpush(self.wake_key(queue), "1")

    def poller(self) -> RedisPoller:
        return RedisPoller(self)

    def _now_ms(self) -> int:
        seconds, micros = self.client.time()
        return int(seconds * 1000 + micros // 1000)

    def time_and_uptime_ms(self) -> tuple[int, int]:
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            uptime: Any = self.client.info("server")
        return now_ms, int(uptime["uptime_in_seconds"]) * 1000

    def config_warnings(self) -> list[str]:
        with redis_errors(f"shard {self.name}"):
            memory: Any = self.client.info("memory")
        policy = memory.get("maxmemory_policy", "noeviction")
        if memory.get("maxmemory", 0) and policy != "noeviction":
            remedy = "set maxmemory-policy noeviction"
            return [f"evicts jobs when its memory is full (maxmemory-policy {policy}); {remedy}"]
        return []

    def drop(self, queue: str) -> None:
        self._registered.discard(queue)
        # Keep the counter of ids and tokens, so that a claim from the deleted queue cannot match a
        # job in a new queue with the same name.
        keys = self.keys(queue)[1:]
        with redis_errors(f"shard {self.name}"), self.client.pipeline() as pipe:
            pipe.srem(self._index_key, queue)
            pipe.unlink(*keys)
            pipe.execute()


def split_batches(items: Sequence[T]) -> list[Sequence[T]]:
    """Split `items` into batches for one script call each."""
    return [items[start : start + MAX_BATCH] for start in range(0, len(items), MAX_BATCH)]


def _new_job_args(jobs: Sequence[models.NewJob]) -> list[object]:
    escape = job_codec.escape
    return [int(any(job.even_when_full for job in jobs))] + [
        x
        for job in jobs
        for x in (
            job.priority, max(0, int(job.delay_ms)), job.max_attempts,
            escape(job.unique_key), escape(job.name), escape(job.key), job.body,
        )
    ]  # fmt: skip


def _frame_args(frame: models.JobFrame) -> list[object]:
    escape = job_codec.escape
    return [
        int(frame.even_when_full), frame.priority, frame.max_attempts,
        escape(frame.name), escape(frame.key), escape(frame.group), frame.span_ms, frame.max_items,
        frame.prefix, frame.suffix,
    ]  # fmt: skip


def _item_args(items: Sequence[models.JobItem]) -> list[object]:
    return [x for item in items for x in (max(0, int(item.delay_ms)), item.data)]
