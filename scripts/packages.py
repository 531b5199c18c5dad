"""
List the distributions of this checkout: the crawler, and the libraries in packages/.

    python scripts/packages.py

prints their names, versions and folders. Everything that has to examine all code uses this list
(the house and documentation checks, the lock, the bill of materials, the tests of the libraries),
so that code which moves between packages stays covered. What cannot run Python has a copy of the
list, which tests/test_packages.py compares with this one.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]


class Distribution(NamedTuple):
    """One pyproject.toml and the package that it builds."""

    name: str
    """Its name on the index, such as `celery-pinlater`."""
    version: str
    root: Path
    """The folder of its pyproject.toml."""
    package: Path
    """The folder of the package that users import."""
    metadata: dict[str, Any]
    """The table `project` of its pyproject.toml."""

    @property
    def imported_as(self) -> str:
        """Return the name used to import the package."""
        return self.package.name


def crawler(project: Path = PROJECT) -> Distribution:
    """Return the crawler itself, whose pyproject.toml is at the root of the checkout."""
    return _distribution(project, project / "aragog")


def libraries(project: Path = PROJECT) -> list[Distribution]:
    """Return the libraries, by folder name. Each has one package in `src/`."""
    roots = sorted(path.parent for path in (project / "packages").glob("*/pyproject.toml"))
    return [_distribution(root, _only_package(root)) for root in roots]


def distributions(project: Path = PROJECT) -> list[Distribution]:
    """Return the crawler, then the libraries."""
    return [crawler(project), *libraries(project)]


def _only_package(root: Path) -> Path:
    (package,) = (path.parent for path in (root / "src").glob("*/__init__.py"))
    return package


def _distribution(root: Path, package: Path) -> Distribution:
    metadata = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    return Distribution(metadata["name"], metadata["version"], root, package, metadata)


if __name__ == "__main__":
    for distribution in distributions():
        folder = distribution.root.relative_to(PROJECT)
        print(distribution.name, distribution.version, folder)
