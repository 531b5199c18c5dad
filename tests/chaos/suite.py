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

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
LONGEST_FIRST = (
    "cluster-broken",
    "origins-misbehave",
    "redis-frozen",
    "shard-gone",
    "workers-killed",
)
"""These start first, so that none of them runs alone at the end."""


def run_all(names: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """
    Run scenarios, `options.jobs` at a time, and return their rows in the order of `names`.

    A scenario mostly waits, so two at a time take little longer than one.
    """
    deadline_s = time.monotonic() + options.budget_s
    ordered = sorted(names, key=lambda name: (*LONGEST_FIRST, name).index(name))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        futures = [pool.submit(run_one, name, options, deadline_s) for name in ordered]
        rows = [future.result() for future in futures]
    by_name = {row.scenario.name: row for row in rows if row is not None}
    return [by_name[name] for name in names if name in by_name]


def run_one(name: str, options: argparse.Namespace, deadline_s: float) -> Row | None:
    """Run one scenario and print its result. Returns None if it could not run."""
    if time.monotonic() > deadline_s:
        print(f"{name}: not run, the time is up", flush=True)
        return None
    if BY_NAME[name].needs_root and not is_root():
        print(f"{name}: not run, it needs root on Linux", flush=True)
        return None
    row = run(BY_NAME[name], urls=options.urls, domains=options.domains, seed=options.seed)
    verdict = "; ".join(row.verdict.violations) or "every check passed"
    print(f"{name}: {row.seconds:.0f} s, {verdict}", flush=True)
    return row
