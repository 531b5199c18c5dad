"""The Python files of the packages, including those behind links (docs/adr/0031)."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from scripts.packages import distributions

PACKAGES = [distribution.package for distribution in distributions()]
"""The package folders of the crawler and of each library."""
IMPORTED_AS = [package.name for package in PACKAGES]


def modules_of(folder: Path) -> list[Path]:
    """Return every module below `folder`, sorted. `Path.rglob` would skip `tasks/` and `workers/`."""
    return sorted(
        Path(parent) / name
        for parent, _, names in os.walk(folder, followlinks=True)
        for name in names
        if name.endswith(".py")
    )


@cache
def all_modules() -> list[Path]:
    """Return every module of the crawler and of the libraries."""
    return [module for package in PACKAGES for module in modules_of(package)]


def all_tests() -> list[Path]:
    """Return every Python file of the tests, including those of the libraries."""
    root = PACKAGES[0].parent
    return sorted([*(root / "tests").rglob("*.py"), *root.glob("packages/*/tests/**/*.py")])
