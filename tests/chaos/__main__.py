"""`python -m tests.chaos [SCENARIO ...]`: run the fault suite and print its table."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.chaos.parts import is_root
from tests.chaos.report import Row, table, write
from tests.chaos.run import run
from tests.chaos.scenarios import SCENARIOS

KNOWN = {scenario.name: scenario for scenario in SCENARIOS}
LONGEST = ("cluster-broken", "origins-misbehave", "redis-frozen", "shard-gone", "workers-killed")
"""They start first, so that none of them is left alone at the end."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all")
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--domains", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget-s", type=float, default=1200, help="no scenario starts after it")
    parser.add_argument("--report", type=Path, help="replace the table of this page")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at the same time")
    options = parser.parse_args()
    if unknown := [name for name in options.scenarios if name not in KNOWN]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(KNOWN)}")
    rows = run_all(options.scenarios or list(KNOWN), options)
    print(table(rows))
    if options.report:
        write(options.report, rows)
    return 1 if any(row.verdict.violations for row in rows) else 0


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
    found = {row.scenario.name: row for row in rows if row is not None}
    return [found[name] for name in names if name in found]


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


if __name__ == "__main__":
    sys.exit(main())
