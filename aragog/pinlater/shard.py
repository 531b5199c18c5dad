"""
`Shard`: one Redis server's queues, a method a verb. The port and its Redis adapter.

Every verb is one Lua script (lua/) and one round trip for a batch of up to `MAX_BATCH`; the time
is the server's. Keys of a queue start with `<prefix>pl1:{<queue>}:` and share a hash tag; the
number is the version of the layout. The twin for tests is `aragog.pinlater.memory`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import redis

from aragog.pinlater import job_codec
from aragog.pinlater.models import (
    PRIORITIES,
    ClaimAnswer,
    Claimed,
    Enqueued,
    JobInfo,
    JobState,
    Nack,
    NewJob,
    Sizes,
    Swept,
)
from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.scripts import LuaScript, load_script

LAYOUT = "pl1"
MAX_BATCH = 200
"""Jobs that one script call handles: Redis runs nothing else meanwhile (200 take about 3 ms)."""
PARTS = ("seq", "run", "body", "claim", "ok", "bad", "end", "uniq", "cfg", "stat", "wake")
"""The keys of a queue, in the order of lua/prelude.lua; `p0` to `p9` follow."""

Hold = tuple[str, int]
"""A job's id and the token of the claim on it."""
T = TypeVar("T")


class Shard(Protocol):
    """
    The queues of one server. A queue exists once something was put into it or configured.

    Every method raises `BrokerUnavailable` when the server does not answer or refuses; what was
    asked may then have happened or not, and asking again is safe but for `enqueue`, which may
    take a job twice (a `unique_key` prevents that).
    """

    name: str

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Take new jobs, in order; one round trip however many."""

    def claim(
        self,
        queue: str,
        *,
        limit: int,
        timeout_ms: int,
        worker: str,
        share: float = 1.0,
        lowest: int = PRIORITIES[-1],
    ) -> ClaimAnswer:
        """
        Up to `limit` (1 to 200) due jobs, most urgent first, then by due time; atomic.

        Jobs less urgent than `lowest` are passed over.
        """

    def ack(self, queue: str, held: Sequence[Hold]) -> list[bool]:
        """
        SUCCEEDED; False where the claim was no longer the caller's.

        False as well where the claim is older than the server's start: what its worker sent
        meanwhile may be lost, so the job is PENDING again, the attempt uncounted.
        """

    def nack(self, queue: str, nacks: Sequence[Nack]) -> list[JobState | None]:
        """Give back; the new state, None where the claim was no longer the caller's."""

    def extend(self, queue: str, held: Sequence[Hold], *, timeout_ms: int) -> list[bool]:
        """Claims last until now + `timeout_ms`; False where one was no longer the caller's."""

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> Swept:
        """Give back claims that ran out before `reap_before_ms` and now; forget old jobs."""

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        """Give back those of these jobs that workers hold whose names begin so. How many."""

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        """FAILED jobs run again: those named, or the `limit` oldest. How many."""

    def delete(
        self, queue: str, state: JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        """Forget jobs of a state other than RUNNING: those named, or the `limit` oldest."""

    def sizes(self, queue: str) -> Sizes:
        """How many jobs in each state."""

    def jobs(self, queue: str, state: JobState, *, limit: int, offset: int = 0) -> list[JobInfo]:
        """Jobs of a state: PENDING by priority and due time, RUNNING by deadline, else latest."""

    def named(self, queue: str, state: JobState, ids: Sequence[str]) -> list[JobInfo]:
        """Those of the jobs with these ids that may be in this state; `at_ms` is 0."""

    def later(self, queue: str, *, limit: int) -> list[JobInfo]:
        """PENDING jobs whose time has not come, the soonest first, whatever their priority."""

    def settings(self, queue: str) -> dict[str, float]:
        """The queue's own settings; what is absent has its default."""

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        """Set, or with None unset, settings of a queue; in force at the next claim."""

    def stats(self, queue: str) -> dict[str, int]:
        """Counters since the queue began."""

    def queues(self) -> set[str]:
        """Names of the queues that exist here."""

    def drop(self, queue: str) -> None:
        """Remove a queue with all its jobs; ids and tokens are not given out again."""


class QueueKeys(NamedTuple):
    """The Redis keys of a queue, in the order in which lua/prelude.lua names them."""

    seq: str
    running: str
    bodies: str
    claims: str
    ok: str
    bad: str
    ended: str
    unique: str
    config: str
    stats: str
    wake: str
    p0: str
    p1: str
    p2: str
    p3: str
    p4: str
    p5: str
    p6: str
    p7: str
    p8: str
    p9: str

    @property
    def priorities(self) -> tuple[str, ...]:
        """Sorted sets of PENDING jobs, the most urgent first."""
        return self[-len(PRIORITIES) :]

    def of(self, state: JobState) -> tuple[str, ...]:
        """Sorted sets of the jobs in a state."""
        match state:
            case JobState.PENDING:
                return self.priorities
            case JobState.RUNNING:
                return (self.running,)
            case JobState.SUCCEEDED:
                return (self.ok,)
            case JobState.FAILED:
                return (self.bad,)


def queue_keys(prefix: str, queue: str) -> QueueKeys:
    """The keys of a queue; `{queue}` makes them share a hash slot."""
    stem = f"{prefix}{LAYOUT}:{{{queue}}}:"
    return QueueKeys(*(stem + part for part in PARTS), *(f"{stem}p{p}" for p in PRIORITIES))


def _script(verb: str) -> LuaScript:
    return load_script("aragog.pinlater", verb, prelude="prelude")


class RedisShard:
    """
    A shard on a Redis server 6.2 or newer, with `maxmemory-policy noeviction`.

    Args:
        client: answers bytes; may be shared by threads, not by processes.
        name: for people and job ids; must be unique and stable among the shards.
        prefix: put before every key.
    """

    def __init__(self, client: redis.Redis, *, name: str = "0", prefix: str = "") -> None:
        self.client = client
        self.name = name
        self.prefix = prefix
        self._keys: dict[str, QueueKeys] = {}
        self._known: set[str] = set()

    def keys(self, queue: str) -> QueueKeys:
        """The Redis keys of a queue."""
        keys = self._keys.get(queue)
        if keys is None:
            keys = self._keys[queue] = queue_keys(self.prefix, queue)
        return keys

    def wake_key(self, queue: str) -> str:
        """The list that workers wait at; see lua/prelude.lua."""
        return self.keys(queue).wake

    @property
    def _index(self) -> str:
        return f"{self.prefix}{LAYOUT}:queues"

    def _run(self, verb: str, queue: str, *args: object) -> Any:
        with redis_errors(f"shard {self.name}"):
            return _script(verb).call(self.client, self.keys(queue), args)

    def _register(self, queue: str) -> None:
        if queue not in self._known:
            with redis_errors(f"shard {self.name}"):
                self.client.sadd(self._index, queue)
            self._known.add(queue)

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        self._register(queue)
        calls = [_new_job_args(part) for part in slices(jobs)]
        answers = (
            [self._run("enqueue", queue, *calls[0])]
            if len(calls) == 1
            else self._pipeline("enqueue", queue, calls)
        )
        return [
            Enqueued(answer[i].decode(), bool(answer[i + 1]))
            for answer in answers
            for i in range(1, len(answer), 2)
        ]

    def _pipeline(self, verb: str, queue: str, calls: Sequence[Sequence[object]]) -> list[Any]:
        """Several calls of a verb in one round trip."""
        script, keys = _script(verb), self.keys(queue)
        pipe = self.client.pipeline(transaction=False)
        with redis_errors(f"shard {self.name}"), pipe:
            # Loaded first: a pipeline cannot react to a missing script.
            pipe.script_load(script.script)
            for args in calls:
                pipe.evalsha(script.sha, len(keys), *keys, *args)  # type: ignore[arg-type]
            return list(pipe.execute())[1:]

    def claim(
        self,
        queue: str,
        *,
        limit: int,
        timeout_ms: int,
        worker: str,
        share: float = 1.0,
        lowest: int = PRIORITIES[-1],
    ) -> ClaimAnswer:
        answer = self._run(
            "claim", queue, limit, timeout_ms, job_codec.escape(worker), share, lowest
        )
        return ClaimAnswer(
            now_ms=answer[0],
            next_due_ms=answer[1] if answer[1] >= 0 else None,
            more=bool(answer[2]),
            claims=tuple(
                Claimed(answer[i].decode(), int(answer[i + 1]), answer[i + 2], answer[i + 3])
                for i in range(3, len(answer), 4)
            ),
        )

    def ack(self, queue: str, held: Sequence[Hold]) -> list[bool]:
        return [
            done == 1
            for part in slices(held)
            for done in self._run("ack", queue, *(x for hold in part for x in hold))
        ]

    def nack(self, queue: str, nacks: Sequence[Nack]) -> list[JobState | None]:
        states: list[JobState | None] = []
        for part in slices(nacks):
            args = (
                x
                for n in part
                for x in (n.job_id, n.token, n.step, n.delay_ms, job_codec.cut(n.problem))
            )
            answer = self._run("nack", queue, *args)
            states += [JobState(state.decode()) if state else None for state in answer]
        return states

    def extend(self, queue: str, held: Sequence[Hold], *, timeout_ms: int) -> list[bool]:
        kept: list[bool] = []
        for part in slices(held):
            answer = self._run("extend", queue, timeout_ms, *(x for hold in part for x in hold))
            kept += map(bool, answer[1:])
        return kept

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> Swept:
        return Swept(*self._run("sweep", queue, reap_before_ms, limit))

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        prefix = job_codec.escape(worker)
        return sum(sum(self._run("release", queue, prefix, *part)) for part in slices(ids))

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        return int(self._run("retry", queue, 0 if ids else min(limit, MAX_BATCH), *ids))

    def delete(
        self, queue: str, state: JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        deleted = 0
        keys = self.keys(queue)
        for key in keys.of(state):
            room = 0 if ids else min(limit - deleted, MAX_BATCH)
            if ids or room > 0:
                # The script takes the number of the key, from 1.
                deleted += int(self._run("delete", queue, keys.index(key) + 1, room, *ids))
        return deleted

    def sizes(self, queue: str) -> Sizes:
        keys = self.keys(queue)
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            with self.client.pipeline(transaction=False) as pipe:
                for key in (keys.running, keys.ok, keys.bad):
                    pipe.zcard(key)
                for key in keys.priorities:
                    pipe.zcount(key, "-inf", now_ms)
                    pipe.zcard(key)
                    pipe.zrange(key, 0, 0, withscores=True)
                running, ok, bad, *rest = pipe.execute()
        due, every, firsts = rest[0::3], rest[1::3], [first for first in rest[2::3] if first]
        oldest = min((int(first[0][1]) for first in firsts), default=now_ms)
        return Sizes(
            due=sum(due), later=sum(every) - sum(due), running=running, succeeded=ok, failed=bad,
            by_priority=tuple(every), oldest_due_ms=max(0, now_ms - oldest),
        )  # fmt: skip

    def jobs(self, queue: str, state: JobState, *, limit: int, offset: int = 0) -> list[JobInfo]:
        found: list[JobInfo] = []
        with redis_errors(f"shard {self.name}"):
            for key in self.keys(queue).of(state):
                room = limit - len(found)
                if room <= 0:
                    break
                found += self._page(queue, state, key, offset, room)
                if state is JobState.PENDING:
                    size: Any = self.client.zcard(key)
                    offset = max(0, offset - size)
        return found

    def named(self, queue: str, state: JobState, ids: Sequence[str]) -> list[JobInfo]:
        with redis_errors(f"shard {self.name}"):
            return self._infos(queue, state, [(job_id.encode(), 0) for job_id in ids])

    def later(self, queue: str, *, limit: int) -> list[JobInfo]:
        keys = self.keys(queue)
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            with self.client.pipeline(transaction=False) as pipe:
                for key in keys.priorities:
                    pipe.zrangebyscore(key, f"({now_ms}", "+inf", 0, limit, withscores=True)
                rows = [row for page in pipe.execute() for row in page]
            rows.sort(key=lambda row: row[1])
            return self._infos(queue, JobState.PENDING, rows[:limit])

    def _page(
        self, queue: str, state: JobState, key: str, offset: int, limit: int
    ) -> list[JobInfo]:
        last = state in (JobState.SUCCEEDED, JobState.FAILED)
        rows: Any = self.client.zrange(key, offset, offset + limit - 1, desc=last, withscores=True)
        return self._infos(queue, state, rows)

    def _infos(
        self, queue: str, state: JobState, rows: Sequence[tuple[bytes, float]]
    ) -> list[JobInfo]:
        """Jobs by their ids and the times at which they stand."""
        if not rows:
            return []
        keys = self.keys(queue)
        last = state in (JobState.SUCCEEDED, JobState.FAILED)
        ids = [row[0] for row in rows]
        bodies: Any = self.client.hmget(keys.bodies, ids)
        lines: Any = self.client.hmget(keys.ended if last else keys.claims, ids)
        found: list[JobInfo] = []
        for (job_id, at_ms), body, line in zip(rows, bodies, lines, strict=True):
            place = job_codec.JobPosition(queue, job_id.decode(), state, int(at_ms))
            # One that is gone between the reads has moved on.
            if last and line is not None:
                found.append(job_codec.ended(place, line, body))
            elif not last and body is not None:
                found.append(job_codec.waiting(place, body, line))
        return found

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
        gone = [name for name, value in changes.items() if value is None]
        kept: dict[Any, Any] = {
            name: repr(float(value)) for name, value in changes.items() if value is not None
        }
        with redis_errors(f"shard {self.name}"), self.client.pipeline() as pipe:
            if gone:
                pipe.hdel(key, *gone)
            if kept:
                pipe.hset(key, mapping=kept)
            if "rate" in changes or "burst" in changes:
                pipe.hdel(key, "tokens", "filled_at")
            # At most one token too many: it wakes a worker for nothing, once.
            pipe.lpush(self.wake_key(queue), "1")
            pipe.execute()

    def stats(self, queue: str) -> dict[str, int]:
        with redis_errors(f"shard {self.name}"):
            stored: Any = self.client.hgetall(self.keys(queue).stats)
        return {name.decode(): int(value) for name, value in stored.items()}

    def queues(self) -> set[str]:
        with redis_errors(f"shard {self.name}"):
            names: Any = self.client.smembers(self._index)
        return {name.decode() for name in names}

    def wake(self, queue: str) -> None:
        """Let one waiting worker look into the queue."""
        with redis_errors(f"shard {self.name}"):
            self.client.lpush(self.wake_key(queue), "1")

    def _now_ms(self) -> int:
        """The server's time."""
        seconds, micros = self.client.time()
        return int(seconds * 1000 + micros // 1000)

    def age_ms(self) -> tuple[int, int]:
        """The server's time, and for how long it has been up (to the second)."""
        with redis_errors(f"shard {self.name}"):
            now_ms = self._now_ms()
            uptime: Any = self.client.info("server")
        return now_ms, int(uptime["uptime_in_seconds"]) * 1000

    def remarks(self) -> list[str]:
        """What is wrong with the server's configuration, and what to do; empty when nothing."""
        with redis_errors(f"shard {self.name}"):
            memory: Any = self.client.info("memory")
        policy = memory.get("maxmemory_policy", "noeviction")
        if memory.get("maxmemory", 0) and policy != "noeviction":
            remedy = "set maxmemory-policy noeviction"
            return [f"evicts jobs when its memory is full (maxmemory-policy {policy}); {remedy}"]
        return []

    def drop(self, queue: str) -> None:
        self._known.discard(queue)
        # The counter stays: a claim of the old queue must not fit a job of a new one.
        gone = self.keys(queue)[1:]
        with redis_errors(f"shard {self.name}"), self.client.pipeline() as pipe:
            pipe.srem(self._index, queue)
            pipe.unlink(*gone)
            pipe.execute()


def slices(items: Sequence[T]) -> list[Sequence[T]]:
    """`items` in batches that one script call may handle."""
    return [items[at : at + MAX_BATCH] for at in range(0, len(items), MAX_BATCH)]


def _new_job_args(jobs: Sequence[NewJob]) -> list[object]:
    escape = job_codec.escape
    return [int(any(job.even_when_full for job in jobs))] + [
        x
        for job in jobs
        for x in (
            job.priority, max(0, int(job.delay_ms)), job.max_attempts,
            escape(job.unique_key), escape(job.name), escape(job.key), job.body,
        )
    ]  # fmt: skip
