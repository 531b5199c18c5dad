"""How many jobs a process has at once, by the CPU that it needs."""

import time

import pytest

from aragog.workers.cpu_demand import CHECK_INTERVAL_S, LimitByDemand, needed_cpu_s


class Process:
    """A process that needs a share of its core, and has as many jobs as it may, or fewer."""

    def __init__(self, least=8, most=32, kept=0):
        self.now_s = self.needed_s = 0.0
        self.kept, self.held = kept, 0
        self.limit = LimitByDemand(
            least, most, kept, now_s=lambda: self.now_s, read_cpu_s=lambda: self.needed_s
        )

    def run(self, looks, share, jobs=1000):
        """Look a number of times while jobs wait; returns the last limit."""
        for _ in range(looks):
            self.held = min(self.limit(self.held) - self.kept, jobs)
            self.now_s += CHECK_INTERVAL_S
            self.needed_s += share * CHECK_INTERVAL_S
        return self.limit(self.held)


@pytest.mark.parametrize(
    ("share", "jobs", "limit"),
    [(0.1, 1000, 32), (0.65, 1000, 12), (0.95, 1000, 12), (0.1, 3, 12)],
    ids=["waiting", "half busy", "busy", "few jobs"],
)
def test_a_process_has_more_jobs_while_it_waits_and_all_are_wanted(share, jobs, limit):
    assert Process(least=12, kept=4).run(20, share, jobs) == limit


def test_a_process_whose_core_becomes_busy_has_fewer_jobs():
    process = Process()
    assert process.run(20, 0.1) == 32

    assert process.run(20, 0.95) == 8


def test_jobs_after_a_rest_do_not_take_all_threads_at_once():
    process = Process()
    process.run(20, 0.1)

    assert process.run(20, 0.0, jobs=0) == 8


def test_a_worker_of_few_threads_uses_all():
    assert Process(least=12, most=5).run(3, 0.95) == 5


def test_a_limit_does_not_change_between_two_looks():
    process = Process()
    process.needed_s += 60

    assert {process.limit(8) for _ in range(9)} == {8}


def test_computing_is_counted_as_needed():
    before, used = needed_cpu_s(), time.process_time()
    while time.process_time() - used < 0.05:
        pass

    assert needed_cpu_s() - before >= 0.04
