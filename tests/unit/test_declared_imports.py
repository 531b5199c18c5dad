"""Everything the package imports is declared by its distribution."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.support.sources import modules_of

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MADE_AT_IMPORT = {"Hbase_thrift": "happybase"}


def imported(folder: Path) -> dict[str, Path]:
    """Maps each third-party top-level import to a file that imports it."""
    imports = {}
    for path in modules_of(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            else:
                continue
            imports |= {name.partition(".")[0]: path for name in names}
    return {name: at for name, at in imports.items() if name not in sys.stdlib_module_names}


def named(requirements: list[str]) -> set[str]:
    """The distribution names as normalized by PyPI."""
    return {plain(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


known_distributions = cache(packages_distributions)


def distributions(module: str) -> set[str]:
    known = known_distributions()
    return {plain(name) for name in known.get(MADE_AT_IMPORT.get(module, module), [module])}


def test_every_imported_package_is_declared():
    extras = PROJECT["optional-dependencies"]
    declared = named(PROJECT["dependencies"]) | named(
        [requirement for name, extra in extras.items() if name != "dev" for requirement in extra]
    )
    modules = imported(ROOT / "aragog")
    modules.pop("aragog")

    missing = {name: at for name, at in modules.items() if not distributions(name) & declared}

    assert "certifi" in modules
    assert missing == {}
