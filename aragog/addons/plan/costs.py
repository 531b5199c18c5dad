"""
Measured costs and list prices for `aragog plan`.

All figures are in `costs.toml`, each with the command that measures it. `make plan-check`
(`bench.plan_check`) measures them again.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from aragog.errors import BadInput


class Cost(NamedTuple):
    """One measured figure or price."""

    value: float
    unit: str
    measured_by: str
    """The command that measured it, or its source if it was not measured."""
    check: str = ""
    """
    A `bench` command that measures and reports the cost in at most two minutes; empty if there is
    none.
    """
    needs: str = ""
    """
    What `check` needs in addition to the project. If this is not empty, the check only runs if it
    is selected.
    """
    scale: str = ""
    """
    How the figure depends on the CPU time of the reference work (`bench.reference`): a `time` grows
    with it, and a `rate` shrinks. If empty, the figure is the same on every machine.
    """


Costs = Mapping[str, Cost]


def read_costs(path: Path | None = None) -> Costs:
    """
    Return the costs of this version of aragog, overridden by the values in a file.

    Args:
        path: a TOML file with a table for each cost to override, such as `[s3_put]` with
            `value = 0.000004`.

    Raises:
        BadInput: the file cannot be read, has an unknown cost, or has a value below 0.
    """
    costs = {name: Cost(**table) for name, table in tomllib.loads(_built_in_text()).items()}
    for name, table in (_tables(path) if path else {}).items():
        if name not in costs:
            raise BadInput(f"{path}: {name} is not a cost; the costs are {', '.join(costs)}")
        value = table.get("value") if isinstance(table, dict) else None
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise BadInput(f"{path}: [{name}] needs a value of at least 0, got {value!r}")
        costs[name] = Cost(float(value), costs[name].unit, str(table.get("measured_by", path)))
    return costs


def _built_in_text() -> str:
    return files("aragog.addons.plan").joinpath("costs.toml").read_text("utf-8")


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: cannot be read as TOML: {error}") from error
