"""Find the code of a checkout, because a measurement of another commit must import all of it."""

from __future__ import annotations

from pathlib import Path


def code_paths(checkout: Path) -> list[Path]:
    """Return the import folders of a checkout: its root, and its libraries if it has any."""
    return [checkout, *sorted(checkout.glob("packages/*/src"))]
