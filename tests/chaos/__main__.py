"""`python -m tests.chaos [SCENARIO ...]`: run the fault suite and print its table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.chaos.report import table, write
from tests.chaos.suite import BY_NAME, run_all
from tests.support.ending import end_with_this_process


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help="default: all")
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--domains", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget-s", type=float, default=1020, help="no scenario starts after it")
    parser.add_argument("--report", type=Path, help="replace the table of this page")
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at the same time")
    options = parser.parse_args()
    if unknown := [name for name in options.scenarios if name not in BY_NAME]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(BY_NAME)}")
    end_with_this_process()
    rows = run_all(options.scenarios or list(BY_NAME), options)
    print(table(rows))
    if options.report:
        write(options.report, rows)
    return 1 if any(row.verdict.violations for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
