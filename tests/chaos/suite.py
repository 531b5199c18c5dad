"""Run several scenarios, some at the same time."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.chaos.parts import is_root
from tests.chaos.report import Row
from tests.chaos.run import run
from tests.chaos.scenarios import SCENARIOS

KNOWN = {scenario.name: scenario for scenario in SCENARIOS}
LONGEST = ("cluster-broken", "origins-misbehave", "redis-frozen", "shard-gone", "workers-killed")
"""They start first, so that none of them is left alone at the end."""


def run_all(names: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """
    Run scenarios, `options.jobs` at a time, and return their rows in the order of `names`.

    Most of a scenario is waiting, so that two at a time take little longer than one.
    """
    until_s = time.monotonic() + options.budget_s
    first_the_longest = sorted(names, key=lambda name: (*LONGEST, name).index(name))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        futures = [pool.submit(run_one, name, options, until_s) for name in first_the_longest]
        rows = [future.result() for future in futures]
    by_name = {row.scenario.name: row for row in rows if row is not None}
    return [by_name[name] for name in names if name in by_name]


def run_one(name: str, options: argparse.Namespace, until_s: float) -> Row | None:
    """Run one scenario and say how it went; None if it could not run."""
    if time.monotonic() > until_s:
        print(f"{name}: not run, the time is up", flush=True)
        return None
    if KNOWN[name].needs_root and not is_root():
        print(f"{name}: not run, it needs root on Linux", flush=True)
        return None
    row = run(KNOWN[name], urls=options.urls, domains=options.domains, seed=options.seed)
    verdict = "; ".join(row.verdict.violations) or "no law broken"
    print(f"{name}: {row.seconds:.0f} s, {verdict}", flush=True)
    return row
