"""
The exceptions of this package. No page raises one: its faults are in its `problems`.

    RichpinsError
    ├── MissingExtra    what the call needs is not installed; the message has the command
    └── InvalidKind     rules that describe no kind of items; a line for each mistake
"""

from __future__ import annotations

from collections.abc import Sequence


class RichpinsError(Exception):
    """The base class of the exceptions of this package."""


class InvalidKind(RichpinsError, ValueError):
    """A table that does not describe a kind of items."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(tuple(problems))
        self.problems = tuple(problems)
        """A line for each mistake, which begins with its key."""

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
        """What to do, a line for each problem."""
        return (str(self),)

    def __str__(self) -> str:
        return f"{self.module} is not installed: pip install 'richpins[{self.extra}]'"
