"""Tests of a shard's jobs that collect items (`Shard.collect`)."""

from __future__ import annotations

from pinlater.models import JobState, Nack
from pinlater.shard import Shard
from pinlater.testing.shard_world import (
    HOUR_MS,
    ShardWorld,
    bodies,
    claim,
    claim_keys,
    frame,
    items,
)


class CollectingContract:
    """Part of `ShardContract`."""

    def test_items_due_in_the_same_span_are_one_job_until_it_is_full(self, shard: Shard) -> None:
        shard.collect("q", frame(), items(b"1", b"2"))
        shard.collect("q", frame(key="other"), items(b"3", b"4"))

        [first, second] = shard.jobs("q", JobState.PENDING, limit=9)
        assert (first.name, first.key, first.unique_key) == ("task", "id", "")
        assert sorted([first.body, second.body]) == [b"[1,2,3]", b"[4]"]
        assert sorted(bodies(claim(shard))) == [b"[1,2,3]", b"[4]"]

    def test_items_of_different_priorities_and_groups_share_no_job(self, shard: Shard) -> None:
        shard.collect("q", frame(priority=5), items(b"1"))
        shard.collect("q", frame(priority=1), items(b"2"))
        shard.collect("q", frame(priority=5, group="h|"), items(b"3"))

        assert bodies(claim(shard)) == [b"[2]", b"[1]", b"[3]"]

    def test_a_job_that_collects_is_due_with_the_first_of_its_items(
        self, world: ShardWorld
    ) -> None:
        shard = world.shard
        shard.collect("q", frame(), items(b"late", delay_ms=2 * HOUR_MS))
        shard.collect("q", frame(), items(b"early", delay_ms=HOUR_MS))

        assert claim(shard).claims == ()
        world.pass_ms(HOUR_MS)

        assert bodies(claim(shard)) == [b"[late,early]"]

    def test_a_claimed_job_collects_no_more_even_when_it_waits_again(self, shard: Shard) -> None:
        shard.collect("q", frame(), items(b"1"))
        [claim_key] = claim_keys(claim(shard))
        shard.collect("q", frame(), items(b"2"))
        shard.nack("q", [Nack(*claim_key)])
        shard.collect("q", frame(), items(b"3"))

        assert sorted(bodies(claim(shard))) == [b"[1]", b"[2,3]"]

    def test_a_job_that_collected_ends_like_any_other(self, shard: Shard) -> None:
        shard.collect("q", frame(max_attempts=1), items(b"1"))
        shard.collect("q", frame(span_ms=HOUR_MS), items(b"2"))
        first, second = claim_keys(claim(shard))
        shard.ack("q", [second])
        shard.nack("q", [Nack(*first)])

        [done] = shard.jobs("q", JobState.SUCCEEDED, limit=9)
        [failed] = shard.jobs("q", JobState.FAILED, limit=9)
        assert (done.body, failed.body) == (b"", b"[1]")
        shard.collect("q", frame(), items(b"3"))
        assert shard.retry("q", ids=[failed.job_id]) == 1
        assert sorted(bodies(claim(shard))) == [b"[1]", b"[3]"]
