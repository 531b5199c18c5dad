"""Random histories of one process that holds claims on several queues of several shards."""

from itertools import count

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.models import ClaimRequest, JobState, NewJob
from pinlater.testing import examples
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard

TIMEOUT_MS = 60_000
QUEUES = ("fetch", "robots", "robots-0", "0")
"""Some names look like parts of a tag."""


class Histories(RuleBasedStateMachine):
    """Ids and tokens are counted per queue and shard, so they often collide."""

    checked = 0

    def __init__(self):
        super().__init__()
        self.clock = ManualClock()
        self.shards = [MemoryShard(self.clock, name=name) for name in ("0", "1")]
        self.start_process()
        self.numbers = count()
        self.expected = {state: set() for state in JobState}

    def start_process(self):
        """Starts a process without claims."""
        self.claims = ClaimRegistry(
            Cluster(self.shards, clock=self.clock), claim_timeout_ms=TIMEOUT_MS, clock=self.clock
        )
        for queue in QUEUES:
            self.claims.watch(queue)
        self.claims.stop()  # stops its thread: here only the history acts
        self.claims.reaper.reap()
        self.tags = {}

    def move(self, job, before, after):
        self.expected[before].remove(job)
        self.expected[after].add(job)

    @rule(shard=st.sampled_from([0, 1]), queue=st.sampled_from(QUEUES))
    def enqueue_and_claim(self, shard, queue):
        key = str(next(self.numbers))
        self.shards[shard].enqueue(queue, [NewJob(b"x", key=key)])
        self.expected[JobState.PENDING].add(key)
        answer = self.shards[shard].claim(
            queue, ClaimRequest(limit=1, timeout_ms=TIMEOUT_MS, worker="w")
        )
        for job in answer.claims:
            key = job.record.split(b"|")[7].decode()
            self.tags[key] = self.claims.add(self.shards[shard], queue, job)
            self.move(key, JobState.PENDING, JobState.RUNNING)

    def some_claim(self, data):
        return data.draw(st.sampled_from(sorted(self.tags)))

    @precondition(lambda self: self.tags)
    @rule(data=st.data())
    def ack(self, data):
        key = self.some_claim(data)
        self.claims.ack(self.tags.pop(key))
        self.move(key, JobState.RUNNING, JobState.SUCCEEDED)

    @precondition(lambda self: self.tags)
    @rule(data=st.data(), requeue=st.booleans())
    def reject(self, data, requeue):
        key = self.some_claim(data)
        info = next(j for j in self.all(JobState.RUNNING) if j.key == key)
        self.claims.reject(self.tags.pop(key), requeue=requeue)
        again = requeue and info.attempts < 10
        self.move(key, JobState.RUNNING, JobState.PENDING if again else JobState.FAILED)

    @precondition(lambda self: self.tags)
    @rule(data=st.data())
    def close_channel_of_one(self, data):
        key = self.some_claim(data)
        self.claims.on_channel_closed([self.tags.pop(key)])
        self.move(key, JobState.RUNNING, JobState.PENDING)

    @rule()
    def time_passes(self):
        self.clock.advance_ms(TIMEOUT_MS / 3)
        self.claims.renewer.renew()
        self.claims.reaper.reap()

    @rule()
    def kill_process(self):
        self.start_process()
        for _ in range(4):
            self.clock.advance_ms(TIMEOUT_MS / 3)
            self.claims.reaper.reap()
        for key in list(self.expected[JobState.RUNNING]):
            self.move(key, JobState.RUNNING, JobState.PENDING)

    def all(self, state):
        return [
            job
            for shard in self.shards
            for queue in QUEUES
            for job in shard.jobs(queue, state, limit=1000)
        ]

    @invariant()
    def every_job_is_in_its_expected_state(self):
        # A job killed or rejected ten times is FAILED.
        for job in self.all(JobState.FAILED):
            if job.attempts >= 10 and job.key in self.expected[JobState.PENDING]:
                self.move(job.key, JobState.PENDING, JobState.FAILED)
        jobs = {state: {job.key for job in self.all(state)} for state in JobState}
        assert jobs == self.expected
        Histories.checked += 1


def test_no_claim_ends_a_job_of_another_queue_or_shard():
    Histories.checked, histories = 0, examples(40)

    run_state_machine_as_test(Histories, settings=histories)

    assert Histories.checked >= histories.max_examples  # after each step of each history
