"""How many jobs a process takes at once, based on the CPU time it needs."""

import time

import pytest

from aragog.workers.cpu_demand import CHECK_INTERVAL_S, LimitByDemand, needed_cpu_s


class Process:
    """A process that needs a share of its core and takes up to the allowed number of jobs."""

    def __init__(self, least=8, most=32, kept=0):
        self.now_s = self.needed_s = 0.0
        self.kept, self.held = kept, 0
        self.limit = LimitByDemand(
            least, most, kept, now_s=lambda: self.now_s, read_cpu_s=lambda: self.needed_s
        )

    def run(self, checks, share, jobs=1000):
        """Checks a number of times while jobs wait, and returns the last limit."""
        for _ in range(checks):
            self.held = min(self.limit(self.held) - self.kept, jobs)
            self.now_s += CHECK_INTERVAL_S
            self.needed_s += share * CHECK_INTERVAL_S
        return self.limit(self.held)


@pytest.mark.parametrize(
    ("share", "jobs", "limit"),
    [(0.1, 1000, 32), (0.65, 1000, 12), (0.95, 1000, 12), (0.1, 3, 12)],
    ids=["waiting", "half busy", "busy", "few jobs"],
)
def test_limit_grows_while_the_process_waits_and_jobs_are_queued(share, jobs, limit):
    assert Process(least=12, kept=4).run(20, share, jobs) == limit


def test_limit_falls_when_the_core_becomes_busy():
    process = Process()
    assert process.run(20, 0.1) == 32

    assert process.run(20, 0.95) == 8


def test_jobs_after_an_idle_period_do_not_take_all_threads_at_once():
    process = Process()
    process.run(20, 0.1)

    assert process.run(20, 0.0, jobs=0) == 8


def test_worker_with_few_threads_uses_all():
    assert Process(least=12, most=5).run(3, 0.95) == 5


def test_limit_does_not_change_between_two_checks():
    process = Process()
    process.needed_s += 60

    assert {process.limit(8) for _ in range(9)} == {8}


def test_computing_counts_as_needed():
    before, used = needed_cpu_s(), time.process_time()
    while time.process_time() - used < 0.05:
        pass

    assert needed_cpu_s() - before >= 0.04
