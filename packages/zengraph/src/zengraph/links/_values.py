"""The parameter and return types of packed links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Link(NamedTuple):
    target: str
    """The name of the target node."""
    text: str = ""
    """Up to 200 characters; white space is collapsed."""
    tag: str = ""
    """A second, shorter text, such as words that classify the link."""


class InLink(NamedTuple):
    source: str
    """The name of the source node."""
    text: str
    tag: str
    at_ms: int
    """When the source had the link: see `LinksWrite.at_ms`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """
    When posting lists and groups of lists are merged and divided. Writers may have different
    limits.
    """

    group_lines: int = 512
    """A group with more lines is divided or, once divided, passes its lines on."""
    inline_lines: int = 256
    """A list with more lines leaves its group and is stored in segments."""
    chunk_lines: int = 512
    """Number of lines per row of a segment."""
    large_lines: int = 256
    """A delta with more lines causes a check of its group's size."""
    delta_lines: int = 32
    """
    A compaction skips a group's first levels as long as its deltas have this many lines on average.
    """
    many_deltas: int = 8
    """A group or list with this many deltas is merged. Also the number of writes between checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """What one compaction did."""

    journal_rows: int = 0
    links: int = 0
    targets: int = 0
    merged: int = 0
    """Number of targets whose deltas were merged into their header or a segment."""
    left: bool = False
    """True if rows are left to compact."""
