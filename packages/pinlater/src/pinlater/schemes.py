"""
Register `pinlater://` in kombu's table of transports.

Importing kombu takes 0.1 s of CPU, and a program that only catches this library's errors does not
need it. So the schemes are registered when something imports kombu.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

TRANSPORTS_MODULE = "kombu.transport"
SCHEMES = dict.fromkeys(("pinlater", "pinlaters"), "pinlater.transport.kombu_transport:Transport")


def register() -> None:
    """Register the schemes now, or as soon as kombu is imported."""
    if (transports := sys.modules.get(TRANSPORTS_MODULE)) is not None:
        transports.TRANSPORT_ALIASES.update(SCHEMES)
    elif not any(isinstance(finder, _KombuImportHook) for finder in sys.meta_path):
        sys.meta_path.insert(0, _KombuImportHook())


class _KombuImportHook(MetaPathFinder):
    """Adds the schemes when kombu's table is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if name != TRANSPORTS_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is not None and spec.loader is not None:
            _add_schemes(spec.loader)
        return spec


def _add_schemes(loader: Any) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        execute(module)
        module.TRANSPORT_ALIASES.update(SCHEMES)

    loader.exec_module = exec_module
