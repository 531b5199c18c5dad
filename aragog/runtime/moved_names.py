"""
Lets programs import modules of aragog by the names that the documentation of version 0.1 gave them.

For one release: each such import warns and names the new module. Both names lead to one module, so
its classes are the same, and a setting that names a class by its old path finds it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OLD = "aragog."
MOVED = {
    "fetcher.causes": "aragog.fetch_record.causes",
    "fetcher.outcome": "aragog.fetch_record.outcome",
    "fetcher": "aragog.crawl.fetcher",
    "pipeline": "aragog.crawl.pipeline",
    "politeness": "aragog.crawl.politeness",
    "scrapy": "aragog.addons.scrapy",
}
"""Names of modules and packages below `aragog`, and the new ones; the first that fits counts."""


def new_name(name: str) -> str | None:
    """The new name of a module; None if it has not moved."""
    if not name.startswith(_OLD):
        return None
    old = name.removeprefix(_OLD)
    for moved, new in MOVED.items():
        if old == moved or old.startswith(f"{moved}."):
            return new + old.removeprefix(moved)
    return None


class _MovedNames(MetaPathFinder, Loader):
    """Imports a module by its old name as the one that has the new name."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if new_name(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        new = new_name(old) or old
        # The import system returns what it finds here, not the empty module that it has made.
        sys.modules[old] = import_module(new)
        warnings.warn(
            f"{old} is {new} now; the old name ends with the next release",
            DeprecationWarning,
            stacklevel=2,
        )


def install() -> None:
    """Let imports find the old names, before Python looks for them in the folders of packages."""
    if not any(isinstance(finder, _MovedNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _MovedNames())
