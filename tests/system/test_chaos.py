"""A small slice of the fault suite: what a crawl survives, judged from outside."""

import pytest

from tests.chaos.run import run
from tests.chaos.scenarios import SCENARIOS

pytestmark = [pytest.mark.redis, pytest.mark.slow]

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
SLICE = ("workers-killed", "redis-killed", "limiter-gone", "poisoned-pages")


@pytest.mark.parametrize("name", SLICE)
def test_no_law_is_broken_when(name):
    row = run(BY_NAME[name], urls=1_200, domains=60)

    assert row.faults
    assert row.verdict.urls >= 1_200
    assert row.verdict.violations == ()
