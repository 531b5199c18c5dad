"""
The test suite that every pinlater shard must pass.

    class TestMyShard(ShardContract):
        @pytest.fixture
        def world(self): ...  # a `ShardWorld` with an empty shard
"""

from __future__ import annotations

import pytest

from pinlater.models import ClaimRequest, JobState, Nack, NewJob
from pinlater.shard import Shard
from pinlater.testing.shard_collecting import CollectingContract
from pinlater.testing.shard_world import (
    FOREVER_MS,
    HOUR_MS,
    ShardWorld,
    bodies,
    claim,
    claim_keys,
    put,
)


class ShardContract(CollectingContract):
    """
    The tests of a shard's contract.

    Fixtures of the subclass:
        world: a `ShardWorld` whose shard is empty.
    """

    @pytest.fixture
    def shard(self, world: ShardWorld) -> Shard:
        return world.shard

    def test_jobs_come_in_the_order_they_were_put(self, shard: Shard) -> None:
        put(shard, b"a", b"b")
        put(shard, b"c")

        assert bodies(claim(shard)) == [b"a", b"b", b"c"]

    def test_the_most_urgent_job_comes_first(self, shard: Shard) -> None:
        for priority in (9, 0, 5):
            put(shard, b"%d" % priority, priority=priority)

        assert bodies(claim(shard)) == [b"0", b"5", b"9"]

    def test_a_claim_passes_over_jobs_less_urgent_than_it_asks_for(self, shard: Shard) -> None:
        put(shard, b"9", priority=9)
        put(shard, b"2", priority=2)

        urgent = claim(shard, lowest=2)
        nothing = claim(shard, lowest=2)

        assert bodies(urgent) == [b"2"]
        assert (nothing.claims, nothing.more, nothing.next_due_ms) == ((), False, None)
        assert bodies(claim(shard)) == [b"9"]

    def test_a_job_is_invisible_until_it_is_due(self, world: ShardWorld) -> None:
        put(world.shard, b"later", delay_ms=HOUR_MS)

        before = claim(world.shard)
        world.pass_ms(HOUR_MS)

        assert before.claims == ()
        assert before.next_due_ms is not None
        assert HOUR_MS - 1000 < before.next_due_ms - before.now_ms <= HOUR_MS
        assert bodies(claim(world.shard)) == [b"later"]

    def test_the_lateness_of_claimed_jobs_is_counted(self, world: ShardWorld) -> None:
        put(world.shard, b"a", b"b")
        world.pass_ms(2_000)
        put(world.shard, b"c")
        world.pass_ms(30_000)
        put(world.shard, b"d", delay_ms=HOUR_MS)

        claim(world.shard)

        stats = world.shard.stats("q")
        assert 94_000 <= stats["late_ms"] < 104_000
        assert stats["later_than_1000_ms"] == stats["later_than_10000_ms"] == 3
        assert stats.get("later_than_60000_ms", 0) == 0

    def test_a_claimed_job_is_not_claimed_twice(self, shard: Shard) -> None:
        put(shard, b"a")

        assert len(claim(shard).claims) == 1
        assert claim(shard).claims == ()

    def test_a_claim_takes_no_more_than_its_limit_and_says_that_more_is_due(
        self, shard: Shard
    ) -> None:
        put(shard, b"a", b"b", b"c")

        first, second = claim(shard, limit=2), claim(shard, limit=2)

        assert (len(first.claims), first.more) == (2, True)
        assert (len(second.claims), second.more) == (1, False)

    def test_an_acknowledged_job_has_succeeded_and_its_body_is_gone(self, shard: Shard) -> None:
        put(shard, b"a", name="task", key="id|1")

        assert shard.ack("q", claim_keys(claim(shard))) == [True]
        [job] = shard.jobs("q", JobState.SUCCEEDED, limit=9)
        assert (job.name, job.key, job.attempts, job.worker, job.body) == (
            "task",
            "id|1",
            1,
            "w",
            b"",
        )
        assert claim(shard).claims == ()

    def test_a_slow_worker_cannot_finish_what_was_given_to_another(self, world: ShardWorld) -> None:
        shard = world.shard
        put(shard, b"a")
        slow = claim_keys(claim(shard, timeout_ms=1000))
        world.pass_ms(2000)
        shard.sweep("q", reap_before_ms=FOREVER_MS)
        current = claim_keys(claim(shard))

        assert shard.ack("q", slow) == [False]
        assert shard.nack("q", [Nack(*slow[0])]) == [None]
        assert shard.extend("q", slow, timeout_ms=1) == [False]
        assert shard.ack("q", current) == [True]

    def test_a_claim_that_is_extended_does_not_run_out(self, world: ShardWorld) -> None:
        shard = world.shard
        put(shard, b"a")
        keys = claim_keys(claim(shard, timeout_ms=1000))

        assert shard.extend("q", keys, timeout_ms=HOUR_MS) == [True]
        world.pass_ms(2000)

        assert shard.sweep("q", reap_before_ms=FOREVER_MS).returned == 0
        assert shard.ack("q", keys) == [True]

    def test_what_a_dead_worker_held_runs_again_and_the_attempt_counts(
        self, world: ShardWorld
    ) -> None:
        shard = world.shard
        put(shard, b"a", max_attempts=2)
        claim(shard, timeout_ms=1000)
        world.pass_ms(1500)

        assert shard.sweep("q", reap_before_ms=FOREVER_MS).returned == 1
        [again] = claim(shard, timeout_ms=1000).claims
        assert again.attempt == 2
        world.pass_ms(1500)
        assert shard.sweep("q", reap_before_ms=FOREVER_MS).failed == 1
        [job] = shard.jobs("q", JobState.FAILED, limit=9)
        assert "claim timed out: w" in job.problem

    def test_what_a_worker_held_that_is_known_to_be_dead_goes_back_at_once(
        self, shard: Shard
    ) -> None:
        ids = put(shard, b"a", b"b", b"c")
        for worker in ("host|1:7:x", "host|1:7:x", "host|1:77:x"):
            shard.claim("q", ClaimRequest(limit=1, timeout_ms=HOUR_MS, worker=worker))

        assert shard.release("q", "host|1:7:", [*ids, "00000000000000ff"]) == 2

        assert [job.worker for job in shard.jobs("q", JobState.RUNNING, limit=9)] == ["host|1:77:x"]
        assert [c.attempt for c in claim(shard).claims] == [2, 2]

    def test_nothing_is_reaped_that_ran_out_after_the_time_given(self, world: ShardWorld) -> None:
        shard = world.shard
        put(shard, b"a")
        claim(shard, timeout_ms=1000)
        world.pass_ms(2000)

        assert shard.sweep("q", reap_before_ms=0).returned == 0

    def test_a_job_given_back_waits_for_its_delay_and_one_released_costs_no_attempt(
        self, world: ShardWorld
    ) -> None:
        shard = world.shard
        put(shard, b"a", b"b", max_attempts=5)
        first, second = claim_keys(claim(shard))

        states = shard.nack("q", [Nack(*first, delay_ms=HOUR_MS), Nack(*second, step="release")])

        assert states == [JobState.PENDING, JobState.PENDING]
        assert [(c.job_id, c.attempt) for c in claim(shard).claims] == [(second[0], 1)]
        world.pass_ms(HOUR_MS)
        assert [(c.job_id, c.attempt) for c in claim(shard).claims] == [(first[0], 2)]

    def test_a_job_fails_when_its_attempts_are_used_up_and_can_be_retried_by_hand(
        self, shard: Shard
    ) -> None:
        shard.configure("q", {"max_attempts": 2})
        put(shard, b"a")
        for state in (JobState.PENDING, JobState.FAILED):
            [claim_key] = claim_keys(claim(shard))
            assert shard.nack("q", [Nack(*claim_key, problem="no\nluck")]) == [state]
        [failed] = shard.jobs("q", JobState.FAILED, limit=9)

        assert (failed.problem, failed.body, failed.attempts) == ("no luck", b"a", 2)
        assert shard.retry("q", ids=[failed.job_id]) == 1
        assert [c.attempt for c in claim(shard).claims] == [1]

    def test_a_job_type_has_a_number_of_attempts_of_its_own(self, shard: Shard) -> None:
        shard.configure("q", {"max_attempts": 3, "max_attempts@once": 1})
        put(shard, b"a", name="once")
        put(shard, b"b", name="other")

        first, second = claim(shard).claims
        states = shard.nack("q", [Nack(c.job_id, c.token) for c in (first, second)])

        assert states == [JobState.FAILED, JobState.PENDING]

    def test_a_job_that_would_be_too_old_at_its_next_attempt_fails(self, world: ShardWorld) -> None:
        shard = world.shard
        shard.configure("q", {"max_age_ms": 2 * HOUR_MS, "max_age_ms@patient": 9 * HOUR_MS})
        put(shard, b"a", b"b", max_attempts=9)
        put(shard, b"c", name="patient", max_attempts=9)
        world.pass_ms(HOUR_MS)
        soon, late, patient = claim(shard, timeout_ms=FOREVER_MS).claims

        states = shard.nack(
            "q",
            [
                Nack(soon.job_id, soon.token, delay_ms=1000),
                Nack(late.job_id, late.token, delay_ms=HOUR_MS + 1000),
                Nack(patient.job_id, patient.token, delay_ms=HOUR_MS + 1000),
            ],
        )

        assert states == [JobState.PENDING, JobState.FAILED, JobState.PENDING]

    def test_an_attempt_that_does_not_count_fails_no_old_job(self, world: ShardWorld) -> None:
        world.shard.configure("q", {"max_age_ms": 1000})
        put(world.shard, b"a")
        world.pass_ms(HOUR_MS)
        [job] = claim(world.shard).claims

        released = world.shard.nack("q", [Nack(job.job_id, job.token, "release")])
        [again] = claim(world.shard).claims
        world.shard.nack("q", [Nack(again.job_id, again.token)])

        assert released == [JobState.PENDING]
        assert world.shard.sizes("q").failed == 1

    def test_a_claim_says_when_it_was_made(self, world: ShardWorld) -> None:
        put(world.shard, b"a")

        answer = claim(world.shard)

        assert [c.claimed_at_ms for c in answer.claims] == [answer.now_ms]

    def test_an_error_that_is_no_utf8_fails_its_job_and_the_others_with_it_are_acknowledged(
        self, shard: Shard
    ) -> None:
        put(shard, b"a", b"b")
        first, second = claim_keys(claim(shard))

        states = shard.nack(
            "q", [Nack(*first, step="fail", problem="name \udcff"), Nack(*second, step="release")]
        )

        assert states == [JobState.FAILED, JobState.PENDING]
        [failed] = shard.jobs("q", JobState.FAILED, limit=9)
        assert failed.problem == "name \\udcff"

    def test_a_unique_key_is_taken_while_its_job_waits_or_runs(self, shard: Shard) -> None:
        [first] = put(shard, b"a", unique_key="k")

        assert shard.enqueue("q", [NewJob(b"b", unique_key="k")]) == [(first, True)]
        keys = claim_keys(claim(shard))
        assert shard.enqueue("q", [NewJob(b"b", unique_key="k")]) == [(first, True)]
        shard.ack("q", keys)
        [third] = shard.enqueue("q", [NewJob(b"b", unique_key="k")])
        assert not third.already_there

    def test_a_paused_queue_hands_out_nothing_and_still_takes_jobs(self, shard: Shard) -> None:
        shard.configure("q", {"paused": 1})
        put(shard, b"a")

        assert claim(shard).claims == ()
        shard.configure("q", {"paused": None})
        assert bodies(claim(shard)) == [b"a"]

    def test_a_rate_bounds_what_all_claims_take_together(self, world: ShardWorld) -> None:
        shard = world.shard
        # A slow rate: no tokens are added while the test runs.
        shard.configure("q", {"rate": 2 / 3600, "burst": 3})
        put(shard, *[b"x"] * 10)

        first, none = claim(shard), claim(shard)
        world.pass_ms(HOUR_MS + 1000)
        later = claim(shard)

        assert [len(a.claims) for a in (first, none, later)] == [3, 0, 2]
        assert none.next_due_ms is not None
        assert none.next_due_ms - none.now_ms <= HOUR_MS / 2

    def test_finished_jobs_are_forgotten_in_time_and_beyond_their_number(
        self, world: ShardWorld
    ) -> None:
        shard = world.shard
        shard.configure("q", {"keep_succeeded_max": 2, "keep_failed_ms": HOUR_MS})
        put(shard, *[b"x"] * 5)
        *done, failed = claim_keys(claim(shard))
        shard.ack("q", done)
        shard.nack("q", [Nack(*failed, step="fail")])

        assert shard.sizes("q").succeeded == 2
        assert shard.sweep("q", reap_before_ms=0).deleted == 0
        world.pass_ms(HOUR_MS + 1000)
        assert shard.sweep("q", reap_before_ms=0).deleted == 1
        assert shard.sizes("q").failed == 0

    def test_sizes_tell_states_priorities_and_the_oldest_due_job(self, world: ShardWorld) -> None:
        shard = world.shard
        put(shard, b"a", b"b")
        put(shard, b"c", priority=4)
        put(shard, b"d", delay_ms=2 * HOUR_MS)
        claim(shard, limit=1)
        world.pass_ms(HOUR_MS)

        sizes = shard.sizes("q")

        assert (sizes.due, sizes.later, sizes.running, sizes.pending) == (2, 1, 1, 3)
        assert sizes.by_priority[:5] == (2, 0, 0, 0, 1)
        assert HOUR_MS <= sizes.oldest_due_ms < HOUR_MS + 5000

    def test_jobs_are_listed_page_by_page(self, shard: Shard) -> None:
        put(shard, b"a", b"b", b"c", priority=1)
        put(shard, b"d", b"e", priority=2)

        pages = [shard.jobs("q", JobState.PENDING, limit=2, offset=at) for at in (0, 2, 4, 6)]

        assert [[j.body for j in page] for page in pages] == [
            [b"a", b"b"],
            [b"c", b"d"],
            [b"e"],
            [],
        ]

    def test_jobs_whose_time_has_not_come_are_listed_by_time_whatever_their_priority(
        self, world: ShardWorld, shard: Shard
    ) -> None:
        put(shard, b"soon", delay_ms=HOUR_MS, priority=0)
        put(shard, b"now", priority=9)
        put(shard, b"third", delay_ms=4 * HOUR_MS, priority=0)
        put(shard, b"first", delay_ms=2 * HOUR_MS, priority=9)
        put(shard, b"second", delay_ms=3 * HOUR_MS, priority=5)
        world.pass_ms(HOUR_MS)

        later = shard.delayed_jobs("q", limit=9)

        assert [job.body for job in later] == [b"first", b"second", b"third"]
        assert {job.state for job in later} == {JobState.PENDING}
        assert shard.delayed_jobs("q", limit=2) == later[:2]
        assert shard.delayed_jobs("nobody", limit=2) == []

    def test_deleting_takes_waiting_and_ended_jobs_and_frees_their_key(self, shard: Shard) -> None:
        ids = put(shard, b"a", b"b", b"c", priority=3)
        put(shard, b"u", unique_key="k")

        assert shard.delete("q", JobState.PENDING, ids=ids[:1]) == 1
        assert shard.delete("q", JobState.PENDING, limit=2) == 2
        assert shard.delete("q", JobState.PENDING, limit=100) == 1
        assert shard.sizes("q").pending == 0
        assert not shard.enqueue("q", [NewJob(b"v", unique_key="k")])[0].already_there

    def test_a_large_batch_is_taken_whole_and_in_order(self, shard: Shard) -> None:
        ids = put(shard, *[b"%d" % i for i in range(450)])

        assert len(set(ids)) == 450
        assert bodies(claim(shard, limit=200)) == [b"%d" % i for i in range(200)]

    def test_a_dropped_queue_is_gone_and_another_one_untouched(self, shard: Shard) -> None:
        put(shard, b"a")
        shard.enqueue("other", [NewJob(b"b")])

        shard.drop("q")

        assert shard.queues() == {"other"}
        assert shard.sizes("q").pending == 0
        assert shard.sizes("other").pending == 1

    def test_a_dropped_queue_gives_out_no_id_or_token_again(self, shard: Shard) -> None:
        put(shard, b"a")
        [before] = claim(shard).claims
        shard.drop("q")
        put(shard, b"b")
        [after] = claim(shard).claims

        assert before.job_id != after.job_id
        assert before.token != after.token
