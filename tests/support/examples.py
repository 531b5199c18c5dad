"""The number of examples that hypothesis draws for tests that need more or fewer than usual."""

from __future__ import annotations

from aragog.testing import USUAL, examples

__all__ = ["USUAL", "examples"]
