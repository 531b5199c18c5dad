"""`python -m tests.chaos [SCENARIO ...]`: run the fault suite and print its table."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.chaos.parts import is_root
from tests.chaos.report import table, write
from tests.chaos.run import run
from tests.chaos.scenarios import SCENARIOS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all")
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--domains", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget-s", type=float, default=1200, help="no scenario starts after it")
    parser.add_argument("--report", type=Path, help="replace the table of this page")
    options = parser.parse_args()
    known = {scenario.name: scenario for scenario in SCENARIOS}
    if unknown := [name for name in options.scenarios if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
    until_s = time.monotonic() + options.budget_s
    rows = []
    for name in options.scenarios or known:
        if time.monotonic() > until_s:
            print(f"{name}: not run, the time is up", flush=True)
            continue
        if known[name].needs_root and not is_root():
            print(f"{name}: not run, it needs root on Linux", flush=True)
            continue
        row = run(known[name], urls=options.urls, domains=options.domains, seed=options.seed)
        rows.append(row)
        print(f"{name}: {row.seconds:.0f} s, {'; '.join(row.verdict.violations) or 'no law broken'}",
              flush=True)  # fmt: skip
    print(table(rows))
    if options.report:
        write(options.report, rows)
    return 1 if any(row.verdict.violations for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
