"""The values that packed links take and return: frozen, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    """A link, seen from its source."""

    target: str
    """The name of the node that it leads to."""
    text: str = ""
    """Up to 200 characters; white space is collapsed."""
    tag: str = ""
    """A second, shorter text, such as words that classify the link."""


class InLink(NamedTuple):
    """A link, seen from its target."""

    source: str
    """The name of the node that it comes from."""
    text: str
    tag: str
    at_ms: int
    """When the source had it: `LinksWrite.at_ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """When posting lists are merged and divided. Lists of all limits may be in one table."""

    group_lines: int = 512
    """A group with more lines is divided, or passes them on."""
    inline_lines: int = 256
    """A longer list leaves its group, and is stored in segments."""
    chunk_lines: int = 512
    """Lines in one row of a segment."""
    large_lines: int = 256
    """The lines of a delta; after a larger one the size of its group is checked."""
    many_deltas: int = 8
    """The deltas that a group or list collects before they are merged. Counted as often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """The counts of one compaction."""

    journal_rows: int = 0
    links: int = 0
    targets: int = 0
    merged: int = 0
    """Targets whose deltas were merged into their header or a segment."""
    left: bool = False
    """True if the limit ended it."""
