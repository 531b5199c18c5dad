"""
The table as docs/reliability.md#correctness-without-labels shows it.

    python -m tests.support.second_visit.document    # prints it
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.second_visit.table import COLUMNS, EXPECTED, ROWS, SAME, TABLE, Expected

_DUE = {
    "interval": "its interval",
    "days": "a day or more",
    "1 d": "a day",
    "30 d": "30 days",
    "60 d": "60 days",
    "never": "never",
    SAME: SAME,
}


def document() -> str:
    """The table with what its names mean, as Markdown."""
    lines = [line.rstrip() for line in TABLE.strip("\n").splitlines()]
    return "\n".join(
        [
            *("```text", *lines, "```", ""),
            *_two("stored", "what is stored", ROWS),
            *_two("next", "what comes next", COLUMNS),
            "| cell | what it means | entries of the change feed | due after |",
            "|---|---|---|---|",
            *(_meaning(name, its) for name, its in EXPECTED.items()),
        ]
    )


def _two(name: str, text: str, meanings: Mapping[str, str]) -> list[str]:
    rows = [f"| `{each}` | {meaning} |" for each, meaning in meanings.items()]
    return [f"| {name} | {text} |", "|---|---|", *rows, ""]


def _meaning(name: str, its: Expected) -> str:
    feed = ", ".join(f"`{kind}`" for kind in its.feed) or "-"
    return f"| `{name}` | {its.text} | {feed} | {_DUE[its.due]} |"


if __name__ == "__main__":
    print(document())
