"""
The name that the library pinlater had as a part of aragog, for one release.

`aragog.pinlater.job_types` is the module `pinlater.job_types` itself: both have the same classes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pinlater

__path__: list[str] = []  # it has modules, which the finder below finds


class _Renamed(MetaPathFinder, Loader):
    """Finds each module of the library by its former name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib`; None for every other module."""
        del path, target
        return ModuleSpec(name, self) if name.startswith(f"{__name__}.") else None

    def exec_module(self, module: ModuleType) -> None:
        """Put the module itself in place of the new, empty one."""
        sys.modules[module.__name__] = import_module(module.__name__.removeprefix("aragog."))


def __getattr__(name: str) -> Any:
    return getattr(pinlater, name)


sys.meta_path.insert(0, _Renamed())
warnings.warn(
    "aragog.pinlater is the library pinlater now: import pinlater; this name ends with the next "
    "release",
    DeprecationWarning,
    stacklevel=2,
)
if __name__ == "__main__":  # `python -m aragog.pinlater`
    import_module("pinlater.__main__").main()
