"""One entry of the change feed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ChangeKind = Literal["new", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class Change:
    """The differences that one fetch found to the stored page."""

    url: str
    """The canonical URL."""
    at_ms: int
    """When it was fetched."""
    kind: ChangeKind
    """`new` (a watched page's first fetch), `changed`, or `gone` (given up)."""
    fields: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """Name to its old and new value, as stored; None: there was none, or it is too long."""
    owners: tuple[str, ...] = ()
    """The owners that watched the page then."""
    cursor: str = ""
    """The cursor to continue after this change."""
