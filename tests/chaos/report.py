"""Write the table of docs/reliability.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.laws import Verdict
from tests.chaos.scenarios import Scenario

START, END = "<!-- start of the table -->\n", "<!-- end of the table -->\n"
HEAD = (
    "| scenario | what is broken | faults | URLs | lost | other outcomes | early requests "
    "| extra fetches | enqueued during faults | late acks | time to recovery | failed checks |\n"
    "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
)


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario and its result."""

    scenario: Scenario
    verdict: Verdict
    faults: int
    recovery_s: float
    seconds: float

    def markdown(self) -> str:
        verdict = self.verdict
        others = ", ".join(
            f"{n} {name}" for name, n in sorted(verdict.outcomes.items()) if name != "Fetched"
        )
        enqueued = f"{verdict.accepted_in_fault:,}" + (
            f", refused {verdict.refusals} times" if verdict.refusals else ""
        )
        violations = "; ".join(verdict.violations) or "none"
        return (
            f"| {self.scenario.name} | {self.scenario.description} | {self.faults} | {verdict.urls:,} | {verdict.lost} "
            f"| {others or '-'} | {verdict.early} | {verdict.extra_fetches} | {enqueued} | {verdict.late_acks} | {self.recovery_s:.1f} s | {violations} |\n"
        )


def table(rows: Sequence[Row]) -> str:
    return HEAD + "".join(row.markdown() for row in rows)


def write(path: Path, rows: Sequence[Row]) -> None:
    """Replace the table of the page."""
    text = path.read_text()
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{START}\n{table(rows)}\n{END}{after}")
