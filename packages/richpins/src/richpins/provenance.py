"""Record each value's source, conflicting values, and dropped values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

MAX_CONFLICTS = 3
"""Maximum number of conflicts per choice."""
MAX_DROPPED = 100
_MAX_EXCERPT_CHARS = 80

T = TypeVar("T")


class Candidate(NamedTuple):
    """A value as found, and its source."""

    value: Any
    syntax: str
    """
    json-ld, microdata, rdfa, microformats, opengraph, twitter, applinks, oembed, dublin-core, meta
    or html.
    """
    position: str
    """Its position in the page, such as `json-ld[0].offers[0].price`, `meta[12]` or `h1`."""


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
    """A value that is invalid for its field, or too uncertain to return."""

    field: str
    text: str
    syntax: str
    position: str
    reason: str


class _LaterCandidates(NamedTuple):
    """A field's candidates after the chosen one."""

    field: str
    parse: Callable[[Any], Any]
    candidates: Iterator[Candidate]
    expected: str
    chosen: Any

    def collect(self, conflicts: list[Conflict], dropped: list[Dropped]) -> None:
        conflicts_left = MAX_CONFLICTS
        for candidate in self.candidates:
            value = self.parse(candidate.value)
            if value is None:
                if len(dropped) < MAX_DROPPED and not _is_empty(candidate.value):
                    dropped.append(_invalid_candidate(self.field, candidate, self.expected))
            elif value != self.chosen:
                conflicts.append(Conflict(self.field, value, candidate.syntax, candidate.position))
                conflicts_left -= 1
                if not conflicts_left:
                    break


def _is_empty(value: Any) -> bool:
    return value in ("", [], None)


def _invalid_candidate(field: str, candidate: Candidate, expected: str) -> Dropped:
    value = candidate.value
    text = value if isinstance(value, str) else type(value).__name__
    if isinstance(value, int | float):
        text = repr(value)
    return Dropped(
        field, text[:_MAX_EXCERPT_CHARS], candidate.syntax, candidate.position, f"not {expected}"
    )


class Alternatives:
    """The values that an extraction did not choose, computed on first access."""

    def __init__(self, unchosen: Iterable[Dropped | _LaterCandidates] = ()) -> None:
        self._unchosen = list(unchosen)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Other valid values, at most MAX_CONFLICTS per choice."""
        return self._results[0]

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Invalid and uncertain values with their reasons, at most MAX_DROPPED."""
        return self._results[1]

    @cached_property
    def _results(self) -> tuple[tuple[Conflict, ...], tuple[Dropped, ...]]:
        conflicts: list[Conflict] = []
        dropped: list[Dropped] = []
        for entry in self._unchosen:
            if isinstance(entry, Dropped):
                dropped.append(entry)
            else:
                entry.collect(conflicts, dropped)
        self._unchosen = []  # they keep the page in memory
        return tuple(conflicts), tuple(dropped[:MAX_DROPPED])


class Ledger:
    """Records the provenance, conflicts and dropped values of one extraction."""

    def __init__(self) -> None:
        self.provenance: dict[str, Provenance] = {}
        self._unchosen: list[Dropped | _LaterCandidates] = []
        self._dropped_left = MAX_DROPPED

    def pick(
        self,
        field: str,
        parse: Callable[[Any], T | None],
        candidates: Iterable[Candidate],
        *,
        fallback: Iterable[Candidate] = (),
        expected: str = "a value",
    ) -> T | None:
        """
        Return the first value that `parse` accepts.

        Later candidates with other values become conflicts. Values that `parse` rejects (it
        returns None) are recorded as dropped, with the reason "not {expected}". The `fallback`
        candidates are expensive to find, so they are parsed only if no other is accepted.
        Candidates after the chosen one are parsed only when somebody reads the `Alternatives`.
        """
        for group in (candidates, fallback):
            iterator = iter(group)
            for candidate in iterator:
                value = parse(candidate.value)
                if value is not None:
                    self.provenance[field] = Provenance(candidate.syntax, candidate.position)
                    self._unchosen.append(_LaterCandidates(field, parse, iterator, expected, value))
                    return value
                if self._dropped_left and not _is_empty(candidate.value):
                    self._unchosen.append(_invalid_candidate(field, candidate, expected))
                    self._dropped_left -= 1
        return None

    def drop(self, field: str, candidate: Candidate, reason: str) -> None:
        """Record a value that is valid but too uncertain to return."""
        if self._dropped_left:
            excerpt = str(candidate.value)[:_MAX_EXCERPT_CHARS]
            dropped = Dropped(field, excerpt, candidate.syntax, candidate.position, reason)
            self._unchosen.append(dropped)
            self._dropped_left -= 1

    def alternatives(self) -> Alternatives:
        """
        Return the values not chosen so far, and remove them from this ledger.

        They keep the whole page in memory.
        """
        unchosen, self._unchosen = self._unchosen, []
        return Alternatives(unchosen)

    def note(self, field: str, candidate: Candidate) -> None:
        """Record the source of a value that was chosen elsewhere."""
        self.provenance[field] = Provenance(candidate.syntax, candidate.position)
