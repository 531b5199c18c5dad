"""
Measure the costs of `aragog plan` on this machine, and print those that are off by more than 20%.

    python -m bench.plan_check [--only COST|COMMAND ...] [--strict] [--json FILE] [--measured FILE]

`make plan-check` runs it. Each cost in aragog/addons/plan/costs.toml names a short command in
`check`, which reports its measurement under the cost's name (`bench.figures`). All of them take
five to eight minutes on two idle cores, without those that need Java or Go; `--only` runs these,
too.

Machines differ, so CPU times are compared with that of reference work (`bench.reference`), which
runs before and after each command: a cost is off when its ratio to the reference differs from that
in costs.toml. Bytes, rows and shares are compared directly. Other load affects a cost and the
reference differently. On a busy machine, expect 30% of noise, and repeat outliers with `--only`.

Exits with 0 even if some are off, because machines differ, unless `--strict` is given; exits with 1
if a command fails. `--measured` compares the figures in a file written by `--json`, and runs
nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.addons.plan.costs import Cost, Costs, read_costs
from bench import figures
from bench.quick import add_quick
from bench.reference import mean_ms

MAX_DEVIATION = 0.2
LIMIT_S = 300
REFERENCE = "reference"
LAST_CHARS = 2000


class Measurement(NamedTuple):
    """A figure of one run, and the duration of the reference work around it."""

    value: float
    reference_ms: float


class Comparison(NamedTuple):
    """A cost and its measurement."""

    name: str
    cost: Cost
    measured: float
    """The value measured on this machine."""
    expected: float
    """The expected cost on this machine, scaled by the reference work."""

    @property
    def deviation(self) -> float:
        """Return the relative difference between the measured and the expected figure."""
        return self.measured / self.expected - 1 if self.expected else 0.0


def commands(costs: Costs, only: Sequence[str]) -> dict[str, list[str]]:
    """
    Return the commands to run, each with the costs that it measures.

    Args:
        costs: all costs.
        only: names of costs, or first words of commands; empty for all that need no installation.
    """
    names_by_command: dict[str, list[str]] = {}
    for name, cost in costs.items():
        selected = name in only or cost.check.partition(" ")[0] in only
        if cost.check and (selected or not (only or cost.needs)):
            names_by_command.setdefault(cost.check, []).append(name)
    return names_by_command


def run(command: str, *, quick: bool = False) -> dict[str, float]:
    """
    Run a measurement and return its figures. Raises RuntimeError if it fails or takes
    too long.
    """
    argv = [sys.executable, "-m", *shlex.split(f"bench.{command}"), *(["--quick"] if quick else [])]
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        path = Path(folder) / "figures"
        try:
            process = subprocess.run(
                argv, env={**os.environ, figures.VARIABLE: str(path)}, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"took more than {LIMIT_S} s") from error
        if process.returncode:
            raise RuntimeError((process.stdout + process.stderr)[-LAST_CHARS:])
        return figures.read(path)


def measure(
    costs_by_command: Mapping[str, Sequence[str]], run_command: Callable[[str], dict[str, float]]
) -> tuple[dict[str, Measurement], dict[str, str]]:
    """Run the commands one by one. Returns figures by cost, and failures by command."""
    measured: dict[str, Measurement] = {}
    failures: dict[str, str] = {}
    for command, names in costs_by_command.items():
        before_ms, started_s = mean_ms(), time.monotonic()
        print(f"bench.{command} …", end=" ", flush=True)
        try:
            reported = run_command(command)
            missing = [name for name in names if name not in reported]
            if missing:
                raise RuntimeError(f"reported no {', '.join(missing)}")
            reference_ms = (before_ms + mean_ms()) / 2
            measured |= {name: Measurement(reported[name], reference_ms) for name in names}
        except RuntimeError as error:
            failures[command] = str(error)
        state = "failed" if command in failures else "ok"
        print(f"{state}, {time.monotonic() - started_s:.0f} s", flush=True)
    return measured, failures


def compare(costs: Costs, measured: Mapping[str, Measurement]) -> list[Comparison]:
    """Compare each measured cost with costs.toml, the most different first. Pure."""
    comparisons = []
    for name, measurement in measured.items():
        cost = costs[name]
        slowness = measurement.reference_ms / costs[REFERENCE].value
        factor = {"time": slowness, "rate": 1 / slowness}.get(cost.scale, 1.0)
        comparisons.append(Comparison(name, cost, measurement.value, cost.value * factor))
    return sorted(comparisons, key=lambda comparison: -abs(comparison.deviation))


def print_comparison(comparisons: Sequence[Comparison]) -> None:
    """Print all figures, and the costs that are off."""
    table = Table("cost", "costs.toml", "expected", "measured", "deviation", "unit", box=None)
    for comparison in comparisons:
        mark = f"{comparison.deviation:+.0%}" + (
            " !" if abs(comparison.deviation) > MAX_DEVIATION else ""
        )
        table.add_row(
            comparison.name, f"{comparison.cost.value:.3g}", f"{comparison.expected:.3g}", f"{comparison.measured:.3g}",
            mark, comparison.cost.unit,
        )  # fmt: skip
    Console(width=140).print(table)
    deviating = [
        comparison.name for comparison in comparisons if abs(comparison.deviation) > MAX_DEVIATION
    ]
    print(
        f"\n{len(comparisons)} costs measured, {len(deviating)} off by more than {MAX_DEVIATION:.0%}: {', '.join(deviating) or 'none'}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="costs or commands")
    parser.add_argument("--strict", action="store_true", help="exit with 2 if a cost is off")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    parser.add_argument("--measured", type=Path, metavar="FILE", help="compare these figures")
    add_quick(parser, only=["limiter", "growth"])
    options = parser.parse_args(arguments)
    costs = read_costs()
    failures: dict[str, str] = {}
    if options.measured:
        measured = {n: Measurement(*v) for n, v in json.loads(options.measured.read_text()).items()}
    else:
        costs_by_command = commands(costs, options.only)
        if not costs_by_command:
            parser.error(f"--only: none of {', '.join(options.only)} is measured by a command")
        measured, failures = measure(costs_by_command, partial(run, quick=options.quick))
    comparisons = compare(costs, measured)
    print_comparison(comparisons)
    unmeasured = sorted({c.needs for c in costs.values() if c.needs} if not options.only else ())
    for needs in unmeasured:
        names = [name for name, cost in costs.items() if cost.needs == needs]
        print(f"not measured, needs {needs}: {', '.join(names)} (--only measures them)")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    for command, text in failures.items():
        print(f"\n== bench.{command}\n{text}")
    if failures:
        return 1
    return (
        2
        if options.strict
        and any(abs(comparison.deviation) > MAX_DEVIATION for comparison in comparisons)
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
