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

MAX_OFF = 0.2
LIMIT_S = 300
REFERENCE = "reference"
LAST_CHARS = 2000


class Measured(NamedTuple):
    """A figure of one run, and the duration of the reference work around it."""

    value: float
    reference_ms: float


class Compared(NamedTuple):
    """A cost and its measurement."""

    name: str
    cost: Cost
    measured: float
    """The value measured on this machine."""
    expected: float
    """The expected cost on this machine, scaled by the reference work."""

    @property
    def off(self) -> float:
        """Return the relative difference between the measured and the expected figure."""
        return self.measured / self.expected - 1 if self.expected else 0.0


def commands(costs: Costs, only: Sequence[str]) -> dict[str, list[str]]:
    """
    Return the commands to run, each with the costs that it measures.

    Args:
        costs: all costs.
        only: names of costs, or first words of commands; empty for all that need no installation.
    """
    found: dict[str, list[str]] = {}
    for name, cost in costs.items():
        selected = name in only or cost.check.partition(" ")[0] in only
        if cost.check and (selected or not (only or cost.needs)):
            found.setdefault(cost.check, []).append(name)
    return found


def run(command: str, *, quick: bool = False) -> dict[str, float]:
    """
    Run a measurement and return its figures. Raises RuntimeError if it fails or takes
    too long.
    """
    argv = [sys.executable, "-m", *shlex.split(f"bench.{command}"), *(["--quick"] if quick else [])]
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        path = Path(folder) / "figures"
        try:
            done = subprocess.run(
                argv, env={**os.environ, figures.VARIABLE: str(path)}, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"took more than {LIMIT_S} s") from error
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr)[-LAST_CHARS:])
        return figures.read(path)


def measure(
    wanted: Mapping[str, Sequence[str]], runs: Callable[[str], dict[str, float]]
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Run the commands one by one. Returns figures by cost, and failures by command."""
    measured: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    for command, names in wanted.items():
        before_ms, began_s = mean_ms(), time.monotonic()
        print(f"bench.{command} …", end=" ", flush=True)
        try:
            found = runs(command)
            missing = [name for name in names if name not in found]
            if missing:
                raise RuntimeError(f"reported no {', '.join(missing)}")
            reference_ms = (before_ms + mean_ms()) / 2
            measured |= {name: Measured(found[name], reference_ms) for name in names}
        except RuntimeError as error:
            failures[command] = str(error)
        state = "failed" if command in failures else "ok"
        print(f"{state}, {time.monotonic() - began_s:.0f} s", flush=True)
    return measured, failures


def compare(costs: Costs, measured: Mapping[str, Measured]) -> list[Compared]:
    """Compare each measured cost with costs.toml, the most different first. Pure."""
    compared = []
    for name, each in measured.items():
        cost = costs[name]
        slower = each.reference_ms / costs[REFERENCE].value
        factor = {"time": slower, "rate": 1 / slower}.get(cost.scale, 1.0)
        compared.append(Compared(name, cost, each.value, cost.value * factor))
    return sorted(compared, key=lambda each: -abs(each.off))


def show(compared: Sequence[Compared]) -> None:
    """Print all figures, and which are off."""
    table = Table("cost", "costs.toml", "here", "measured", "off", "unit", box=None)
    for each in compared:
        mark = f"{each.off:+.0%}" + (" !" if abs(each.off) > MAX_OFF else "")
        table.add_row(
            each.name, f"{each.cost.value:.3g}", f"{each.expected:.3g}", f"{each.measured:.3g}",
            mark, each.cost.unit,
        )  # fmt: skip
    Console(width=140).print(table)
    off = [each.name for each in compared if abs(each.off) > MAX_OFF]
    print(
        f"\n{len(compared)} costs measured, {len(off)} off by more than {MAX_OFF:.0%}: {', '.join(off) or 'none'}"
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
        measured = {n: Measured(*v) for n, v in json.loads(options.measured.read_text()).items()}
    else:
        wanted = commands(costs, options.only)
        if not wanted:
            parser.error(f"--only: none of {', '.join(options.only)} is measured by a command")
        measured, failures = measure(wanted, partial(run, quick=options.quick))
    compared = compare(costs, measured)
    show(compared)
    left_out = sorted({c.needs for c in costs.values() if c.needs} if not options.only else ())
    for needs in left_out:
        names = [name for name, cost in costs.items() if cost.needs == needs]
        print(f"not measured, needs {needs}: {', '.join(names)} (--only measures them)")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    for command, text in failures.items():
        print(f"\n== bench.{command}\n{text}")
    if failures:
        return 1
    return 2 if options.strict and any(abs(each.off) > MAX_OFF for each in compared) else 0


if __name__ == "__main__":
    sys.exit(main())
