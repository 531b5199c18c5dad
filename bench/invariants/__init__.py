"""
Truths that hold for every page, checked without labels: `python -m bench.invariants FOLDER …`.

A check takes the bytes and the URL of a page and returns findings. It compares what aragog read with
the page itself, which `page_oracle` reads by other means than aragog does. A page without the thing
that a check is about gives no finding, so it counts as neither held nor violated.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether an invariant holds on one page."""

    invariant: str
    detail: str = ""
    """What is wrong; empty if it holds."""
