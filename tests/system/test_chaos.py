"""
A short form of the fault suite: one crawl with several faults, judged from outside by all laws.
"""

import pytest

from tests.chaos.run import run
from tests.chaos.scenarios import Scenario
from tests.chaos.world import WORKERS, Plan

pytestmark = [pytest.mark.redis, pytest.mark.slow]

URLS = 1_500


def faults(world):
    """
    A limiter node is stopped and restarted; each worker is killed twice, the redis-server once.
    """
    world.limiters[0].kill()
    world.begin_fault()
    yield 1.0
    for name in WORKERS:
        world.kill(name)
        yield 1.5
    world.limiters[0].start()
    world.kill("redis")
    yield 3.0
    for name in WORKERS:
        world.kill(name)
        yield 1.0


@pytest.mark.timeout(1200)  # seven minutes at a load of 27
def test_no_law_is_broken_when_workers_redis_and_a_limiter_node_are_killed():
    plan = Plan(limiter_nodes=2)
    scenario = Scenario("slice", "several faults", faults, plan, may_refuse=True)

    row = run(scenario, urls=URLS, domains=60, within_s=900)

    assert row.faults == 2 + 2 * len(WORKERS)
    assert row.verdict.urls == URLS
    assert row.verdict.violations == ()
