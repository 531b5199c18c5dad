"""
The distributions of this checkout: the crawler, and the libraries in packages/.

    python scripts/packages.py

prints their names, versions and folders. Whatever has to look at all code reads this list (the
checks of the house and the documentation, the lock, the bill of materials, the tests of the
libraries), so that code which moves from one package to another stays checked. What cannot run
Python has a copy of the list, which tests/test_packages.py compares with this one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]


class Distribution(NamedTuple):
    """One pyproject.toml and the package that it builds."""

    name: str
    """As the index would have it, such as `celery-pinlater`."""
    version: str
    root: Path
    """The folder of its pyproject.toml."""
    package: Path
    """The folder of the package that users import."""
    metadata: dict[str, Any]
    """The table `project` of its pyproject.toml."""

    @property
    def imported_as(self) -> str:
        """The name of the package in an import."""
        return self.package.name


def crawler(project: Path = PROJECT) -> Distribution:
    """The crawler itself, whose pyproject.toml is that of the checkout."""
    return _distribution(project, project / "aragog")


def libraries(project: Path = PROJECT) -> list[Distribution]:
    """The libraries, by their folders' names; each has its one package in `src/`."""
    roots = sorted(path.parent for path in (project / "packages").glob("*/pyproject.toml"))
    return [_distribution(root, _only_package(root)) for root in roots]


def distributions(project: Path = PROJECT) -> list[Distribution]:
    """The crawler, then the libraries."""
    return [crawler(project), *libraries(project)]


def _only_package(root: Path) -> Path:
    (package,) = (path.parent for path in (root / "src").glob("*/__init__.py"))
    return package


def _distribution(root: Path, package: Path) -> Distribution:
    metadata = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return Distribution(metadata["name"], metadata["version"], root, package, metadata)


if __name__ == "__main__":
    for each in distributions():
        print(each.name, each.version, each.root.relative_to(PROJECT))
