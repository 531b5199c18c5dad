"""How many examples hypothesis draws for a test that needs fewer than others, or more."""

from __future__ import annotations

from aragog.testing import DEFAULT_EXAMPLES, examples

__all__ = ["DEFAULT_EXAMPLES", "examples"]
