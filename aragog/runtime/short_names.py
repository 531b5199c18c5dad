"""
Lets programs import the tasks and workers of aragog by their short names.

The folders `tasks/` and `workers/` and the modules `celeryconfig.py` and `beat_schedule.py` are at
the top of a checkout, where Celery's users look for them. The package reaches them by links, and
its own code imports `aragog.tasks.fetch` and so on. Each of them calls `share` when somebody
imports it by its short name, such as `celery -A workers`: both names then lead to one module, which
has the long name.

A wheel has no other top-level name than `aragog`, because a project may have a `workers.py` or
`tasks.py` of its own (docs/adr/0031). There `offer` lets a name lead to aragog as long as nothing
else has it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _ShortNames(MetaPathFinder, Loader):
    """Imports `workers.app` as `aragog.workers.app`, for every shared package."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, module = fullname.partition(".")
        # `python -m workers` runs its own copy of `__main__`, as it does with any package.
        if package in self.packages and module and module != "__main__":
            return ModuleSpec(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what it finds here, not the empty module that it has made.
        sys.modules[module.__name__] = import_module(f"aragog.{module.__name__}")


class _LastResort(MetaPathFinder, Loader):
    """Imports `workers` as `aragog.workers` where no folder on the search path has that name."""

    def __init__(self) -> None:
        self.offered: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if fullname in self.offered else None

    def exec_module(self, module: ModuleType) -> None:
        share(module.__name__)


_FINDER = _ShortNames()
_LAST_RESORT = _LastResort()


def share(name: str) -> None:
    """
    Let the module with the short name `name` and its submodules be those of `aragog`.

    A module calls it with its own `__name__`; its remaining lines then run in a namespace that
    nobody sees. Nothing happens for a long name.
    """
    if name.startswith("aragog."):
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages.add(name)
    sys.modules[name] = import_module(f"aragog.{name}")


def offer(name: str) -> None:
    """Let `import name` find the package of `aragog` with that name, after everything else."""
    if _LAST_RESORT not in sys.meta_path:
        sys.meta_path.append(_LAST_RESORT)
    _LAST_RESORT.offered.add(name)
