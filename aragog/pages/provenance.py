"""Record the source of each value, the values that conflict with it, and those dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

MAX_CONFLICTS = 3
"""Maximum number kept for one field."""
MAX_DROPPED = 100
_SHOWN_CHARS = 80

T = TypeVar("T")


class Candidate(NamedTuple):
    """A value as found, and its source."""

    value: Any
    syntax: str
    """json-ld, microdata, rdfa, opengraph, twitter, applinks, oembed, dublin-core, meta or html."""
    where: str
    """Its position: `json-ld[0].offers[0].price`, `meta[12]`, `h1`."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a field's value."""

    syntax: str
    position: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Another valid value of a field, from a less trusted source."""

    field: str
    value: Any
    syntax: str
    position: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A value that is not valid for its field."""

    field: str
    text: str
    syntax: str
    position: str
    reason: str


class Ledger:
    """Records the provenance, conflicts and dropped values of one extraction."""

    def __init__(self) -> None:
        self.provenance: dict[str, Provenance] = {}
        self.conflicts: list[Conflict] = []
        self.dropped: list[Dropped] = []

    def pick(
        self,
        field: str,
        read: Callable[[Any], T | None],
        candidates: Iterable[Candidate],
        *,
        otherwise: Iterable[Candidate] = (),
        expected: str = "a value",
    ) -> T | None:
        """
        Return the first candidate that `read` accepts; other candidates that differ become
        conflicts.

        `read` returns None for a value that is not `expected`, and that candidate is dropped.
        `otherwise` provides candidates that are expensive to find: they are read only if there are
        no others.
        """
        chosen = self._first(field, read, candidates, expected)
        return self._first(field, read, otherwise, expected) if chosen is None else chosen

    def _first(
        self,
        field: str,
        read: Callable[[Any], T | None],
        candidates: Iterable[Candidate],
        expected: str,
    ) -> T | None:
        chosen: T | None = None
        conflicts = 0
        for candidate in candidates:
            if chosen is not None and conflicts >= MAX_CONFLICTS:
                break
            value = read(candidate.value)
            if value is None:
                self._drop(field, candidate, expected)
            elif chosen is None:
                chosen = value
                self.provenance[field] = Provenance(candidate.syntax, candidate.where)
            elif value != chosen:
                conflicts += 1
                self.conflicts.append(Conflict(field, value, candidate.syntax, candidate.where))
        return chosen

    def note(self, field: str, candidate: Candidate) -> None:
        """Record the source of a value that was chosen elsewhere."""
        self.provenance[field] = Provenance(candidate.syntax, candidate.where)

    def _drop(self, field: str, candidate: Candidate, expected: str) -> None:
        value = candidate.value
        if value in ("", [], None) or len(self.dropped) >= MAX_DROPPED:
            return
        text = value if isinstance(value, str) else type(value).__name__
        if isinstance(value, int | float):
            text = repr(value)
        self.dropped.append(
            Dropped(
                field, text[:_SHOWN_CHARS], candidate.syntax, candidate.where, f"not {expected}"
            )
        )
