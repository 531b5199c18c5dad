"""
How many reports were answered correctly on the first run, and how many are now, by class.

`python -m tests.reports.rates` prints the table; docs/reliability.md has its last row. With
`--run`, it asks every door instead of reading the verdicts in the files; with `--wrong`, it lists
wrong answers, and with names of classes only theirs.
"""

from __future__ import annotations

import sys
from collections import defaultdict

from tests.reports.reports import Report, differences, door, reports


def table(entries: list[Report], right_now: dict[Report, bool]) -> str:
    """The rates as a Markdown table; reports that were held back are listed separately."""
    by_class = defaultdict(list)
    for report in entries:
        by_class[report.of].append(report)
    lines = [
        "| class | known | right at first | right now | held back | right at first | right now |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, group in [*sorted(by_class.items()), ("all", entries)]:
        known = [report for report in group if not report.held_back]
        held_back = [report for report in group if report.held_back]
        cells = [name.replace("_", " "), *_rates(known, right_now), *_rates(held_back, right_now)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _rates(group: list[Report], right_now: dict[Report, bool]) -> tuple[str, str, str]:
    if not group:
        return "", "", ""
    first = sum(report.first == "right" for report in group)
    now = sum(right_now[report] for report in group)
    return str(len(group)), _share(first, group), _share(now, group)


def _share(count: int, group: list[Report]) -> str:
    return f"{count} ({count / len(group):.0%})"


def main(arguments: list[str]) -> None:
    """Print the table, and wrong answers if asked to."""
    names = {each for each in arguments if not each.startswith("--")}
    entries = [report for report in reports() if not names or report.of in names]
    right_now = {report: not report.differs for report in entries}
    if "--run" in arguments:
        for report in entries:
            try:
                wrong = differences(report.right, door(report)(report.input))
            except Exception as error:
                wrong = [f"{type(error).__name__}: {error}"]
            right_now[report] = not wrong
            if wrong and "--wrong" in arguments:
                print(f"{report.of} {report.id} ({report.project} {report.number})")
                print(*(f"    {line}" for line in wrong), sep="\n")
    print(table(entries, right_now))


if __name__ == "__main__":
    main(sys.argv[1:])
