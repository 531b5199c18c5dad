"""
Make aragog's tasks and workers importable under short names.

In a checkout, `tasks/`, `workers/`, `celeryconfig.py` and `beat_schedule.py` are at the top level,
where users of Celery expect them. The package contains symbolic links to them, and its own code
imports `aragog.tasks.fetch` and so on. A module imported under its short name, as in `celery -A
workers`, calls `share`, so that both names refer to one module object with the long name.

A wheel only installs `aragog`, because a project may have its own `tasks.py` (docs/adr/0031).
There, `offer` makes a short name importable if no other module has it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _ShortNames(MetaPathFinder, Loader):
    """An import hook that imports `workers.app` as `aragog.workers.app`."""

    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        package, _, module = fullname.partition(".")
        # As with any package, `python -m workers` runs its own copy of `__main__`.
        if package in self.packages and module and module != "__main__":
            return ModuleSpec(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what is in sys.modules, not the empty module.
        sys.modules[module.__name__] = import_module(f"aragog.{module.__name__}")


class _FallbackNames(MetaPathFinder, Loader):
    """An import hook that imports `workers` as `aragog.workers` if no other module has it."""

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
_FALLBACK_FINDER = _FallbackNames()


def share(name: str) -> None:
    """
    Make the short name `name` and its submodules refer to the modules below `aragog`.

    A module calls this with its `__name__`. A call with the long name has no effect. After a call
    with the short name, the rest of the module runs in a namespace that is discarded.
    """
    if name.startswith("aragog."):
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages.add(name)
    sys.modules[name] = import_module(f"aragog.{name}")


def offer(name: str) -> None:
    """Make `import name` find aragog's package if no other module has that name."""
    if _FALLBACK_FINDER not in sys.meta_path:
        sys.meta_path.append(_FALLBACK_FINDER)
    _FALLBACK_FINDER.offered.add(name)
