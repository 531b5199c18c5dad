"""
Compare random histories of a pinlater shard with those of `MemoryShard`.

    def test_random_histories_agree(my_world):
        run_histories(my_world)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from pinlater.models import JobItem, JobState, Nack, NewJob, Step
from pinlater.shard import ClaimKey, Shard
from pinlater.testing import examples
from pinlater.testing.shard_world import FOREVER_MS, HOUR_MS, MemoryWorld, ShardWorld, claim, frame

T = TypeVar("T")


def run_histories(world: ShardWorld, *, histories: int = 40, steps: int = 30) -> int:
    """
    Run random histories on the shard and a `MemoryShard`; return how many calls were compared.

    Raises:
        AssertionError: results differ. hypothesis prints the shortest such history.
    """

    class HistoryMachine(_HistoryMachine):
        pass

    HistoryMachine.world = world
    history_settings = examples(histories, stateful_step_count=steps)
    run_state_machine_as_test(HistoryMachine, settings=history_settings)
    return HistoryMachine.compared


def _now_ms(shard: Shard) -> int:
    return shard.sweep("clock", reap_before_ms=0).now_ms


class _HistoryMachine(RuleBasedStateMachine):
    """Makes the same calls on a shard and a `MemoryShard`, and compares the results."""

    world: ShardWorld
    compared = 0

    def __init__(self) -> None:
        super().__init__()
        self.world.empty()
        self.twin = MemoryWorld()
        self.claim_keys: list[ClaimKey] = [("0000000000000001", 1)]
        self.ids: list[str] = []

    def run_on_both(self, operation: Callable[[Shard], T]) -> T:
        """Run `operation` at least 1 ms after the last one, and compare results."""
        started_ms = _now_ms(self.world.shard)
        while _now_ms(self.world.shard) == started_ms:
            pass
        self.twin.clock.advance_ms(1)
        result, expected = operation(self.world.shard), operation(self.twin.shard)
        assert result == expected
        type(self).compared += 1
        return result

    @rule(
        priority=st.sampled_from([0, 0, 3, 9]),
        hours=st.sampled_from([0, 0, 0, 1, 3]),
        max_attempts=st.sampled_from([0, 1, 2]),
        key=st.sampled_from(["", "", "k", "l|%"]),
        count=st.integers(1, 3),
    )
    def enqueue(self, priority: int, hours: int, max_attempts: int, key: str, count: int) -> None:
        job = NewJob(b"b", priority, hours * HOUR_MS, max_attempts, key, "n", "k")
        self.ids += [a.job_id for a in self.run_on_both(lambda s: s.enqueue("q", [job] * count))]

    @rule(
        priority=st.sampled_from([0, 3]),
        hours=st.lists(st.sampled_from([0, 0, 1, 3]), min_size=1, max_size=4),
        max_attempts=st.sampled_from([0, 2]),
    )
    def collect(self, priority: int, hours: list[int], max_attempts: int) -> None:
        items = [JobItem(b"i", h * HOUR_MS) for h in hours]
        job_frame = frame(priority=priority, max_attempts=max_attempts)
        self.run_on_both(lambda s: s.collect("q", job_frame, items))

    @rule(limit=st.integers(1, 4), hours=st.sampled_from([1, 2]))
    def claim_jobs(self, limit: int, hours: int) -> None:
        def operation(shard: Shard) -> Any:
            result = claim(shard, limit, hours * HOUR_MS)
            wait_ms = result.next_due_ms and result.next_due_ms - result.now_ms
            wait_hours = wait_ms and round(wait_ms / HOUR_MS)
            return [(c.job_id, c.token, c.attempt) for c in result.claims], result.more, wait_hours

        self.claim_keys += [(job_id, token) for job_id, token, _ in self.run_on_both(operation)[0]]

    def draw_claim_keys(self, data: st.DataObject) -> list[ClaimKey]:
        chosen: list[ClaimKey] = data.draw(st.lists(st.sampled_from(self.claim_keys), max_size=3))
        return chosen

    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        claim_keys = self.draw_claim_keys(data)
        self.run_on_both(lambda s: s.ack("q", claim_keys))

    @rule(
        data=st.data(),
        step=st.sampled_from(["again", "release", "fail"]),
        hours=st.sampled_from([0, 1]),
    )
    def nack(self, data: st.DataObject, step: Step, hours: int) -> None:
        nacks = [
            Nack(*key, step=step, delay_ms=hours * HOUR_MS) for key in self.draw_claim_keys(data)
        ]
        self.run_on_both(lambda s: s.nack("q", nacks))

    @rule(data=st.data(), hours=st.sampled_from([1, 3]))
    def extend(self, data: st.DataObject, hours: int) -> None:
        claim_keys = self.draw_claim_keys(data)
        self.run_on_both(lambda s: s.extend("q", claim_keys, timeout_ms=hours * HOUR_MS))

    @rule(reap=st.sampled_from([0, FOREVER_MS]), limit=st.integers(1, 3))
    def sweep(self, reap: int, limit: int) -> None:
        def operation(shard: Shard) -> Any:
            swept = shard.sweep("q", reap_before_ms=reap, limit=limit)
            return swept.returned, swept.failed, swept.deleted

        self.run_on_both(operation)

    @rule(hours=st.sampled_from([1, 2, 200]))
    def time_passes(self, hours: int) -> None:
        for world in (self.world, self.twin):
            world.pass_ms(hours * HOUR_MS)

    @rule(data=st.data(), limit=st.integers(1, 3))
    def retry(self, data: st.DataObject, limit: int) -> None:
        ids = (
            data.draw(st.lists(st.sampled_from(self.ids), max_size=2, unique=True))
            if self.ids
            else []
        )
        self.run_on_both(lambda s: s.retry("q", ids=ids, limit=limit))

    @rule(
        data=st.data(),
        state=st.sampled_from([JobState.PENDING, JobState.FAILED, JobState.SUCCEEDED]),
    )
    def delete(self, data: st.DataObject, state: JobState) -> None:
        ids = (
            data.draw(st.lists(st.sampled_from(self.ids), max_size=2, unique=True))
            if self.ids
            else []
        )
        self.run_on_both(lambda s: s.delete("q", state, ids=ids, limit=1))

    @rule(
        change=st.sampled_from(
            [{"paused": 1.0}, {"paused": None}, {"max_attempts": 2.0}, {"keep_succeeded_max": 1.0}]
        )
    )
    def configure(self, change: dict[str, float | None]) -> None:
        self.run_on_both(lambda s: s.configure("q", change))

    @rule(state=st.sampled_from(JobState), offset=st.sampled_from([0, 0, 1]))
    def list_jobs(self, state: JobState, offset: int) -> None:
        def operation(shard: Shard) -> Any:
            jobs = shard.jobs("q", state, limit=5, offset=offset)
            sizes = shard.sizes("q")
            return [
                (
                    j.job_id,
                    j.state,
                    j.attempts,
                    j.priority,
                    j.unique_key,
                    j.problem,
                    j.worker,
                    j.body,
                )
                for j in jobs
            ], (
                sizes.due,
                sizes.later,
                sizes.running,
                sizes.succeeded,
                sizes.failed,
                sizes.by_priority,
            )

        self.run_on_both(operation)

    def teardown(self) -> None:
        self.run_on_both(
            lambda s: {k: n for k, n in s.stats("q").items() if not k.startswith("late")}
        )
