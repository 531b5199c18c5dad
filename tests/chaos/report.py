"""The table of docs/reliability.md, written by the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.laws import Verdict
from tests.chaos.scenarios import Scenario

BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
HEAD = (
    "| scenario | what is broken | faults | URLs | lost | other outcomes | early requests "
    "| extra fetches | enqueued meanwhile | late acks refused | stores again after | laws broken |\n"
    "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario and what it came to."""

    scenario: Scenario
    verdict: Verdict
    faults: int
    recovery_s: float
    seconds: float

    def markdown(self) -> str:
        v = self.verdict
        others = ", ".join(
            f"{n} {name}" for name, n in sorted(v.outcomes.items()) if name != "Fetched"
        )
        meanwhile = f"{v.in_fault:,}" + (f", refused {v.refusals} times" if v.refusals else "")
        broken = "; ".join(v.violations) or "none"
        return (
            f"| {self.scenario.name} | {self.scenario.what} | {self.faults} | {v.urls:,} | {v.lost} "
            f"| {others or '-'} | {v.early} | {v.extra_fetches} | {meanwhile} | {v.late_acks} | {self.recovery_s:.1f} s | {broken} |\n"
        )


def table(rows: Sequence[Row]) -> str:
    return HEAD + "".join(row.markdown() for row in rows)


def write(path: Path, rows: Sequence[Row]) -> None:
    """Replace the table of the page."""
    text = path.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{table(rows)}\n{END}{after}")
