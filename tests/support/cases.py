"""Test cases as text tables for `pytest.mark.parametrize`, and lines that an output must contain."""

from __future__ import annotations

import re


def cases(table: str) -> list[tuple[str, ...]]:
    """
    Return one tuple of texts for each line of `table`; two or more spaces separate the columns.

    Empty lines and lines that start with `#` are skipped. All lines have as many columns.
    """
    lines = [line.strip() for line in table.splitlines()]
    rows = [tuple(re.split(r" {2,}", line)) for line in lines if line and line[0] != "#"]
    assert len({len(row) for row in rows}) == 1, [row for row in rows if len(row) != len(rows[0])]
    return rows


def missing(expected: str, output: str) -> list[str]:
    """Return the lines of `expected`, stripped, that `output` does not contain."""
    return [line for line in expected.split("\n") if line.strip() and line.strip() not in output]
