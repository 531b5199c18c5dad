"""Run one scenario: start a world, break it, wait until its crawl ends, check it."""

from __future__ import annotations

import dataclasses
import time

from tests.chaos.laws import judge, orphans, recovery_s
from tests.chaos.report import Row
from tests.chaos.scenarios import Scenario
from tests.chaos.world import World, world

POLL_S = 0.2
MAX_CRAWL_S = 300.0
"""The maximum time from the last fault to the end of the crawl."""


def run(
    scenario: Scenario, *, urls: int, domains: int, seed: int = 0, within_s: float = MAX_CRAWL_S
) -> Row:
    """
    Run the scenario with that many URLs. Broken laws do not raise.

    Its crawl may last `within_s` after the last fault.
    """
    plan = dataclasses.replace(scenario.plan, urls=urls, domains=domains)
    started_s = time.monotonic()
    with world(plan, seed) as a_world:
        _crawl(a_world, scenario, within_s)
        verdict = judge(a_world, may_refuse=scenario.may_refuse)
        recovered_s, folder, faults = recovery_s(a_world), a_world.folder, a_world.faults
    if orphaned := orphans(folder):
        verdict = dataclasses.replace(
            verdict, violations=(*verdict.violations, f"processes left: {orphaned}")
        )
    return Row(scenario, verdict, faults, recovered_s, time.monotonic() - started_s)


def _crawl(a_world: World, scenario: Scenario, within_s: float) -> None:
    """Enqueue, break and supervise until nothing waits, or time is up."""
    _warm_up(a_world)
    faults = scenario.faults(a_world)
    next_s: float | None = time.monotonic()
    while True:
        a_world.enqueue_some()
        a_world.check()
        now_s = time.monotonic()
        if next_s is not None and now_s >= next_s:
            pause_s = next(faults, None)
            next_s = None if pause_s is None else now_s + pause_s
            if pause_s is None:
                a_world.end_of_faults()
        if next_s is None and (not a_world.in_flight() and a_world.in_flight() is not None):
            return
        if next_s is None and now_s > a_world.last_fault_s + within_s:
            return
        time.sleep(POLL_S)


def _warm_up(a_world: World) -> None:
    """Wait until a page is stored, so that every process works when faults begin."""
    deadline_s = time.monotonic() + MAX_CRAWL_S
    while not a_world.client.counters().get("stored") and time.monotonic() < deadline_s:
        a_world.enqueue_some()
        a_world.check()
        time.sleep(POLL_S)
