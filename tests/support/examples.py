"""How many examples hypothesis draws for a test that needs fewer than others, or more."""

from __future__ import annotations

from aragog.testing import USUAL, examples

__all__ = ["USUAL", "examples"]
