"""
Exceptions of this package. A bad page never raises one; its `problems` say what is wrong.

    RichpinsError
    ├── MissingExtra    a required extra is not installed; the message has the command
    └── InvalidKind     the rules of an item kind are invalid; one line per mistake
"""

from __future__ import annotations

from collections.abc import Sequence


class RichpinsError(Exception):
    """Base class of this package's exceptions."""


class InvalidKind(RichpinsError, ValueError):
    """The rules of an item kind are invalid."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)
        """Each line describes one mistake and begins with its key."""

    def __str__(self) -> str:
        return "; ".join(self.problems)


class MissingExtra(RichpinsError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, extra: str, module: str) -> None:
        super().__init__(extra, module)
        self.extra = extra
        self.module = module

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what to do, one line per problem."""
        return (str(self),)

    def __str__(self) -> str:
        return f"{self.module} is not installed: pip install 'richpins[{self.extra}]'"
