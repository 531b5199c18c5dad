"""
What add-ons bring to the command line: commands, and formats of `aragog store`.

An add-on is a folder in `aragog/addons`. Its `__init__` imports nothing, and says what it brings:

    COMMANDS        the name of a command → its module, its attribute, its first help line
    READS_FORMATS   a format of `aragog store import` → `module:function`, as `read_captures`
    WRITES_FORMATS  a format of `aragog store export`, and the suffix of its files →
                    `module:function`, as `export_warc`

A folder that was deleted brings nothing, and nothing else has to be told.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from aragog.cli.lazy_commands import LazyCommand

PACKAGE = "aragog.addons"


def addons() -> Iterator[ModuleType]:
    """The add-ons that are there, by name."""
    spec = find_spec(PACKAGE)
    places = None if spec is None else spec.submodule_search_locations
    for found in pkgutil.iter_modules(places or ()):
        if found.ispkg:
            yield import_module(f"{PACKAGE}.{found.name}")


def commands() -> dict[str, LazyCommand]:
    """The commands of all add-ons."""
    return {name: LazyCommand(*where) for name, where in _declared("COMMANDS").items()}


def reads_formats() -> Mapping[str, str]:
    """The formats that add-ons read, each with the place of its reader."""
    return _declared("READS_FORMATS")


def writes_formats() -> Mapping[str, str]:
    """The formats that add-ons write, each with the place of its writer."""
    return _declared("WRITES_FORMATS")


def function(place: str) -> Callable[..., Any]:
    """The function at `module:function`."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _declared(name: str) -> dict[str, Any]:
    return {key: value for addon in addons() for key, value in getattr(addon, name, {}).items()}
