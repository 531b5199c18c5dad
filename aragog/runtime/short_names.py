"""
Makes aragog's tasks and workers importable under short names.

In a checkout, the folders `tasks/` and `workers/` and the modules `celeryconfig.py` and
`beat_schedule.py` are at the top level, where users of Celery expect them. The package contains
symbolic links to them, and its own code imports `aragog.tasks.fetch` and so on. When one of them is
imported under its short name, as in `celery -A workers`, it calls `share`, so that both names refer
to one module object, which has the long name.

A wheel installs only the top-level name `aragog`, because a project may have its own `workers.py`
or `tasks.py` (docs/adr/0031). There, `offer` makes a short name importable unless something else
has that name.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _ShortNames(MetaPathFinder, Loader):
    """
    An import hook that imports `workers.app` as `aragog.workers.app`, for every
    shared package.
    """

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, module = fullname.partition(".")
        # `python -m workers` runs its own copy of `__main__`, as with any package.
        if package in self.packages and module and module != "__main__":
            return ModuleSpec(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what is in sys.modules, not the empty module that it created.
        sys.modules[module.__name__] = import_module(f"aragog.{module.__name__}")


class _LastResort(MetaPathFinder, Loader):
    """An import hook that imports `workers` as `aragog.workers` if nothing else has that name."""

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
    Make the short name `name` and its submodules refer to the modules below `aragog`.

    A module calls this with its own `__name__`. If that is the short name, the rest of the module
    then runs in a namespace that is discarded. If it is the long name, this does nothing.
    """
    if name.startswith("aragog."):
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages.add(name)
    sys.modules[name] = import_module(f"aragog.{name}")


def offer(name: str) -> None:
    """Make `import name` find aragog's package of that name if nothing else provides it."""
    if _LAST_RESORT not in sys.meta_path:
        sys.meta_path.append(_LAST_RESORT)
    _LAST_RESORT.offered.add(name)
