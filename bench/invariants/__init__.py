"""
Invariants of every page, checked without labels: `python -m bench.invariants FOLDER …`.

A check takes the bytes and the URL of a page and returns findings. It compares aragog's result with
the page itself, which `page_oracle` reads by other means. If a page does not have what a check is
about, there is no finding, so it counts as neither passed nor failed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of an invariant on one page."""

    invariant: str
    detail: str = ""
    """What is wrong, or an empty string if it holds."""
