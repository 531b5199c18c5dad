"""Where the code of a checkout is: what is measured with another commit must import all of it."""

from __future__ import annotations

from pathlib import Path


def code_paths(checkout: Path) -> list[Path]:
    """The folders that Python imports from, of a checkout: its root, and its libraries if it has any."""
    return [checkout, *sorted(checkout.glob("packages/*/src"))]
