"""
The exceptions of the graph, grouped by what the caller can do.

    ZengraphError
    ├── StoreUnavailable    the engine does not answer; the same call may work later
    │   └── StoreDamaged    a row is in a damaged SQLite file; other files work
    ├── Unfinished          part of the work is done; repeating the call continues it
    ├── InvalidArgument     fix the call; a retry cannot help
    │   ├── NotUnique       another node has this value of a unique property
    │   └── SizeExceeded    the write exceeds a limit
    ├── InvalidConfig       fix how the tables are opened, or their schema
    └── CorruptRow          stored data is damaged; an operator must act

An error's fields are also its `args`, so it can be pickled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class ZengraphError(Exception):
    """The base class of all exceptions that this library raises."""

    MESSAGE: ClassVar[str] = ""

    def __post_init__(self) -> None:
        # pickle passes these to `__init__` of the copy.
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self)) or super().__str__()


class InvalidConfig(ZengraphError):
    """
    The tables cannot be used as opened: a name, a version, a permission or a folder is wrong.

    `problems` has one line for each problem, with the value and the remedy.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(self.problems)


class InvalidArgument(ZengraphError):
    """A caller passed an unusable value; the message contains it."""


@dataclass(eq=False, repr=False)
class NotUnique(InvalidArgument):
    """Another node has or is acquiring this value of a unique property."""

    MESSAGE = "property {name!r}: its value belongs to node {holder}"
    name: str
    holder: str


class SizeExceeded(InvalidArgument):
    """A write exceeds a limit; the message contains the limit."""


@dataclass(eq=False, repr=False)
class StoreUnavailable(ZengraphError):
    """The engine is unavailable. An unacknowledged write may be partial."""

    MESSAGE = "{where}: {reason}"
    where: str
    reason: str


class StoreDamaged(StoreUnavailable):
    """
    A row is in a damaged SQLite file, which `Tables.salvage` replaces.

    Rows in other files can be read and written.
    """


@dataclass(eq=False, repr=False)
class Unfinished(ZengraphError):
    """A call did as much as one call may do. Repeat the call to continue."""

    MESSAGE = "{where}: {reason}"
    where: str
    reason: str


@dataclass(eq=False, repr=False)
class CorruptRow(ZengraphError):
    """A stored row cannot be decoded."""

    MESSAGE = "table {table}, row {row}: {reason}"
    table: str
    row: str
    reason: str
