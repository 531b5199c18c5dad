"""
The command-line features that add-ons provide: commands, formats, and change receivers.

An add-on is a folder in `aragog/addons`. Its `__init__` imports nothing, and declares what the
add-on provides:

    COMMANDS        the name of a command → its module, its attribute, its first help line
    READS_FORMATS   a format of `aragog store import` → `module:function`, like `read_captures`
    WRITES_FORMATS  a format of `aragog store export`, and the suffix of its files →
                    `module:function`, like `export_warc`
    SENDS_CHANGES   the URL scheme of `aragog changes --to` → `module:function`, which
                    opens a `ChangeReceiver`
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Protocol

from aragog.cli.lazy_commands import LazyCommand

PACKAGE = "aragog.addons"


class ChangeReceiver(Protocol):
    """A system such as Kafka that receives changes, and stores the cursor of the latest one."""

    def position(self) -> str | None:
        """Return the cursor of the latest change received, or None before the first."""

    def send(self, changes: Sequence[dict[str, Any]], cursor: str) -> None:
        """
        Send changes in the HTTP API's format, and store `cursor` once all are acknowledged.

        Raises:
            TransientError: some changes may be missing; call again with the same changes.
        """

    def close(self) -> None:
        """Close the connections."""


def addons() -> Iterator[ModuleType]:
    """Yield the installed add-ons, sorted by name."""
    spec = find_spec(PACKAGE)
    search_paths = None if spec is None else spec.submodule_search_locations
    for module in pkgutil.iter_modules(search_paths or ()):
        if module.ispkg:
            yield import_module(f"{PACKAGE}.{module.name}")


def commands() -> dict[str, LazyCommand]:
    """Return the commands of all add-ons."""
    return {
        name: LazyCommand(*location) for name, location in _collect_declarations("COMMANDS").items()
    }


def reads_formats() -> Mapping[str, str]:
    """Return the formats that add-ons read, each with its reader."""
    return _collect_declarations("READS_FORMATS")


def writes_formats() -> Mapping[str, str]:
    """Return the formats that add-ons write, each with its writer."""
    return _collect_declarations("WRITES_FORMATS")


def sends_changes() -> Mapping[str, str]:
    """Return `ChangeReceiver` schemes, each with the function that opens a receiver."""
    return _collect_declarations("SENDS_CHANGES")


def function(path: str) -> Callable[..., Any]:
    """Return the function at `module:function`."""
    module, _, name = path.partition(":")
    attribute: Callable[..., Any] = getattr(import_module(module), name)
    return attribute


def _collect_declarations(name: str) -> dict[str, Any]:
    return {key: value for addon in addons() for key, value in getattr(addon, name, {}).items()}
